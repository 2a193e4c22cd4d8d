/** Whether the place of a journal is a PostgreSQL database; else it is a file. */
export function isPostgres(journalUrl: string): boolean {
  return /^postgres(ql)?:\/\//.test(journalUrl);
}

/** The address of a PostgreSQL database without user, password and options; undefined where it can't be read. */
export function withoutCredentials(address: string): string | undefined {
  const url = URL.parse(address);
  return url === null ? undefined : `${url.protocol}//${url.host}${url.pathname}`;
}

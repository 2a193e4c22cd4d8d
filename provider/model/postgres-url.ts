/** Whether a journal is in a PostgreSQL database. Otherwise it is a file. */
export function isPostgresUrl(journalUrl: string): boolean {
  return /^postgres(ql)?:\/\//.test(journalUrl);
}

/** Returns the address of a PostgreSQL database without user, password and options. Undefined if the address isn't a valid URL. */
export function stripPostgresCredentials(address: string): string | undefined {
  const url = URL.parse(address);
  return url === null ? undefined : `${url.protocol}//${url.host}${url.pathname}`;
}

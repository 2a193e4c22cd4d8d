/** Whether the place of a journal is a PostgreSQL database; else it is a file. */
export function isPostgres(place: string): boolean {
  return /^postgres(ql)?:\/\//.test(place);
}

export const formatPersonAddress = (at: number): string => `person-${at}@acme.example`;

/** Lists the first mailboxes of the numbered people. */
export const listPeople = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => formatPersonAddress(at));

export const formatPersonAddress = (index: number): string => `person-${index}@acme.example`;

/** Lists the first mailboxes of the numbered people. */
export const listPeople = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => formatPersonAddress(index));

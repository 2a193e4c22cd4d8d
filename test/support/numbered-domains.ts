export const formatBadDomain = (index: number): string => `bad-${String(index).padStart(4, "0")}.example`;

/** Builds the content of a list that denies this many numbered domains. */
export const buildNumberedDenies = (count: number, text = "deny: INC-1"): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [formatBadDomain(index), text]));

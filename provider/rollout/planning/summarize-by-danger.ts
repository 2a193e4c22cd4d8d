import { type Transition, truncateByDanger } from "../../settings/danger";

/** The maximum number of lines for each tenant. */
const MAX_LINES = 20;

/** Formats the most dangerous items, one line each, and summarizes the others. */
export function summarizeByDanger<T>(
  items: readonly T[],
  getTransition: (item: T) => Transition,
  formatItem: (item: T) => string,
): readonly string[] {
  const { visible, hiddenText } = truncateByDanger(items, MAX_LINES, getTransition);
  return [...visible.map(formatItem), ...(hiddenText === undefined ? [] : [`and ${hiddenText}`])];
}

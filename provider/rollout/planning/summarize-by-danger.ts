import { type Transition, truncateByDanger } from "../../model/danger";

const MAX_LINES = 20;

export function summarizeByDanger<T>(
  items: readonly T[],
  getTransition: (item: T) => Transition,
  formatItem: (item: T) => string,
): readonly string[] {
  const { visible, hiddenText } = truncateByDanger(items, MAX_LINES, getTransition);
  return [...visible.map(formatItem), ...(hiddenText === undefined ? [] : [`and ${hiddenText}`])];
}

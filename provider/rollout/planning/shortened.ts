import { cutByDanger, type Transition } from "../../settings/danger";

/** The maximum number of lines for each tenant. */
const MAX_LINES = 20;

/** Formats the most dangerous items, one line each, and summarizes the others. */
export function shortened<T>(
  items: readonly T[],
  getTransition: (item: T) => Transition,
  formatItem: (item: T) => string,
): readonly string[] {
  const { shown, more } = cutByDanger(items, MAX_LINES, getTransition);
  return [...shown.map(formatItem), ...(more === undefined ? [] : [`and ${more}`])];
}

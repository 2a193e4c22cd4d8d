import { cutByDanger, type Transition } from "../../settings/danger";

/** The maximum number of lines for each tenant. */
const SHOWN = 20;

/** Formats the most dangerous items, one line each, and summarizes the others. */
export function shortened<T>(
  all: readonly T[],
  transitionOf: (one: T) => Transition,
  lineOf: (one: T) => string,
): readonly string[] {
  const { shown, more } = cutByDanger(all, SHOWN, transitionOf);
  return [...shown.map(lineOf), ...(more === undefined ? [] : [`and ${more}`])];
}

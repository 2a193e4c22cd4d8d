import { cutByDanger, type Transition } from "../../settings/danger";

/** So many of a tenant are told one by one. */
const SHOWN = 20;

/** A line for each of the most dangerous, and what is left out. */
export function shortened<T>(
  all: readonly T[],
  transitionOf: (one: T) => Transition,
  lineOf: (one: T) => string,
): readonly string[] {
  const { shown, more } = cutByDanger(all, SHOWN, transitionOf);
  return [...shown.map(lineOf), ...(more === undefined ? [] : [`and ${more}`])];
}

import { quote } from "../settings/text";
import { InvalidArgumentError } from "./errors";

/**
 * Query parameters that the reference does not show, by their names on the wire. Sent as given, after those of the
 * call; one that the call sets itself can't be given twice.
 */
export type ExtraQuery = Readonly<Record<string, string | number | boolean>>;

type Query = Record<string, string | number | undefined>;

/** The query of a call with what the caller adds to it. */
export function withExtra(query: Query, extra: ExtraQuery | undefined): Query {
  const all: Query = { ...query };
  for (const [name, value] of Object.entries(extra ?? {})) {
    if (all[name] !== undefined) {
      throw new InvalidArgumentError(`extra holds ${quote(name)}, which the call sets itself; give it once`);
    }
    if (typeof value === "number" && !Number.isFinite(value)) {
      throw new InvalidArgumentError(`extra.${name} must be a finite number, not ${value}`);
    }
    all[name] = String(value);
  }
  return all;
}

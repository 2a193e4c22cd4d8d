import { quote } from "../model/text";
import { InvalidArgumentError } from "./errors";
import { assertObject } from "./parameters";

/**
 * Query parameters missing from the reference, by their wire names. They are sent unchanged after those of the call. Parameters
 * that the call has a property for are rejected, so they are validated and never sent twice.
 */
export type ExtraQuery = Readonly<Record<string, string | number | boolean>>;

type Query = Record<string, string | number | undefined>;

/**
 * Adds the caller's extra parameters to the query of a call.
 *
 * @throws {InvalidArgumentError} if a parameter is one of the call's own, or has a value that a query can't carry.
 */
export function addExtraQuery(query: Query, extra: ExtraQuery | undefined): Query {
  if (extra !== undefined) assertObject("extra", extra);
  const extraEntries = Object.entries(extra ?? {})
    .filter(([, value]) => value !== undefined)
    .map(([name, value]): [string, string] => {
      if (Object.hasOwn(query, name)) {
        throw new InvalidArgumentError(
          `extra contains ${quote(name)}, but this call has its own property for it; use that`,
        );
      }
      const isNumber = typeof value === "number" && Number.isFinite(value);
      if (!isNumber && typeof value !== "string" && typeof value !== "boolean") {
        const formatted = typeof value === "number" ? String(value) : quote(value);
        throw new InvalidArgumentError(
          `extra.${name} must be a string, a finite number or a boolean, not ${formatted}`,
        );
      }
      return [name, String(value)];
    });
  // Object.fromEntries, because assigning a key such as __proto__ would set nothing.
  return Object.fromEntries([...Object.entries(query), ...extraEntries]);
}

import { quote } from "../settings/text";
import { InvalidArgumentError } from "./errors";

/** @throws {InvalidArgumentError} when `value` is no whole number from 1 to `most`. */
export function checkPositive(name: string, value: number, most = Number.MAX_SAFE_INTEGER): number {
  if (!Number.isInteger(value) || value < 1 || value > most) {
    const range = most === Number.MAX_SAFE_INTEGER ? "of 1 or more" : `from 1 to ${most}`;
    throw new InvalidArgumentError(`${name} must be a whole number ${range}, not ${String(value)}`);
  }
  return value;
}

/** The same for a value that may be left out. */
export function checkOptional(name: string, value: number | undefined, most?: number): number | undefined {
  return value === undefined ? undefined : checkPositive(name, value, most);
}

/** @throws {InvalidArgumentError} when `value` is none of `values`. */
export function checkOneOf(name: string, values: readonly string[], value: string): void {
  if (!values.includes(value)) {
    const known = values.map((one) => `"${one}"`).join(" or ");
    throw new InvalidArgumentError(`${name} must be ${known}, not ${quote(value)}`);
  }
}

/**
 * An id as one segment of a path: opaque, any characters, percent-encoded so that it arrives as it is.
 *
 * @throws {InvalidArgumentError} for one that can't be sent: empty, a dot segment (which URLs fold away), or with half
 * a surrogate pair (which has no percent-encoded form).
 */
export function pathSegment(name: string, id: string): string {
  if (typeof id !== "string" || id === "" || id === "." || id === ".." || /\p{Cs}/u.test(id)) {
    throw new InvalidArgumentError(`${name} can't be ${quote(id)}: no path can carry it`);
  }
  return encodeURIComponent(id);
}

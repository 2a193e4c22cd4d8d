import { quote } from "../model/text";
import { InvalidArgumentError } from "./errors";
import { MAX_ID_LENGTH } from "./schema-fields";

/** @throws {InvalidArgumentError} if `value` isn't an integer from 1 to `max`. */
export function requirePositive(name: string, value: number, max?: number): number {
  const problem = validatePositive(value, max);
  if (problem !== undefined) throw new InvalidArgumentError(`${name} ${problem}`);
  return value;
}

/** Returns a problem if a value isn't an integer from 1 to `max`; otherwise undefined. */
export function validatePositive(value: unknown, max = Number.MAX_SAFE_INTEGER): string | undefined {
  const isInteger = Number.isInteger(value);
  const number = value as number;
  if (isInteger && number >= 1 && number <= max) return undefined;
  const isUnbounded = max === Number.MAX_SAFE_INTEGER;
  if (isInteger && number > max && isUnbounded) return `is too large: ${number} is more than ${max}`;
  const range = isUnbounded ? "of 1 or more" : `from 1 to ${max}`;
  // The message must distinguish "7" from 7, and JSON has no NaN.
  const formatted = typeof value === "number" ? String(value) : quote(value);
  return `must be a whole number ${range}, not ${formatted}`;
}

/** Does the same as {@link requirePositive} for an optional value. */
export function requireOptionalPositive(name: string, value: number | undefined, max?: number): number | undefined {
  return value === undefined ? undefined : requirePositive(name, value, max);
}

/** @throws {InvalidArgumentError} if `value` isn't an object with properties. */
export function assertObject(name: string, value: object): void {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new InvalidArgumentError(`${name} must be an object, not ${quote(value)}`);
  }
}

/** @throws {InvalidArgumentError} if `value` isn't an object, or has a key that isn't in `allowed`. */
export function assertKnownKeys(name: string, value: object, allowed: readonly string[]): void {
  assertObject(name, value);
  for (const [key, propertyValue] of Object.entries(value)) {
    if (propertyValue === undefined || allowed.includes(key)) continue;
    throw new InvalidArgumentError(
      `${name} contains ${quote(key)}, which isn't a parameter of this call; the parameters are ${allowed.join(", ")}`,
    );
  }
}

/** @throws {InvalidArgumentError} if `value` isn't a string. */
export function assertText(name: string, value: string): void {
  if (typeof value !== "string") {
    throw new InvalidArgumentError(`${name} must be a string, not ${quote(value)}`);
  }
}

/** Checks an optional string like {@link assertText}. */
export function assertOptionalText(name: string, value: string | undefined): void {
  if (value !== undefined) assertText(name, value);
}

/** @throws {InvalidArgumentError} if `value` isn't one of `values`. */
export function assertOneOf(name: string, values: readonly string[], value: string): void {
  if (!values.includes(value)) {
    const allowedText = values.map((allowed) => `"${allowed}"`).join(" or ");
    throw new InvalidArgumentError(`${name} must be ${allowedText}, not ${quote(value)}`);
  }
}

/** @throws {InvalidArgumentError} if `value` isn't a string, or is blank. */
export function assertNotBlank(name: string, value: string): void {
  assertText(name, value);
  if (value.trim() === "") throw new InvalidArgumentError(`${name} is empty`);
}

/**
 * Encodes an opaque id as one path segment, percent-encoded so that it arrives unchanged.
 *
 * @throws {InvalidArgumentError} for an id that can't be sent: empty, too long, a dot segment (which URLs normalize away), or
 * with an unpaired surrogate (which has no percent-encoded form).
 */
export function encodePathSegment(name: string, id: string): string {
  assertText(name, id);
  if (id === "") throw new InvalidArgumentError(`${name} is empty`);
  if (id.length > MAX_ID_LENGTH) {
    throw new InvalidArgumentError(`${name} is longer than ${MAX_ID_LENGTH} characters: ${quote(id, 40)}`);
  }
  if (id === "." || id === "..") {
    throw new InvalidArgumentError(`${name} can't be "${id}", because a URL treats that as a directory`);
  }
  if (/\p{Cs}/u.test(id)) {
    throw new InvalidArgumentError(
      `${name} contains half a character (an unpaired surrogate), which a URL can't contain`,
    );
  }
  return encodeURIComponent(id);
}

/**
 * The maximum number of values in one JSON response, counted by commas and opening brackets. Responses are up to 16
 * MiB. More values than this, such as ten million nested arrays, carry no information but take twenty times their size
 * in memory.
 */
export const MAX_JSON_VALUES = 1_000_000;

/**
 * The maximum number of objects among them. Each becomes a row or part of one, with all fields of the reference: two characters
 * turn into a kilobyte.
 */
const MAX_JSON_OBJECTS = 100_000;

/** The length, in characters, up to which a text has too few values to be worth counting. */
const UNCHECKED_LENGTH = 2 * MAX_JSON_OBJECTS;

/** JSON with too many values; the message says how many. */
export class TooManyValuesError extends Error {}

/**
 * Parses JSON with bounded memory use.
 *
 * @throws {TooManyValuesError} before any value is created.
 * @throws {SyntaxError} if the text isn't valid JSON.
 */
export function parseJson(text: string): unknown {
  if (text.length > UNCHECKED_LENGTH) assertJsonLimits(text);
  return JSON.parse(text);
}

function assertJsonLimits(text: string): void {
  let values = 1;
  let objects = 0;
  for (let position = 0; position < text.length; position += 1) {
    switch (text[position]) {
      case '"':
        position = findStringEnd(text, position);
        break;
      case "{":
        objects += 1;
        values += 1;
        break;
      case ",":
      case "[":
        values += 1;
    }
    if (objects > MAX_JSON_OBJECTS) throw new TooManyValuesError(`${MAX_JSON_OBJECTS} objects`);
    if (values > MAX_JSON_VALUES) throw new TooManyValuesError(`${MAX_JSON_VALUES} values`);
  }
}

/** Returns the end of the string that starts at `start`; the end of the text if it is unterminated. */
function findStringEnd(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text[end - 1 - backslashes] === "\\") backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}

/**
 * The most values that the JSON of one answer may have, by its commas and opening brackets. The largest answer that is
 * read is 16 MiB; what holds more values than this says nothing with them, as ten million nested arrays, and would take
 * twenty times its size as memory.
 */
const MAX_JSON_VALUES = 1_000_000;

/**
 * The most of them that may be objects. Each is a row, or a part of one, and what is made of a row has all the fields of the
 * reference, however few came: two characters become a kilobyte.
 */
const MAX_JSON_OBJECTS = 100_000;

/** A text this short has too few values to be worth counting them. In characters. */
const UNCHECKED_LENGTH = 2 * MAX_JSON_OBJECTS;

/** JSON of more values than are read; the message says of how many. */
export class TooManyValuesError extends Error {}

/**
 * Parses JSON whose size in memory is bounded.
 *
 * @throws {TooManyValuesError} before anything is made of it.
 * @throws {SyntaxError} when it is no JSON.
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

/** Where the string that begins at `start` ends; the end of the text where it does not. */
function findStringEnd(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text[end - 1 - backslashes] === "\\") backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}

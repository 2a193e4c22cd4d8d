/**
 * The most values that the JSON of one answer may have, by its commas and opening brackets. The largest answer that is
 * read is 16 MiB; what holds more values than this says nothing with them, as ten million nested arrays, and would take
 * twenty times its size as memory.
 */
export const MAX_JSON_VALUES = 1_000_000;

/** A text this short has too few values to be worth counting them. In characters. */
const UNCOUNTED_LENGTH = 1024 * 1024;

/** JSON of more values than {@link MAX_JSON_VALUES}. */
export class TooManyValuesError extends Error {}

/**
 * Parses JSON whose size in memory is bounded.
 *
 * @throws {TooManyValuesError} before anything is made of it.
 * @throws {SyntaxError} when it is no JSON.
 */
export function parseJson(text: string): unknown {
  if (text.length > UNCOUNTED_LENGTH && hasTooManyValues(text)) throw new TooManyValuesError();
  return JSON.parse(text);
}

function hasTooManyValues(text: string): boolean {
  let values = 1;
  for (let at = 0; at < text.length; at += 1) {
    switch (text[at]) {
      case '"':
        at = endOfString(text, at);
        break;
      case ",":
      case "[":
      case "{":
        values += 1;
        if (values > MAX_JSON_VALUES) return true;
    }
  }
  return false;
}

/** Where the string that begins at `start` ends; the end of the text where it does not. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text[end - 1 - backslashes] === "\\") backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}

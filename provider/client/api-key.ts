import { inspect } from "node:util";
import { sanitizeLine } from "../model/text";
import { ConfigurationError } from "./errors";

/** The tenant's API key. It never prints itself, and redacts itself from external text. */
export class ApiKey {
  readonly #key: string;
  readonly #encodings: readonly string[];

  /** @throws {ConfigurationError} if a header can't carry the key. */
  constructor(key: string) {
    if (typeof key !== "string" || key === "") throw new ConfigurationError("The API key (apiKey) is empty.");
    if (!/^[\x21-\x7e]+$/.test(key)) {
      throw new ConfigurationError(
        "The API key (apiKey) contains white space, a line break or a non-ASCII character, which a header can't contain. Check how it was copied.",
      );
    }
    this.#key = key;
    this.#encodings = encodeKey(key);
  }

  /** The request header with the key; the client sends it only to the configured address. */
  get header(): { "x-api-key": string } {
    return { "x-api-key": this.#key };
  }

  /** Redacts the key from external text. */
  redact(text: string): string {
    return this.#encodings.reduce((redacted, encoding) => redacted.replaceAll(encoding, "<API_KEY>"), text);
  }

  /**
   * Redacts external text for display: also removes parts of the key, since an echo may be truncated, and escapes control
   * characters. Long text is truncated.
   */
  sanitize(text: string): string {
    return sanitizeLine(this.redactParts(text));
  }

  /** Redacts the key and parts of it without escaping. */
  redactParts(text: string): string {
    return redactEncodedParts(this.redact(text.slice(0, MAX_DISPLAY_LENGTH)), this.#encodings);
  }

  /** Returns whether a text contains the key. Very short keys are ignored, because they may match by chance. */
  isContainedIn(text: string): boolean {
    return this.#key.length >= MIN_PART_LENGTH && this.#encodings.some((encoding) => text.includes(encoding));
  }

  /** Redacts the key from a parsed body; undefined if the body isn't valid without it. */
  redactBody(body: unknown): unknown {
    try {
      return JSON.parse(this.redact(JSON.stringify(body)));
    } catch {
      // The body is missing or nested too deeply, so it is dropped rather than shown with the key.
      return undefined;
    }
  }

  [inspect.custom](): string {
    return "ApiKey {}";
  }
}

/** The maximum length of displayed text before redaction; displayed text is truncated further anyway. */
const MAX_DISPLAY_LENGTH = 2_000;

/** The minimum number of consecutive characters of a key that counts as a part of it, not a coincidence. */
const MIN_PART_LENGTH = 8;

/** Redacts each part of the encodings that has the minimum length. */
function redactEncodedParts(text: string, encodings: readonly string[]): string {
  const parts = new Set(encodings.flatMap(getKeyParts));
  let redacted = "";
  for (let index = 0; index < text.length; ) {
    const start = index;
    while (parts.has(text.slice(index, index + MIN_PART_LENGTH))) index += 1;
    redacted += index === start ? text[index] : "<API_KEY>";
    index += index === start ? 1 : MIN_PART_LENGTH - 1;
  }
  return redacted;
}

function getKeyParts(encoding: string): string[] {
  return Array.from({ length: Math.max(0, encoding.length - MIN_PART_LENGTH + 1) }, (_, index) =>
    encoding.slice(index, index + MIN_PART_LENGTH),
  );
}

/** Returns the key in all encodings in which a response may echo it: plain, JSON, URL, HTML and bytes. */
function encodeKey(key: string): string[] {
  const html = key.replace(/[&<>"']/g, (character) => `&${HTML_NAMES[character]};`);
  const percent = encodeURIComponent(key);
  const bytes = Buffer.from(key);
  return [
    ...new Set([
      key,
      JSON.stringify(key).slice(1, -1),
      percent,
      percent.replace(/%../g, (code) => code.toLowerCase()),
      html,
      bytes.toString("base64"),
      bytes.toString("base64url"),
      bytes.toString("hex"),
    ]),
  ];
}

const HTML_NAMES: Readonly<Record<string, string>> = {
  "&": "amp",
  "<": "lt",
  ">": "gt",
  '"': "quot",
  "'": "#39",
};

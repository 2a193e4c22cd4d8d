import { inspect } from "node:util";
import { printable } from "../settings/text";
import { ConfigurationError } from "./errors";

/** The tenant's API key. It never shows itself, and redacts itself from external text. */
export class ApiKey {
  readonly #key: string;
  readonly #forms: readonly string[];

  /** @throws {ConfigurationError} if a header can't carry the key. */
  constructor(key: string) {
    if (typeof key !== "string" || key === "") throw new ConfigurationError("The API key (apiKey) is empty.");
    if (!/^[\x21-\x7e]+$/.test(key)) {
      throw new ConfigurationError(
        "The API key (apiKey) holds white space, a line break or a character outside ASCII, which no header can carry. Check how it was copied.",
      );
    }
    this.#key = key;
    this.#forms = formsOf(key);
  }

  /** The request header for the configured address, the only place that the key is sent to. */
  get header(): { "x-api-key": string } {
    return { "x-api-key": this.#key };
  }

  /** Redacts the key from external text. */
  removedFrom(text: string): string {
    return this.#forms.reduce((cleaned, form) => cleaned.replaceAll(form, "<API_KEY>"), text);
  }

  /**
   * Redacts external text for display: also removes parts of the key, since an echo may be truncated, and escapes control
   * characters. Long text is truncated.
   */
  harmless(text: string): string {
    return printable(this.partsRemovedFrom(text));
  }

  /** Redacts the key and parts of it without escaping. */
  partsRemovedFrom(text: string): string {
    return withoutParts(this.removedFrom(text.slice(0, MAX_SHOWN)), this.#forms);
  }

  /** Whether a text contains the key. Very short keys are ignored, since they may match by chance. */
  isIn(text: string): boolean {
    return this.#key.length >= PART && this.#forms.some((form) => text.includes(form));
  }

  /** Redacts the key from a parsed body; undefined if the body isn't valid without it. */
  removedFromBody(body: unknown): unknown {
    try {
      return JSON.parse(this.removedFrom(JSON.stringify(body)));
    } catch {
      // The body is missing or nested too deeply, so it is dropped rather than shown with the key.
      return undefined;
    }
  }

  [inspect.custom](): string {
    return "ApiKey {}";
  }
}

/** External text is truncated to less than this when shown. */
const MAX_SHOWN = 2_000;

/** A run of this many characters of the key counts as part of it rather than a coincidence. */
const PART = 8;

/** Removes every run of at least the minimum length that occurs in any of the forms. */
function withoutParts(text: string, forms: readonly string[]): string {
  const parts = new Set(forms.flatMap(partsOf));
  let rest = "";
  for (let at = 0; at < text.length; ) {
    const start = at;
    while (parts.has(text.slice(at, at + PART))) at += 1;
    rest += at === start ? text[at] : "<API_KEY>";
    at += at === start ? 1 : PART - 1;
  }
  return rest;
}

function partsOf(form: string): string[] {
  return Array.from({ length: Math.max(0, form.length - PART + 1) }, (_, at) => form.slice(at, at + PART));
}

/** Returns the key in every encoding that an echo may use: plain, JSON, URL, HTML and bytes. */
function formsOf(key: string): string[] {
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

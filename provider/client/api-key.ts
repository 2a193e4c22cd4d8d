import { inspect } from "node:util";
import { printable } from "../settings/text";
import { ConfigurationError } from "./errors";

/** The tenant's API key. It shows itself to nobody, and takes itself out of texts that come from outside. */
export class ApiKey {
  readonly #key: string;
  readonly #forms: readonly string[];

  /** @throws {ConfigurationError} when no header can carry the key. */
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

  /** The header of a request to the configured address: the only place where the key goes. */
  get header(): { "x-api-key": string } {
    return { "x-api-key": this.#key };
  }

  /** Text from outside with the key, should it be echoed, taken out. */
  removedFrom(text: string): string {
    return this.#forms.reduce((cleaned, form) => cleaned.replaceAll(form, "<API_KEY>"), text);
  }

  /** The same with control characters escaped. */
  harmless(text: string): string {
    return printable(this.removedFrom(text));
  }

  /** A parsed body with the key taken out, or undefined when it does not hold together without it. */
  removedFromBody(body: unknown): unknown {
    try {
      return JSON.parse(this.removedFrom(JSON.stringify(body)));
    } catch {
      // No body, or one that is nested too deep: better none than one with the key.
      return undefined;
    }
  }

  [inspect.custom](): string {
    return "ApiKey {}";
  }
}

/** The key as it is, and as an echo may write it: in JSON, in an address, in HTML. */
function formsOf(key: string): string[] {
  const html = key.replace(/[&<>"']/g, (character) => `&${HTML_NAMES[character]};`);
  return [...new Set([key, JSON.stringify(key).slice(1, -1), encodeURIComponent(key), html])];
}

const HTML_NAMES: Readonly<Record<string, string>> = {
  "&": "amp",
  "<": "lt",
  ">": "gt",
  '"': "quot",
  "'": "#39",
};

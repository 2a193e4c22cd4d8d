import { excerpt, sanitizeLine } from "../model/text";
import type { SafeText } from "./safe-text";

export class Html {
  readonly #markup: string;

  constructor(source: string) {
    this.#markup = source;
  }

  toString(): string {
    return this.#markup;
  }
}

type HtmlValue = string | number | Html | undefined | readonly HtmlValue[];

/** A template tag for HTML. Escapes inserted text, but not {@link Html}. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(
    strings.map((literal, index) => literal + (index < values.length ? toMarkup(values[index]) : "")).join(""),
  );
}

/** Renders words as HTML. External text is marked, keeps its lines and has its own text direction. */
export function renderHtmlText(text: SafeText): Html {
  return html`${text.map((word) => {
    if (typeof word === "string") return html`${word}`;
    return word.isSentence === true
      ? html`<bdi>${formatSentenceHtml(word.untrusted)}</bdi>`
      : html`<bdi class="untrusted">${renderUntrustedHtml(word.untrusted)}</bdi>`;
  })}`;
}

function formatSentenceHtml(text: string): Html {
  const pieces = text.slice(0, MAX_TEXT_LENGTH).split(/`([^`\n]+)`/);
  return html`${pieces.map((piece, index) => (index % 2 === 1 ? html`<code>${renderUntrustedHtml(piece)}</code>` : renderUntrustedHtml(piece)))}`;
}

export function renderUntrustedHtml(text: string): Html {
  const shortened = text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH)}…` : text;
  const lines = shortened.split(/\r\n|[\r\n]/).map((line) => html`${excerpt(line, MAX_TEXT_LENGTH)}`);
  return new Html(lines.join("<br>"));
}

/** Comments may have any length; JSON contains them in full. */
const MAX_TEXT_LENGTH = 5_000;

function toMarkup(value: HtmlValue): string {
  if (value === undefined) return "";
  if (value instanceof Html) return value.toString();
  if (Array.isArray(value)) return value.map(toMarkup).join("");
  return sanitizeLine(String(value)).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

import { excerpt, printable } from "../settings/text";
import type { Words } from "./words";

/** Trusted or escaped markup. */
export class Html {
  readonly #markup: string;

  constructor(markup: string) {
    this.#markup = markup;
  }

  toString(): string {
    return this.#markup;
  }
}

type Told = string | number | Html | undefined | readonly Told[];

/** A template tag for HTML. Escapes inserted text, but not {@link Html}. */
export function html(strings: TemplateStringsArray, ...told: readonly Told[]): Html {
  return new Html(
    strings.map((own, index) => own + (index < told.length ? markup(told[index]) : "")).join(""),
  );
}

/** Renders words as HTML. External text is marked, keeps its lines and has its own text direction. */
export function htmlWords(words: Words): Html {
  return html`${words.map((word) => {
    if (typeof word === "string") return html`${word}`;
    return word.isSentence === true
      ? html`<bdi>${sentence(word.given)}</bdi>`
      : html`<bdi class="given">${given(word.given)}</bdi>`;
  })}`;
}

/** Renders a sentence with code in backticks. */
function sentence(text: string): Html {
  const pieces = text.slice(0, MAX_GIVEN).split(/`([^`\n]+)`/);
  return html`${pieces.map((piece, index) => (index % 2 === 1 ? html`<code>${given(piece)}</code>` : given(piece)))}`;
}

/** Renders external text with line breaks. */
export function given(text: string): Html {
  const cut = text.length > MAX_GIVEN ? `${text.slice(0, MAX_GIVEN)}…` : text;
  const lines = cut.split(/\r\n|[\r\n]/).map((line) => html`${excerpt(line, MAX_GIVEN)}`);
  return new Html(lines.join("<br>"));
}

/** Comments may have any length; JSON contains them in full. */
const MAX_GIVEN = 5_000;

function markup(told: Told): string {
  if (told === undefined) return "";
  if (told instanceof Html) return told.toString();
  if (Array.isArray(told)) return told.map(markup).join("");
  return printable(String(told)).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

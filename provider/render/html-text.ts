import { excerpt, printable } from "../settings/text";
import type { Words } from "./words";

/** Markup that is ours, or was made so. */
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

/** A template of HTML: what is put in is text, in which nothing is markup, unless it is {@link Html} itself. */
export function html(strings: TemplateStringsArray, ...told: readonly Told[]): Html {
  return new Html(
    strings.map((own, index) => own + (index < told.length ? markup(told[index]) : "")).join(""),
  );
}

/** Words as HTML: what came from outside stands apart, in its own direction of writing, and keeps its lines. */
export function htmlWords(words: Words): Html {
  return html`${words.map((word) => {
    if (typeof word === "string") return html`${word}`;
    return word.isSentence === true
      ? html`<bdi>${sentence(word.given)}</bdi>`
      : html`<bdi class="given">${given(word.given)}</bdi>`;
  })}`;
}

/** A sentence, in which backticks mark what is to be written as it stands. */
function sentence(text: string): Html {
  const pieces = text.slice(0, MAX_GIVEN).split(/`([^`\n]+)`/);
  return html`${pieces.map((piece, index) => (index % 2 === 1 ? html`<code>${given(piece)}</code>` : given(piece)))}`;
}

/** Text from outside, with its line ends. */
export function given(text: string): Html {
  const cut = text.length > MAX_GIVEN ? `${text.slice(0, MAX_GIVEN)}…` : text;
  const lines = cut.split(/\r\n|[\r\n]/).map((line) => html`${excerpt(line, MAX_GIVEN)}`);
  return new Html(lines.join("<br>"));
}

/** A comment may be of any length; JSON holds it whole. */
const MAX_GIVEN = 5_000;

function markup(told: Told): string {
  if (told === undefined) return "";
  if (told instanceof Html) return told.toString();
  if (Array.isArray(told)) return told.map(markup).join("");
  return printable(String(told)).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

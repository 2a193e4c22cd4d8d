import { Html, html } from "./html-text";
import { number } from "./words";

/** One of several ways to look at a page; a style sheet acts on its radio button by the id, a script by the value. */
export interface Choice {
  readonly id: string;
  readonly value?: string;
  readonly label: string;
  /** How many there are of it. With none it is left out. */
  readonly count?: number;
}

/**
 * Radio buttons that a style sheet acts on, so that a page needs no script. The first is chosen.
 *
 * @param name of the group, one of its own on the page.
 */
export function choices(name: string, legend: string, all: readonly Choice[]): Html {
  return html`<fieldset><legend>${legend}</legend>${all
    .filter(({ count }) => count !== 0)
    .map(
      ({ id, value, label, count }, index) =>
        html`<label><input type="radio" name="${name}" id="${id}"${value === undefined ? "" : html` value="${value}"`}${
          index === 0 ? new Html(" checked") : ""
        }> ${label}${count === undefined ? "" : html` ${number(count)}`}</label>`,
    )}</fieldset>`;
}

import { Html, html } from "./html-text";
import { formatNumber } from "./safe-text";

/** An option of a page filter. Style sheets select its radio button by id, scripts by value. */
export interface FilterOption {
  readonly id: string;
  readonly value?: string;
  readonly label: string;
  readonly count?: number;
}

/**
 * Renders radio buttons for a style sheet, so that a page needs no script. The first one is selected.
 *
 * @param name the name of the group, unique on the page.
 */
export function renderFilterOptions(name: string, legend: string, options: readonly FilterOption[]): Html {
  return html`<fieldset><legend>${legend}</legend>${options
    .filter(({ count }) => count !== 0)
    .map(
      ({ id, value, label, count }, index) =>
        html`<label><input type="radio" name="${name}" id="${id}"${value === undefined ? "" : html` value="${value}"`}${
          index === 0 ? new Html(" checked") : ""
        }> ${label}${count === undefined ? "" : html` ${formatNumber(count)}`}</label>`,
    )}</fieldset>`;
}

import { type Html, html } from "../../../render/html-text";
import { formatNumber } from "../../../render/safe-text";

export interface ChartSeries {
  readonly name: string;
  /** One value for each time, in the same order. */
  readonly values: readonly number[];
}

/**
 * Draws a line chart as SVG, without scripts or inline styles. It prints as it appears, and a table contains the same values.
 *
 * @param times ISO 8601, oldest first; two or more.
 */
export function renderLineChart(title: string, times: readonly string[], series: readonly ChartSeries[]): Html {
  const [first = "", last = ""] = [times[0], times.at(-1)];
  const [from, to] = [Date.parse(first), Date.parse(last)];
  const axisMax = roundUpAxis(Math.max(...series.flatMap(({ values }) => values)));
  const formatX = (time: string): string =>
    ((to === from ? 0 : (Date.parse(time) - from) / (to - from)) * WIDTH).toFixed(1);
  const formatY = (value: number): string => ((1 - value / axisMax) * HEIGHT).toFixed(1);
  const isBrief = to - from < 2 * 24 * 60 * 60 * 1_000;
  const formatTime = (time: string): string => time.slice(0, isBrief ? 16 : 10).replace("T", " ");
  const formatPoints = ({ values }: ChartSeries) =>
    times.map((time, index) => `${formatX(time)},${formatY(values[index] ?? 0)}`).join(" ");
  return html`<figure class="chart"><figcaption>${title}</figcaption>
<div class="axis-labels" aria-hidden="true"><span>${formatNumber(axisMax)}</span></div>
<svg class="plot" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true"><line class="grid" x1="0" x2="${WIDTH}" y1="0" y2="0"/><line class="grid" x1="0" x2="${WIDTH}" y1="${HEIGHT / 2}" y2="${HEIGHT / 2}"/><line class="grid" x1="0" x2="${WIDTH}" y1="${HEIGHT}" y2="${HEIGHT}"/>${series.map(
    (chartSeries, index) => html`<polyline class="series-${index}" points="${formatPoints(chartSeries)}"/>`,
  )}</svg>
<div class="axis-labels" aria-hidden="true"><span>${formatTime(first)}</span><span>${formatTime(last)}</span></div>
<ul class="key">${series.map(
    ({ name, values }, index) => html`<li class="series-${index}">${name}: ${formatNumber(values.at(-1) ?? 0)}</li>`,
  )}</ul>
${renderChartTable(title, times, series)}</figure>`;
}

const WIDTH = 600;
const HEIGHT = 150;
/** The maximum number of times in the table, which shows the latest. The files of the runs have all of them. */
const MAX_TABLE_ROWS = 60;

function renderChartTable(title: string, times: readonly string[], series: readonly ChartSeries[]): Html {
  const rows = times
    .map(
      (time, index) =>
        html`<tr><td data-label="Read">${time.slice(0, 16).replace("T", " ")}</td>${series.map(
          ({ name, values }) => html`<td data-label="${name}">${formatNumber(values[index] ?? 0)}</td>`,
        )}</tr>`,
    )
    .reverse()
    .slice(0, MAX_TABLE_ROWS);
  return html`<details><summary>As a table</summary><div class="table" tabindex="0" role="region" aria-label="${title}"><table><thead><tr><th scope="col">Read (UTC)</th>${series.map(
    ({ name }) => html`<th scope="col">${name}</th>`,
  )}</tr></thead><tbody>${rows}</tbody></table></div></details>`;
}

export function renderBarTable(
  title: string,
  bars: readonly { readonly name: string; readonly count: number; readonly isOld?: boolean }[],
): Html {
  const maxCount = Math.max(1, ...bars.map(({ count }) => count));
  return html`<figure class="chart bars"><figcaption>${title}</figcaption><div class="table" tabindex="0" role="region" aria-label="${title}"><table><tbody>${bars.map(
    ({ name, count, isOld = false }) =>
      html`<tr class="${isOld ? "old" : "new"}"><th scope="row">${name}</th><td><svg aria-hidden="true"><rect width="${((count / maxCount) * 100).toFixed(1)}%" height="100%" rx="3"/></svg></td><td>${formatNumber(count)}</td></tr>`,
  )}</tbody></table></div></figure>`;
}

function roundUpAxis(highest: number): number {
  if (highest <= 4) return 4;
  const power = 10 ** Math.floor(Math.log10(highest));
  return [1, 2, 5, 10].map((step) => step * power).find((axisMax) => axisMax >= highest) ?? highest;
}

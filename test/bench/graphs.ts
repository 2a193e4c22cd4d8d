import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parse, View } from "vega";
import { compile, type TopLevelSpec } from "vega-lite";

/** A point of a graph. */
export interface Point {
  /** The line that the point belongs to. */
  readonly line: string;
  readonly x: number;
  readonly y: number;
  /** Whether the value is simulated rather than measured. Such lines are dashed. */
  readonly isSimulated?: boolean;
}

export interface Axes {
  readonly x: string;
  readonly y: string;
  /** Use `log` if sizes differ by orders of magnitude. */
  readonly scale: "linear" | "log";
}

/** Writes a graph for the docs, as an SVG that is readable on light and dark pages. */
export async function writeGraph(name: string, points: readonly Point[], axes: Axes): Promise<void> {
  const file = new URL(`../../docs/public/${name}.svg`, import.meta.url);
  await writeFile(fileURLToPath(file), `${await renderSvg(points, axes)}\n`);
}

async function renderSvg(points: readonly Point[], { x, y, scale: type }: Axes): Promise<string> {
  const scale = { type, zero: type === "linear" };
  const spec: TopLevelSpec = {
    width: 560,
    height: 300,
    background: "white",
    padding: 16,
    data: { values: points.map((point) => ({ isSimulated: false, ...point })) },
    mark: { type: "line", point: true },
    encoding: {
      x: { field: "x", type: "quantitative", title: x, scale, axis: { format: ",d", labelOverlap: true } },
      y: { field: "y", type: "quantitative", title: y, scale, axis: { format: "~g", labelOverlap: true } },
      color: { field: "line", type: "nominal", title: null, sort: null },
      strokeDash: { field: "isSimulated", type: "nominal", legend: null },
    },
    // With a limit, Vega truncates long names.
    config: { font: "sans-serif", legend: { labelLimit: 0 } },
  };
  return await new View(parse(compile(spec).spec), { renderer: "none" }).toSVG();
}

import type { Plan } from "../plan/plan";
import { planHtml } from "../plan/render/html";
import { planJson } from "../plan/render/json";
import { planMarkdown } from "../plan/render/markdown";
import { planText } from "../plan/render/text";
import { isColoured, writeOutput } from "./command-line";

/** Where a plan is written beside the terminal, and in what form it is printed there. */
export interface PlanOutput {
  readonly format?: "text" | "markdown" | "html" | "json";
  readonly markdown?: string;
  readonly html?: string;
  readonly json?: string;
  readonly all?: boolean;
}

/**
 * Writes a plan into the files that were asked for.
 *
 * @throws {ConfigurationError} when one can't be written.
 */
export function writePlanFiles(plan: Plan, { markdown, html, json }: PlanOutput): void {
  if (markdown !== undefined) writeOutput(markdown, planMarkdown(plan), "plan");
  if (html !== undefined) writeOutput(html, planHtml(plan), "plan");
  if (json !== undefined) writeOutput(json, planJson(plan), "plan");
}

/** A plan as it is printed. */
export function printedPlan(plan: Plan, { format = "text", all = false }: PlanOutput): string {
  if (format === "markdown") return planMarkdown(plan);
  if (format === "html") return planHtml(plan);
  if (format === "json") return planJson(plan);
  const { columns } = process.stdout;
  return planText(plan, {
    color: isColoured(process.stdout),
    ...(columns === undefined ? {} : { width: columns }),
    ...(all ? { limit: Number.POSITIVE_INFINITY } : {}),
  });
}

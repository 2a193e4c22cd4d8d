import type { Plan } from "../plan/plan";
import { planHtml } from "../plan/render/html";
import { planJson } from "../plan/render/json";
import { planMarkdown } from "../plan/render/markdown";
import { planText } from "../plan/render/text";
import { isColoured, writeOutput } from "./command-line";
import { type FailOn, withRefusal } from "./plan-options";

/** Where a plan is written beside the terminal, and in what form it is printed there. */
export interface PlanOutput {
  readonly format?: "text" | "markdown" | "html" | "json";
  readonly markdown?: string;
  readonly html?: string;
  readonly json?: string;
  readonly all?: boolean;
  readonly failOn?: FailOn;
}

/**
 * Writes a plan into the files that were asked for.
 *
 * @throws {ConfigurationError} when one can't be written.
 */
export function writePlanFiles(plan: Plan, { markdown, html, json, failOn }: PlanOutput): void {
  const shown = withRefusal(plan, failOn);
  if (markdown !== undefined) writeOutput(markdown, planMarkdown(shown), "plan");
  if (html !== undefined) writeOutput(html, planHtml(shown), "plan");
  if (json !== undefined) writeOutput(json, planJson(plan), "plan");
}

/** A plan as it is printed. */
export function printedPlan(plan: Plan, { format = "text", all = false, failOn }: PlanOutput): string {
  if (format === "json") return planJson(plan);
  const shown = withRefusal(plan, failOn);
  if (format === "markdown") return planMarkdown(shown);
  if (format === "html") return planHtml(shown);
  const { columns } = process.stdout;
  return planText(shown, {
    color: isColoured(process.stdout),
    ...(columns === undefined ? {} : { width: columns }),
    ...(all ? { limit: Number.POSITIVE_INFINITY } : {}),
  });
}

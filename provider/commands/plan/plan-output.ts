import { lookOf, type Renderers, targetOf } from "../../cli/output/write-outputs";
import { type FailOn, withRefusal } from "../../cli/plan-options";
import type { Plan } from "../../plan/plan";
import { planHtml } from "../../plan/render/html";
import { planJson } from "../../plan/render/json";
import { planMarkdown } from "../../plan/render/markdown";
import { planText } from "../../plan/render/text";

export type PlanFormat = "text" | "markdown" | "html" | "json";

/** How much of a plan to render. */
interface PlanRenderOptions {
  readonly all?: boolean;
  readonly failOn?: FailOn;
}

/** Creates a plan's renderers. The JSON always has every change, and never a refusal by `--fail-on`. */
export function planRenderers(plan: Plan, { all = false, failOn }: PlanRenderOptions): Renderers<PlanFormat> {
  const displayedPlan = withRefusal(plan, failOn);
  return {
    text: (target) =>
      planText(displayedPlan, {
        ...lookOf(target),
        ...(all ? { limit: Number.POSITIVE_INFINITY } : {}),
      }),
    markdown: () => planMarkdown(displayedPlan),
    html: () => planHtml(displayedPlan),
    json: () => planJson(plan),
  };
}

export async function printPlan(plan: Plan): Promise<void> {
  process.stdout.write(await planRenderers(plan, {}).text(targetOf("stdout")));
}

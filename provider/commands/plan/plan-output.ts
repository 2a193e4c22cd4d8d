import { addFailOnBlocker, type FailOnLevel } from "../../cli/fail-on-option";
import { getRenderOptions, getTextTarget, type Renderers } from "../../cli/output/write-outputs";
import type { Plan } from "../../plan/plan";
import { renderPlanHtml } from "../../plan/render/plan-html";
import { formatPlanJson } from "../../plan/render/plan-json";
import { renderPlanMarkdown } from "../../plan/render/plan-markdown";
import { renderPlanText } from "../../plan/render/plan-text";

export type PlanFormat = "text" | "markdown" | "html" | "json";

interface PlanRenderOptions {
  readonly all?: boolean;
  readonly failOn?: FailOnLevel;
}

/** Creates a plan's renderers. The JSON always has every change, and never a refusal by `--fail-on`. */
export function createPlanRenderers(plan: Plan, { all = false, failOn }: PlanRenderOptions): Renderers<PlanFormat> {
  const displayedPlan = addFailOnBlocker(plan, failOn);
  return {
    text: (target) =>
      renderPlanText(displayedPlan, {
        ...getRenderOptions(target),
        ...(all ? { limit: Number.POSITIVE_INFINITY } : {}),
      }),
    markdown: () => renderPlanMarkdown(displayedPlan),
    html: () => renderPlanHtml(displayedPlan),
    json: () => formatPlanJson(plan),
  };
}

export async function printPlan(plan: Plan): Promise<void> {
  process.stdout.write(await createPlanRenderers(plan, {}).text(getTextTarget("stdout")));
}

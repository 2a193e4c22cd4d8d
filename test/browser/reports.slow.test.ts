import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { renderReviewHtml } from "../../provider/commands/review/review-html";
import { renderPlanHtml } from "../../provider/plan/render/plan-html";
import { renderCombinedPlanHtml } from "../../provider/rollout/plan-report/combined-plan-html";
import { renderReportHtml } from "../../provider/rollout/report/report-html";
import { combinePlans, createDenyPlan } from "../support/combined-plans";
import { HOSTILE } from "../support/hostile-text";
import { blindPlan, buildHugePlan, calmPlan, dangerousPlan, emptyPlan, hostilePlan } from "../support/plans";
import { hostileReview, mixedReview, unreadReview } from "../support/reviews";
import { rollouts } from "../support/rollouts";
import { LOOKS, missingBrowser, startBrowser, Tab } from "./browser";

/** The HTML of `plan`, `review`, `rollout` and `rollout status`. */
const PAGES = {
  "a plan without changes": renderPlanHtml(emptyPlan),
  "a calm plan": renderPlanHtml(calmPlan),
  "a dangerous plan": renderPlanHtml(dangerousPlan),
  "a plan without evidence": renderPlanHtml(blindPlan),
  "a plan of 15 changes": renderPlanHtml(buildHugePlan(15)),
  "a plan of hostile texts": renderPlanHtml(hostilePlan),
  "a review": renderReviewHtml(mixedReview),
  "a review of half the mail": renderReviewHtml(unreadReview),
  "a review of hostile texts": renderReviewHtml(hostileReview),
  "a plan of all tenants": renderCombinedPlanHtml(
    combinePlans([
      ...Array.from({ length: 12 }, () => createDenyPlan("evil.example")),
      dangerousPlan,
      undefined,
      emptyPlan,
    ]),
  ),
  "a plan of all tenants with hostile texts": renderCombinedPlanHtml(
    combinePlans([createDenyPlan("evil.example"), hostilePlan, undefined], { text: Object.values(HOSTILE).join(" ") }),
  ),
  "a rollout before it begins": renderReportHtml(rollouts.middle.before),
  "a rollout of three tenants": renderReportHtml(rollouts.small.after),
  "a rollout with a failure": renderReportHtml(rollouts.middle.after),
  "a rollout of hostile texts": renderReportHtml(rollouts.hostile.after),
};

/**
 * The pages that axe checks in every look. It checks the others only in the narrowest (light) and the widest (dark).
 */
const WHOLLY = new Set(["a dangerous plan", "a rollout of three tenants"]);
const [NARROWEST, WIDEST] = [LOOKS.at(0), LOOKS.at(-1)];

describe.skipIf(missingBrowser)(`pages that commands write, in a browser ${missingBrowser ?? ""}`, () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await startBrowser();
  });

  afterAll(async () => {
    await browser?.close();
  });

  it.each(Object.entries(PAGES))("passes layout and accessibility checks: %s", async (name, page) => {
    for (const look of LOOKS) {
      await using tab = await Tab.open(browser, look);
      await tab.page.setContent(page);
      await tab.savePicture(`${name}-${look.width}-${look.scheme}`);
      expect({ look, beyond: await tab.findHorizontalScroll() }).toEqual({ look, beyond: [] });
      if (!WHOLLY.has(name) && look !== NARROWEST && look !== WIDEST) continue;
      await tab.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
      expect({ look, unfolded: await tab.findProblems() }).toEqual({ look, unfolded: [] });
      expect(await tab.page.evaluate("document.scripts.length")).toBe(0);
      expect([...tab.fetched, ...tab.errors]).toEqual([]);
    }
  });

  it("keeps the focus order while a review is filtered by keyboard", async () => {
    await using tab = await Tab.open(browser, { width: 800, scheme: "light", scripts: false });
    await tab.page.setContent(renderReviewHtml(mixedReview));
    const { keyboard } = tab.page;
    const listShownChanges = async (): Promise<string[]> => {
      const all = await tab.page.locator(".change").all();
      const places = await Promise.all(
        all.map(
          async (locator) =>
            [(await locator.boundingBox())?.y, await locator.locator("code").first().textContent()] as const,
        ),
      );
      return places
        .filter(([y]) => y !== undefined)
        .sort(([a = 0], [b = 0]) => a - b)
        .map(([, value]) => value?.split(" ")[0] ?? "");
    };
    const worstFirst = mixedReview.items.map(({ value }) => value);
    expect(await listShownChanges()).toEqual(worstFirst);

    await keyboard.press("Tab");
    await keyboard.press("ArrowRight");
    expect(await listShownChanges()).toEqual(["supplier-portal.test"]);
    await keyboard.press("ArrowLeft");
    await keyboard.press("Tab");
    await keyboard.press("ArrowRight");
    expect(await listShownChanges()).toEqual(["supplier-portal.test", "billing@partner.example", "auditors.example"]);
    await keyboard.press("ArrowLeft");
    await keyboard.press("Tab");
    await keyboard.press("ArrowRight");
    const sortedValues = worstFirst.toSorted();
    expect(await listShownChanges()).toEqual(sortedValues);

    const focused: string[] = [];
    for (const _ of sortedValues) {
      await keyboard.press("Tab");
      focused.push((await tab.page.locator("summary:focus code").textContent())?.split(" ")[0] ?? "");
    }
    expect(focused).toEqual(sortedValues);
    await keyboard.press("Enter");
    expect(await tab.page.locator("details[open] > summary:focus").count()).toBe(0);
  });
});

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sanitizeLine } from "../../../../provider/model/text";
import { renderReportHtml } from "../../../../provider/rollout/report/report-html";
import { findTerminalCommands, hostileText } from "../../../support/hostile-text";
import { playTextRollout, rollouts } from "../../../support/rollouts";

/** Returns the visible cells of the grid and their links. */
function extractCells(page: string): { href: string; state: string; text: string }[] {
  const cells = page.matchAll(/<li><a class="is-(\w+)" href="#([^"]*)" title="[^"]*">(.*?)<\/a><\/li>/gs);
  return [...cells].map(([, state = "", href = "", inner = ""]) => ({ state, href, text: extractText(inner) }));
}

function extractText(markup: string): string {
  return markup
    .replaceAll("<br>", "\n")
    .replace(/<[^>]*>/g, "")
    .replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)));
}

/** Returns the tags that aren't closed in order, which a strict parser rejects. */
function findUnbalancedTags(page: string): string[] {
  const open: string[] = [];
  const wrong: string[] = [];
  const tags = page.replace(/<style>.*?<\/style>/s, "").matchAll(/<(\/?)([a-z][a-z0-9]*)[^>]*?(\/?)>/g);
  for (const [tag, end, name = "", selfClosed] of tags) {
    if (["meta", "br"].includes(name) || selfClosed === "/") continue;
    if (end === "") open.push(name);
    else if (open.pop() !== name) wrong.push(tag);
  }
  return [...wrong, ...open];
}

describe("a rollout report as HTML", () => {
  test.each(["small", "middle", "stopped", "large", "hostile"] as const)(
    "links each tenant of the %s rollout once from the grid",
    (fixtureName) => {
      const { after } = rollouts[fixtureName];
      const page = renderReportHtml(after);
      const cells = extractCells(page);
      expect(cells.map(({ state }) => state)).toEqual(after.tenants.map(({ state }) => state));
      for (const [index, { name }] of after.tenants.entries()) {
        const lines = name.split(/\r\n|[\r\n]/).map((line) => sanitizeLine(line));
        expect(cells[index]?.text.endsWith(lines.join("\n")) || name.length > 5_000).toBe(true);
      }
      for (const { href } of cells) expect(page.split(` id="${href}"`)).toHaveLength(2);
      expect(findUnbalancedTags(page)).toEqual([]);
    },
  );

  test("shows its sections in order", () => {
    const page = extractText(renderReportHtml(rollouts.stopped.after).replace(/<style>.*?<\/style>/s, ""));
    const order = [
      "Stopped",
      '3 tenants of wave "early" failed, and 2 may.',
      "✗ 3failed: details",
      "Next steps",
      "email-security rollout resume r-20261121-7f3a",
      "Time",
      "6 of 6 completed · 5 changed and 1 unchanged · 1 at once · took 51 s · manual approval after the wave",
      "✓changed acme-000",
      "✗failed hooli-020",
      "Failed 3",
      "The tenant changed since it was planned",
      "Failed while planning; the tenant was not changed.",
      "Fix: Plan the rollout again.",
      "Workerbuild-",
      "Tenants",
      "canary 6",
    ].map((fragment) => page.indexOf(fragment));
    expect(order).not.toContain(-1);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
  });

  test("is self-contained", () => {
    for (const { after } of Object.values(rollouts)) {
      const page = renderReportHtml(after);
      expect(page).toContain(`content="default-src 'none'; style-src 'unsafe-inline'"`);
      expect(page).not.toMatch(/<(?:script|link|img|iframe)|<[^>]*\s(?:src|on\w+)=|href="[^#]|url\(|@import/i);
    }
  });

  test("has the same tags for hostile text", () => {
    const extractTagsWithoutTitles = (page: string) =>
      [...page.replace(/<style>.*?<\/style>/s, "").matchAll(/<[^>]*>/g)]
        .map(([tag]) => tag.replace(/ title="[^"]*"/, ""))
        .filter((tag) => tag !== "<br>" && tag !== "<code>" && tag !== "</code>");
    const calm = extractTagsWithoutTitles(renderReportHtml(playTextRollout("x").after));
    fc.assert(
      fc.property(hostileText, (text) => {
        const page = renderReportHtml(playTextRollout(`x${text}`).after);
        expect(findTerminalCommands(page.replace(/<style>.*?<\/style>/s, ""))).toEqual([]);
        expect(extractTagsWithoutTitles(page)).toEqual(calm);
      }),
      { numRuns: 50 },
    );
  });
});

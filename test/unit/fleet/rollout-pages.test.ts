import { expect, it } from "vitest";
import type { SiteData } from "../../../provider/fleet/site/data/site-data";
import type { RolloutDetails } from "../../../provider/rollout/model/history-schema";
import { generateFiles, generateSite } from "../../support/site-fixture";

/* The pages of a fleet's site that show rollouts. */

const site = generateSite({ tenants: 12, entries: 6, own: 3 });

/** Returns the text of a page's main part, one line per element. */
function extractMainLines(files: ReadonlyMap<string, string>, path: string): string[] {
  const [, main = ""] = /<main>(.*)<\/main>/s.exec(files.get(path) ?? "") ?? [];
  const text = main.replaceAll(/<\/?(?:b|bdi|a|i|code|span|time|strong)\b[^>]*>/g, "");
  return text
    .split(/<[^>]+>/)
    .map((line) => line.replaceAll("&#39;", "'").trim())
    .filter((line) => line !== "");
}

/** Returns the article of a rollout in the list. */
function extractArticle(files: ReadonlyMap<string, string>, id: string): string {
  const articles = (files.get("rollouts.html") ?? "").split("<article");
  return articles.find((article) => article.includes(`>${id}</bdi></a>`)) ?? "";
}

function addRollouts(rollouts: readonly RolloutDetails[], older = 0): SiteData {
  return { ...site, rollouts: { rollouts, older, stacks: new Map() } };
}

const [stopped] = site.rollouts?.rollouts ?? [];

it("lists a rollout with its changes", () => {
  const files = generateFiles(site);
  expect(extractMainLines(files, "rollouts.html").slice(2, 15)).toEqual([
    "r-20261120-1 Stopped",
    "started 2026-11-20 08:00 UTC by kim · took 1 h 30 min · planned by dana@build-7 · commit 3f9c01d2a7b8 and uncommitted changes · tenants.yaml",
    "1 tenant failed in the wave all, which tolerates 0.",
    "1 failed, 10 changed and 1 unchanged: t003, t000, t001, t002, t005, t006, t007, t008 and 4 more",
    "-remove",
    "allow old.example in 11 tenants",
    "+add",
    "deny evil.example in 11 tenants",
    "ticket INC-7 · comment Phishing",
    "+add",
    "VIP ceo@acme.example in 11 tenants",
    "canary",
    "done: 3 changed, took 2 min 1 s, waited 59 min 29 s",
  ]);
  const article = extractArticle(files, "r-20261120-1");
  expect(article).toContain('href="rollouts/r-20261120-1.html#tenants">and 4 more');
  expect(article).toContain('href="tenants/t003.html"');
});

it("shows failures, changes and tenant outcomes on a rollout's page", () => {
  const files = generateFiles(site);
  const path = "rollouts/r-20261120-1.html";
  const lines = extractMainLines(files, path);
  const sliceAfterHeading = (heading: string, count: number): string[] => {
    const index = lines.findIndex((line) => line === heading || line.startsWith(`${heading} `));
    return lines.slice(index + 1, index + 1 + count);
  };
  expect(sliceAfterHeading("Failures", 4)).toEqual([
    "t003",
    "Wave all",
    "the service refuses the key ERR_AUTH",
    "Fix: Check the key; then continue: email-security rollout resume r-20261120-1.",
  ]);
  expect(sliceAfterHeading("Changes", 3)).toEqual(["-remove", "allow old.example", "in 10 tenants"]);
  expect(sliceAfterHeading("Changes not made, or only in part", 2)).toEqual(["-remove", "allow old.example in t003"]);
  expect(sliceAfterHeading("Not reverted", 2)).toEqual(["t002", "allow left.example"]);
  expect(sliceAfterHeading("Tenants", 10).slice(5)).toEqual(["t000", "canary", "changed", "+2 -1", "1 min 1 s"]);
  expect(lines).toContain("Unchanged, because they already matched: 1");
  expect(sliceAfterHeading("Timeline", 2)).toEqual([
    "2026-11-20 08:00 started by kim",
    "2026-11-20 08:00 wave canary: started",
  ]);
  const page = files.get(path) ?? "";
  for (const { name } of site.status.tenants) expect(page).toContain(`href="../tenants/${name}.html"`);
  // The source of a key is of no use to the site's readers.
  expect(page).not.toContain("SECRET_PLACE");
});

it.each([
  ["the summary of a tenant's plan", [...listValues(20), "and 80 more, among them 2 new allows"], []],
  ["the number of omitted lines", listValues(1_040), ["and 1,010 more, none more dangerous"]],
])("shows %s below the unreverted changes", (_, unreverted, more) => {
  if (stopped === undefined) throw new Error("no rollout");
  const report = {
    ...stopped.report,
    tenants: stopped.report.tenants.map((tenant) => ({ ...tenant, unreverted })).slice(0, 1),
  };
  const lines = extractMainLines(generateFiles(addRollouts([{ ...stopped, report }])), `rollouts/${report.id}.html`);
  const start = lines.findIndex((line) => line.startsWith("Not reverted"));
  const end = lines.findIndex((line) => line.startsWith("Tenants "));
  expect(lines.slice(start + 2, end)).toEqual([...unreverted.slice(0, 30), ...more]);
});

function listValues(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `allow v${index}.example`);
}

it("links a rollout and its rollback to each other", () => {
  const files = generateFiles(site);
  expect(extractMainLines(files, "rollouts/r-20261103-1.html")).toContain("Rolled back by r-20261105-1.");
  expect(files.get("rollouts/r-20261103-1.html")).toContain('href="../rollouts/r-20261105-1.html"');
  expect(files.get("rollouts/r-20261105-1.html")).toContain('href="../rollouts/r-20261103-1.html"');
});

it("says what the journal no longer has of a pruned rollout", () => {
  const files = generateFiles(site);
  const pruned = "Pruned on 2026-11-20: the journal no longer has its settings files, whole plans and tenants' steps.";
  expect(extractMainLines(files, "rollouts/r-20261103-1.html")).toContain(pruned);
  expect(extractMainLines(files, "rollouts.html").filter((line) => line === pruned)).toHaveLength(1);
});

it("doesn't link a tenant without a page", () => {
  const files = generateFiles({ ...site, status: { ...site.status, tenants: site.status.tenants.slice(1) } });
  expect(files.get("rollouts/r-20261120-1.html")).not.toContain("tenants/t000.html");
  expect(extractMainLines(files, "rollouts/r-20261120-1.html")).toContain("t000");
});

it.each([
  ["no journal", { ...site, rollouts: undefined }, "There was no rollout journal when the site was created."],
  ["no rollout", addRollouts([]), "The journal has no rollout of this project."],
])("creates no rollout page when there is %s", (_, data, text) => {
  const files = generateFiles(data);
  expect(extractMainLines(files, "rollouts.html")).toEqual(["Rollouts", text]);
  expect([...files.keys()].filter((path) => path.startsWith("rollouts/"))).toEqual([]);
});

it("creates pages for at most 100 rollouts", () => {
  if (stopped === undefined) throw new Error("no rollout");
  const rollouts = Array.from({ length: 100 }, (_, index) => ({
    ...stopped,
    report: { ...stopped.report, id: `r-${index}` },
  }));
  const files = generateFiles(addRollouts(rollouts, 7));
  expect([...files.keys()].filter((path) => path.startsWith("rollouts/"))).toHaveLength(100);
  expect(extractMainLines(files, "rollouts.html").at(-1)).toBe("and 7 older rollouts; rollout history lists them");
});

it("lists all tenants of a 1,000-tenant rollout in under 1 MB", () => {
  const large = generateSite({ tenants: 1_000, entries: 2, own: 1 });
  const page = generateFiles(large).get("rollouts/r-20261120-1.html") ?? "";
  expect(page).toContain("tenants/t999.html");
  expect(page.length).toBeLessThan(1_000_000);
});

it("renders a rollout without changes or tenants", () => {
  if (stopped === undefined) throw new Error("no rollout");
  const counts = { pending: 0, queued: 0, running: 0, unchanged: 0, done: 0, failed: 0, skipped: 0 };
  const { origin: _origin, ...rest } = stopped;
  const files = generateFiles(
    addRollouts([
      {
        ...rest,
        report: { ...stopped.report, id: "r-empty", counts, tenants: [], waves: [] },
        milestones: [],
        tenants: [],
      },
    ]),
  );
  expect(extractMainLines(files, "rollouts/r-empty.html")).toContain("No tenant was changed.");
  expect(extractMainLines(files, "rollouts.html")).toContain("No tenants");
});

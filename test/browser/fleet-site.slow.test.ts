import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HOSTILE } from "../support/hostile-text";
import { generateSite, WrittenSite } from "../support/site-fixture";
import { LOOKS, missingBrowser, startBrowser, Tab } from "./browser";
import { ServedDirectory } from "./served-directory";

const WIDE = { width: 1_400, scheme: "light" } as const;
/** The color schemes in which axe checks each page. Limited, because axe takes most of the time. */
const PAGES = {
  "index.html": ["light", "dark"],
  "attention.html": ["light"],
  "tenants.html": ["dark"],
  "rollouts.html": ["dark"],
  "rollouts/r-20261120-1.html": ["light", "dark"],
  "rollouts/r-20261103-1.html": ["light"],
  "tenants/t001.html": ["light"],
  "entry.html#shared0.example": ["dark"],
};

describe.skipIf(missingBrowser)(`the site of a fleet, in a browser ${missingBrowser ?? ""}`, () => {
  let browser: Browser;
  let site: WrittenSite;

  beforeAll(async () => {
    browser = await startBrowser();
    site = new WrittenSite(generateSite({ tenants: 12, entries: 20, own: 8 }));
  });

  afterAll(async () => {
    await browser?.close();
    site?.[Symbol.dispose]();
  });

  const getUrl = (page: string, { directory } = site): string => {
    const [file = "", ...rest] = page.split("#");
    return [pathToFileURL(join(directory, file)).href, ...rest].join("#");
  };

  const openPage = async (tab: Tab, page: string, openedSite = site): Promise<void> => {
    await tab.page.goto(getUrl(page, openedSite), { waitUntil: "load" });
  };

  /** Waits until every status region has text. */
  const waitForStatus = async ({ page }: Tab): Promise<void> => {
    await page.locator("[role=status]:empty").waitFor({ state: "detached" });
  };

  it.each(LOOKS)("passes page checks from files, $width px wide and $scheme", async (look) => {
    await using tab = await Tab.open(browser, look, getUrl(""));
    const problems: string[] = [];
    for (const [page, schemes] of Object.entries(PAGES)) {
      // Otherwise a different fragment would only navigate within the same page.
      await tab.page.goto("about:blank");
      await openPage(tab, page);
      await tab.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true");
      if (page === "index.html") await tab.page.locator("#search").fill("shared1");
      await waitForStatus(tab);
      await tab.savePicture(`fleet-${page}-${look.width}-${look.scheme}`);
      expect([...tab.fetched, ...tab.errors]).toEqual([]);
      const isWhole = (look === LOOKS.at(0) || look === LOOKS.at(-1)) && schemes.includes(look.scheme);
      for (const problem of isWhole ? await tab.findProblems() : await tab.findHorizontalScroll())
        problems.push(`${page}: ${problem}`);
      // Axe requests style sheets itself, which the page's policy blocks.
      tab.errors.length = 0;
    }
    expect(problems).toEqual([]);
  });

  it("finds allowed and denied entries by keyboard alone", async () => {
    await using tab = await Tab.open(browser, WIDE, getUrl(""));
    const { page } = tab;
    await openPage(tab, "index.html");
    await page.keyboard.press("/");
    await page.keyboard.type("hxxp://mail.shared0[.]example/");
    const status = page.locator("#search-status");
    // The status mentions tenants with incomplete data next to the results.
    const incompleteNotice =
      " There may be more: the files of t007 are invalid, so their declarations are unknown; t005 could not be read, so unmanaged entries there are unknown.";
    await status.filter({ hasText: "1 entry." }).waitFor();
    expect(await status.textContent()).toBe(`1 entry.${incompleteNotice}`);
    expect(await page.locator("#results h2").allTextContents()).toEqual([
      "Domains, wildcards and ranges that cover it",
    ]);
    expect(await page.locator(".hit p").allTextContents()).toEqual([
      "deny shared0.example",
      "Phishing seen in mail · ticket INC-3 · owner mail team",
      "settings/baseline.yaml:3",
      "in 8 tenants: t000, t002, t003, t006, t008, t009, t010, t011",
      "missing at the tenant, 1 tenant: t001",
      "to be added by the next rollout, 1 tenant: t004",
      "declared; the tenant could not be read, 1 tenant: t005",
    ]);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForURL(/entry\.html#shared0\.example$/);
    await page.locator("#entry-status").filter({ hasText: "1 entry of this value. There may be more" }).waitFor();
    const rows = page.locator("tbody tr");
    expect(await rows.count()).toBe(11);
    expect(await rows.first().locator("td").allTextContents()).toEqual([
      "t001",
      "missing at the tenant",
      "",
      "2 threats: 2 malicious; to 1 mailbox (1 VIP); the last on 2026-11-23",
    ]);
    await page.goBack();
    // The search term is in the URL.
    await status.filter({ hasText: "1 entry." }).waitFor();

    await page.locator("#search").fill("outlook.com");
    await status.filter({ hasText: "1 entry." }).waitFor();
    expect(await page.locator(".hit p").allTextContents()).toEqual([
      "allow outlook.com",
      "by hand",
      "not in any file",
      "unmanaged, 2 tenants: t001, t002",
    ]);
    await page.locator("label", { hasText: "Deny" }).click();
    // The entry is allowed. The message must not suggest that the filtered results are everything.
    await status.filter({ hasText: "No match in the selected list; choose All" }).waitFor();
    await page.locator("#search").fill("nobody.example");
    await status.filter({ hasText: "No match: no valid file declares it" }).waitFor();
    expect(await status.textContent()).toContain(incompleteNotice);
    await page.locator("#search").fill("");
    await page.locator("#search-status:empty").waitFor({ state: "attached" });
    expect(page.url()).toBe(getUrl("index.html"));
    expect([...tab.fetched, ...tab.errors]).toEqual([]);
  });

  it("filters tenants and their entries by text and option", async () => {
    await using tab = await Tab.open(browser, WIDE, getUrl(""));
    const { page } = tab;
    await openPage(tab, "index.html");
    await page.locator(".tallies a", { hasText: "drifted" }).click();
    const tenants = page.locator("#tenant-status");
    await tenants.filter({ hasText: "2 tenants of 12." }).waitFor();
    await page.locator("#tenant-filter").fill("t002");
    await tenants.filter({ hasText: "1 tenant of 12." }).waitFor();
    await page.locator("tbody a:visible").click();
    await page.waitForURL(/tenants\/t002\.html$/);
    const entries = page.locator("#entry-status");
    await entries.filter({ hasText: "22 entries of 22." }).waitFor();
    await page.locator("label", { hasText: "Different from the files" }).click();
    await entries.filter({ hasText: "1 entry of 22." }).waitFor();
    expect(await page.locator("#entries td").allTextContents()).toEqual([
      "allow",
      "outlook.com",
      "unmanaged, created by Kim Ito, 2026-11-22 16:11 UTC",
      "",
      "by hand",
      "",
      "no file",
    ]);
    await page.locator("label", { hasText: /^ ?All$/ }).click();
    await page.locator("#entry-filter").fill("own3.");
    await entries.filter({ hasText: "1 entry of 22." }).waitFor();
    expect(tab.errors).toEqual([]);
  });

  it("renders hostile text harmlessly when served over HTTP", async () => {
    const text = Object.values(HOSTILE).slice(0, -1).join(" ").toWellFormed();
    using hostile = new WrittenSite(generateSite({ tenants: 7, entries: 8, own: 4, text }));
    await using served = await ServedDirectory.open(hostile.directory);
    await using tab = await Tab.open(browser, { width: 400, scheme: "light" }, served.origin);
    for (const page of Object.keys(PAGES)) {
      await tab.page.goto("about:blank");
      await tab.page.goto(`${served.origin}/${page}`, { waitUntil: "load" });
      if (page === "index.html") await tab.page.locator("#search").fill("alert(1)");
      await waitForStatus(tab);
      expect({ page, beyond: await tab.findHorizontalScroll() }).toEqual({ page, beyond: [] });
      expect(await tab.page.evaluate("document.querySelectorAll('main script:not([type]), img').length")).toBe(0);
    }
    expect([...tab.fetched, ...tab.errors]).toEqual([]);
  });
});

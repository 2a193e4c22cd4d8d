import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import markdown from "markdown-it";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startSandbox } from "../../provider/sandbox";
import { createCli } from "../support/cli";
import { Fleet } from "../support/fleet";
import { click } from "../support/tenant-console";
import { createTestDirectory } from "../support/test-directory";
import { missingBrowser, startBrowser, Tab } from "./browser";

/*
 * The screenshots of the documentation, from real runs against the sandbox. To update them:
 *
 *   EMAIL_SECURITY_TEST_PICTURES=docs/public npx vitest run --mode all test/browser/screenshots.slow.test.ts
 */

/** The changes of the plan, for the scenario of a company that has entries, mail and VIPs already. */
const CHANGED = {
  "  - value: payroll-partner.example\n": `  - value: bulk.example.org
    comment: The supplier's newsletter
    ticket: CHG-77
    owner: Marcus Bell
    approvedBy: Dana Reyes
    expires: never
    acceptRisk: The newsletter comes from many mailboxes
  - value: payroll-partner.example
`,
  "deny:\n": `deny:
  - value: acme-login.example
    comment: Look-alike of our domain, INC-1042
`,
  "  - email: marcus.bell@acme.example\n": `  - email: lena.hartmann@acme.example
    comment: Releases payments
  - email: marcus.bell@acme.example
`,
};

const FLEET_NAMES = ["acme", "globex", "hooli", "initech", "soylent", "stark", "tyrell", "umbra", "wayne", "wonka"];

describe.skipIf(missingBrowser)(`screenshots of the documentation ${missingBrowser ?? ""}`, () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await startBrowser();
  });

  afterAll(async () => {
    await browser?.close();
  });

  const takeScreenshots = async (name: string, url: string, heading: string): Promise<void> => {
    for (const scheme of ["light", "dark"] as const) {
      await using tab = await Tab.open(browser, { width: 1_000, scheme }, "file:");
      await tab.page.goto(url, { waitUntil: "load" });
      expect(await tab.page.locator("body").textContent()).toContain(heading);
      expect([...(await tab.findHorizontalScroll()), ...tab.fetched, ...tab.errors]).toEqual([]);
      await tab.savePicture(`${name}-${scheme}`);
    }
  };

  const readExampleSettings = (name: string): string => readFileSync(join("examples/gitops/settings", name), "utf8");

  it("shows each report of a tenant", async () => {
    await using sandbox = await startSandbox({ scenario: "acme" });
    const acme = Object.entries(CHANGED).reduce(
      (text, [from, to]) => text.replace(from, to),
      readExampleSettings("acme.yaml"),
    );
    using directory = createTestDirectory({
      "settings/acme.yaml": acme,
      "settings/baseline.yaml": readExampleSettings("baseline.yaml"),
    });
    const run = createCli(directory.path, {
      PATH: process.env["PATH"],
      HOME: directory.path,
      EMAIL_SECURITY_BASE_URL: sandbox.url,
      EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
    });
    const plan = await run("plan", "settings/acme.yaml", "--format", "markdown");
    expect(plan).toMatchObject({ code: 2 });
    const host = new URL(sandbox.url).host;
    const showPage = async (name: string, page: string): Promise<void> => {
      directory.write(`${name}.html`, page.replaceAll(host, "mail-security.example"));
      await takeScreenshots(name, pathToFileURL(directory.at(`${name}.html`)).href, "bulk.example.org");
    };
    await showPage("plan-comment", renderComment(plan.stdout));

    await showPage("review", (await run("review", "settings/acme.yaml", "--format", "html")).stdout);

    directory.write("settings/acme.yaml", readExampleSettings("acme.yaml"));
    const [moved] = sandbox.allowDenyEntries("acme").filter(({ value }) => value === "acme-invoices.test");
    await click(sandbox, "PATCH", `/allow_deny_entries/${moved?.id}`, { list: "allow" });
    const added = { entry_type: "domain", value: "bulk.example.org", verdict_scope: "global" };
    await click(sandbox, "POST", "/allow_deny_entries", { ...added, list: "allow", comment: "Sales needs it today" });
    await showPage("drift", renderComment((await run("drift", "settings/acme.yaml", "--format", "markdown")).stdout));
  });

  it("shows the status of ten tenants", async () => {
    await using fleet = await Fleet.start({
      tenants: FLEET_NAMES.length,
      scenario: (name) => ({ name: FLEET_NAMES[Number(name.slice(1))] ?? name }),
    });
    const first = await fleet.runRollout("--yes");
    expect(first.code).toBe(0);
    await click(
      fleet.sandbox,
      "POST",
      "/allow_deny_entries",
      { list: "allow", entry_type: "domain", value: "evil.example", verdict_scope: "global" },
      fleet.names[3],
    );
    await fleet.writeBaseline(["invoices-portal.example", "e0.example"]);
    const site = await fleet.start({}, "fleet", "site", "public").result;
    expect(site.output).toContain("public");
    await takeScreenshots("fleet-site", pathToFileURL(join(fleet.directory, "public/index.html")).href, "evil.example");
  });
});

/** Renders Markdown in the way in which GitHub shows a comment. */
function renderComment(text: string): string {
  const body = markdown({ html: true })
    .render(text)
    .replaceAll(
      /<p>\[!(\w)(\w+)\]\s*/g,
      (_, first: string, rest: string) => `<p><b>${first}${rest.toLowerCase()}</b><p>`,
    );
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>Plan</title>
<style>
  :root { --text: #1f2328; --line: #d1d9e0; --head: #f6f8fa; --page: #fff }
  @media (prefers-color-scheme: dark) { :root { --text: #f0f6fc; --line: #3d444d; --head: #151b23; --page: #0d1117 } }
  body { margin: 24px; background: var(--page); color: var(--text); font: 14px/1.5 system-ui, "Liberation Sans", sans-serif }
  section { border: 1px solid var(--line); border-radius: 6px }
  header { padding: 8px 16px; border-bottom: 1px solid var(--line); background: var(--head); border-radius: 6px 6px 0 0 }
  article { padding: 0 16px }
  code { padding: 0.2em 0.4em; border-radius: 6px; background: var(--head); font: 85% ui-monospace, "DejaVu Sans Mono", monospace }
  table { border-collapse: collapse } th, td { padding: 6px 13px; border: 1px solid var(--line); text-align: left }
  h3, h4 { margin: 16px 0 8px } blockquote { margin: 0; padding: 0 1em; border-left: 4px solid var(--line) }
</style>
<body><section><header><b>github-actions</b> commented</header><article>${body}</article></section>`;
}

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findBreakouts } from "../../support/markdown-breakouts";
import { hasShell } from "../engine-setup/fake-toolchain";
import { NAMES, PlannedFleet } from "./plan-fleet";

/* The Markdown and HTML of an `email-security rollout` plan, over the sandbox. */

describe.skipIf(!hasShell)("a rollout plan for a pull request", () => {
  let fleet: PlannedFleet;

  beforeAll(async () => {
    fleet = await PlannedFleet.start();
  });

  afterAll(async () => {
    await fleet?.[Symbol.asyncDispose]();
  });

  it("reads a stack's state file instead of asking the CLI", async () => {
    fleet.writeStackState("held", { manifest: {}, resources: [] });
    expect(await fleet.runPlan(["--only", "held", "t0"])).toMatchObject({ code: 2 });
    const exports = fleet.calls.filter((call) => call.includes("export"));
    expect(new Set(exports)).toEqual(new Set(["--non-interactive stack export --stack t0"]));
  });

  it("shows a shared change once, with evidence from sampled tenants", async () => {
    const { code, stderr } = await fleet.runPlan(["--fail-on", "risk"]);
    const text = fleet.readFile("plan.md");
    expect(code).toBe(3);
    expect(stderr).toContain("Wrote plan.md, plan.html, with mail evidence of 5 of 7 tenants.");
    expect(stderr).toContain("the changes of 1 tenant are blocked by --fail-on risk");
    expect(text).toContain(
      "> [!CAUTION]\n> **Refused.** `--fail-on` refuses the changes of 1 tenant. 7 of 8 tenants would change, with 2 different changes: 1 dangerous.",
    );
    expect(text).toContain("Changes of this tenant are blocked by --fail-on risk.");
    expect(text).toContain("from 5 of 7 tenants with changes (`t0`, `t2`, `t3`, `t5` and `t6`). This is a sample");
    expect(text).toContain(`#### \`+\` add allow \`${fleet.sender}\` (mailbox, in \`t6\`)\n\n- **Mail:** **`);
    expect(text).toMatch(/- \*\*Mail:\*\* \*\*\d+ threats? in 30 days, \d+ malicious/);
    expect(text).toContain("- **Approval:** ticket `INC-9`\n- **Declared:** `settings/t6.yaml:4`\n");
    expect(text).toContain("`evil.example`<br>domain, in 7 of 8 tenants: group 1 | `Phishing` | ticket `INC-7`");
    expect(findBreakouts(text)).toEqual([]);
    // Three lists for each of eight tenants; for five of them the lists again, a page of threats and a page of reports.
    expect(fleet.sandbox.requests).toHaveLength(8 * 3 + 5 * 5);
    const mail = fleet.sandbox.requests.filter(({ path }) => path.endsWith("/threats"));
    expect(new Set(mail.map(({ tenant }) => tenant))).toEqual(new Set(["t0", "t2", "t3", "t5", "t6"]));
    const page = fleet.readFile("plan.html");
    for (const name of NAMES) expect(page).toContain(`<bdi class="untrusted">${name}</bdi>`);
    expect(page).toContain("&#60;b&#62;");
    expect(page).not.toContain("<b>@");
    const [digest] = /`r2-[0-9a-f]+`/.exec(text) ?? [];
    expect(page).toContain(`Digest <code>${digest?.slice(1, -1)}</code>`);
  });
});

import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { type CommandOutcome, emailSecurity } from "../../support/command";
import { breakoutsIn } from "../../support/markdown-breakouts";
import { clickedEntry, tenantWith } from "../../support/scenario-tenant";
import { chiefOf } from "../../support/two-tenants";
import { hasShell, Workshop } from "../engine-setup/workshop";

/*
 * What `email-security rollout --markdown` and `--html` say of a plan, over the sandbox, with a Pulumi that has no stacks.
 */

const NAMES = ["t0", "t1", "t2", "t3", "t4", "t5", "t6", "held"] as const;

describe.skipIf(!hasShell)("a rollout's plan for a pull request", () => {
  let sandbox: Sandbox;
  let workshop: Workshop;
  /** Who sent t6 something malicious. */
  let sender: string;

  beforeAll(async () => {
    sandbox = await startSandbox({
      scenario: {
        name: "mail",
        tenants: NAMES.map((name) => ({
          ...tenantWith(name, name === "held" ? [clickedEntry("deny", "evil.example", "Phishing")] : []),
          employees: [chiefOf("fleet.example", `ceo-${name}`)],
          threats: name === "t6" ? 300 : 0,
        })),
      },
    });
    const malicious = sandbox.threats("t6").find(({ verdict }) => verdict === "malicious");
    sender = String(malicious?.sender_email);
    workshop = new Workshop();
    workshop.write(
      "settings/baseline.yaml",
      "version: 1\ndeny:\n  - { value: evil.example, comment: Phishing, ticket: INC-7, owner: Dana Reyes }\n",
    );
    for (const name of NAMES) {
      workshop.write(
        `settings/${name}.yaml`,
        `version: 1\ninclude: [baseline.yaml]\n${name === "t6" ? `allow:\n  - { value: ${sender}, comment: "@all ![](http://x.example) <b>", ticket: INC-9 }\n` : ""}`,
      );
    }
    workshop.write(
      "tenants.yaml",
      `version: 1\nproject: fleet\ndefaults: { baseUrl: "${sandbox.url}", allowInsecureHttp: true, key: { environment: "{NAME}_KEY" }, settings: "settings/{name}.yaml" }\ntenants:\n${NAMES.map((name) => `  ${name}: {}\n`).join("")}waves: [{ name: first, take: 1 }, { name: rest }]\n`,
    );
    mkdirSync(join(workshop.folder, "state"));
    workshop.program(
      "pulumi",
      `case "$*" in version) echo v3.300.0 ;; *"stack ls"*) echo '[]' ;; *) echo "error: no stack named 'x' found" >&2; exit 255 ;; esac`,
    );
    for (const host of ["pulumi-language-nodejs", "pulumi-resource-pulumi-nodejs"])
      workshop.program(host, "");
  });

  afterAll(async () => {
    workshop[Symbol.dispose]();
    await sandbox.close();
  });

  const plan = async (...args: string[]): Promise<CommandOutcome> => {
    sandbox.clearRequests();
    return await emailSecurity(
      workshop.folder,
      ["rollout", "tenants.yaml", "--markdown", "plan.md", "--html", "plan.html", ...args],
      {
        ...workshop.env,
        PULUMI_BACKEND_URL: `file://${workshop.folder}/state`,
        PULUMI_CONFIG_PASSPHRASE: "",
        ...Object.fromEntries(
          sandbox.tenants.map(({ name, apiKeys }) => [`${name.toUpperCase()}_KEY`, apiKeys.ci]),
        ),
        EMAIL_SECURITY_KEY_VARIABLES: NAMES.map((name) => `${name.toUpperCase()}_KEY`).join(","),
      },
    );
  };
  const written = (file: string): string => readFileSync(join(workshop.folder, file), "utf8");

  it("tells a change of many once, and asks the mail of a sample in which each change is", async () => {
    const { code, stderr } = await plan("--fail-on", "risk");
    const text = written("plan.md");
    expect(code).toBe(3);
    expect(stderr).toContain("the changes of 1 tenant are refused by --fail-on risk");
    expect(text).toContain(
      "> [!CAUTION]\n> **Danger.** 7 of 8 tenants would change, by 2 different changes: 1 dangerous.",
    );
    expect(text).toContain(
      "of 5 of 7 tenants in which something changes was looked at (`t0`, `t2`, `t3`, `t5` and `t6`), a sample",
    );
    expect(text).toContain(`#### \`+\` add allow \`${sender}\` (mailbox, in \`t6\`)\n\n- **Mail:** **`);
    expect(text).toMatch(/- \*\*Mail:\*\* \*\*\d+ threats? in 30 days, \d+ malicious/);
    expect(text).toContain("- **Asked for:** ticket `INC-9`\n- **Declared:** `settings/t6.yaml:4`\n");
    expect(text).toContain(
      "`evil.example`<br>domain, in 7 of 8 tenants: group 1 | `Phishing` | ticket `INC-7`",
    );
    expect(breakoutsIn(text)).toEqual([]);
    // Each tenant's three lists; of five these and a page of threats and of reports.
    expect(sandbox.requests).toHaveLength(8 * 3 + 5 * 5);
    const mail = sandbox.requests.filter(({ path }) => path.endsWith("/threats"));
    expect(new Set(mail.map(({ tenant }) => tenant))).toEqual(new Set(["t0", "t2", "t3", "t5", "t6"]));
    const page = written("plan.html");
    for (const name of NAMES) expect(page).toContain(`<bdi class="given">${name}</bdi>`);
    expect(page).toContain("&#60;b&#62;");
    expect(page).not.toContain("<b>@");
    const [digest] = /`r2-[0-9a-f]+`/.exec(text) ?? [];
    expect(page).toContain(`Digest <code>${digest?.slice(1, -1)}</code>`);
  });

  it("asks every tenant's mail, or none's, as it is told; the digest is the same", async () => {
    const all = await plan("--evidence", "all");
    expect(all.code).toBe(2);
    expect(sandbox.requests).toHaveLength(8 * 3 + 7 * 5);
    const told = written("plan.md");
    expect(told).toContain(
      "The mail of the last 30 days of all 7 tenants in which something changes was looked at",
    );
    const none = await plan("--evidence", "none");
    expect(none.code).toBe(2);
    expect(sandbox.requests).toHaveLength(8 * 3);
    expect(written("plan.md")).toContain("> **No finding.** 7 of 8 tenants would change");
    expect(written("plan.md")).toContain("The tenants' mail was not looked at.");
    expect(written("plan.md").split("Digest").at(-1)).toBe(told.split("Digest").at(-1));
  });

  it("refuses to ask for mail that nothing would tell of", async () => {
    const { code, stderr } = await plan("--evidence", "all", "--yes");
    expect([code, sandbox.requests.length]).toEqual([1, 0]);
    expect(stderr).toContain("--evidence is told in the --markdown or --html of a plan");
  });
});

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { readSettings } from "../../../provider/settings-files/read-settings";
import { createCli } from "../../support/cli";
import { click } from "../../support/tenant-console";
import { FakeToolchain, hasShell } from "../engine-setup/fake-toolchain";

const BASELINE = "version: 1\ndeny:\n  - { value: bulk.example, comment: for all }\n  - all.example\n";
const SETTINGS = `version: 1
include: [../baseline.yaml]
lists: { entries: { maxRemovalFraction: 0.5 } }
vips:
  - { email: "samuel.okoro@acme.example", comment: Signs payments }
  - marcus.bell@acme.example # asked for it
allow:
  - { value: partner.example, ticket: INC-1, approvedBy: lena@acme.example }
deny:
  - value: flood.example # INC-7
    comment: Newsletter flood
  - kept.example   # as it was
  # why
  - ended.example
`;

/** A sandbox tenant as after the last run of its stack, and a fake `pulumi` that returns the stack's state. */
class AppliedTenant extends FakeToolchain {
  readonly work = join(this.directory, "work");
  readonly file = join(this.work, "settings/acme.yaml");
  readonly #sandbox: Sandbox;

  constructor(sandbox: Sandbox) {
    super();
    this.#sandbox = sandbox;
    this.write("work/settings/acme.yaml", SETTINGS);
    this.write("work/baseline.yaml", BASELINE);
    this.runGit("init", "--quiet", "--initial-branch=main");
    const { entries, vips } = readSettings(this.file);
    const type = "email-security:index:TenantSettings";
    const buildListState = (name: string, kind: string, outputs: object) => ({
      urn: `urn:pulumi:acme::mail::${type}$email-security:index:${kind}::acme`,
      type: `email-security:index:${kind}`,
      inputs: {},
      outputs: { [name]: outputs },
    });
    const indexTexts = (all: typeof entries | typeof vips) =>
      Object.fromEntries(all.map(({ key, text }) => [key, text]));
    const resources = [
      { urn: `urn:pulumi:acme::mail::${type}::acme`, type },
      buildListState("entries", "AllowDenyList", indexTexts(entries)),
      buildListState("members", "VipList", indexTexts(vips)),
    ];
    const state = this.write("state.json", JSON.stringify({ version: 3, deployment: { resources } }));
    for (const host of ["pulumi-language-nodejs", "pulumi-resource-pulumi-nodejs"]) this.addProgram(host, "");
    this.addProgram(
      "pulumi",
      `case "$*" in
  version) echo v3.300.0 ;;
  *"stack export"*) cat "${state}" ;;
  *) echo "$*" >&2; exit 1 ;;
esac`,
    );
    for (const args of [
      ["config", "user.name", "Dana"],
      ["config", "user.email", "dana@acme.example"],
      ["add", "--all"],
      ["commit", "--quiet", "--message=first"],
    ])
      this.runGit(...args);
  }

  async run(...args: string[]) {
    return await createCli(this.work, {
      ...this.env,
      EMAIL_SECURITY_BASE_URL: this.#sandbox.url,
      EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
    })("drift", "settings/acme.yaml", ...args);
  }

  async plan() {
    return await createCli(this.work, {
      ...this.env,
      EMAIL_SECURITY_BASE_URL: this.#sandbox.url,
      EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
    })("plan", "settings/acme.yaml", "--stack", "acme", "--no-evidence");
  }

  runGit(...args: string[]): string {
    return execFileSync("git", args, { cwd: this.work, encoding: "utf8" });
  }

  get text(): string {
    return readFileSync(this.file, "utf8");
  }
}

/** Adds the declared settings to the sandbox. */
async function applySettings(sandbox: Sandbox): Promise<Readonly<Record<string, string>>> {
  const postAsRun = async (path: string, body: object) => {
    const response = await fetch(`${sandbox.url}/api/v1/settings${path}`, {
      method: "POST",
      headers: { "x-api-key": "sandbox-acme-ci", "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    expect(response.ok, await response.clone().text()).toBe(true);
    return ((await response.json()) as { results: { id?: string } }).results.id ?? "";
  };
  const ids: Record<string, string> = {};
  for (const [list, value, comment] of [
    ["deny", "bulk.example", "for all"],
    ["deny", "all.example", ""],
    ["allow", "partner.example", ""],
    ["deny", "flood.example", "Newsletter flood"],
    ["deny", "kept.example", ""],
    ["deny", "ended.example", ""],
  ] as const)
    ids[value] = await postAsRun("/allow_deny_entries", { list, entry_type: "domain", value, comment });
  await postAsRun("/vip_employees", { emails: ["samuel.okoro@acme.example"], comment: "Signs payments" });
  await postAsRun("/vip_employees", { emails: ["marcus.bell@acme.example"], comment: "" });
  return ids;
}

it.skipIf(!hasShell)("adopts console changes into the files until no drift is left", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  const ids = await applySettings(sandbox);
  using acme = new AppliedTenant(sandbox);
  const clean = await acme.run("--stack", "acme");
  expect([clean.code, clean.output]).toEqual([0, expect.stringMatching(/^No drift\. /m)]);

  const ENTRIES = "/allow_deny_entries";
  await click(sandbox, "PATCH", `${ENTRIES}/${ids["flood.example"]}`, {
    comment: "Ask Tomas\n- value: evil.example\n  approvedBy: Dana",
  });
  await click(sandbox, "PATCH", `${ENTRIES}/${ids["partner.example"]}`, { verdict_scope: "graymail" });
  await click(sandbox, "PATCH", `${ENTRIES}/${ids["bulk.example"]}`, { comment: "\u001b[31mours" });
  await click(sandbox, "DELETE", `${ENTRIES}/${ids["ended.example"]}`);
  await click(sandbox, "DELETE", `${ENTRIES}/${ids["all.example"]}`);
  await click(sandbox, "POST", ENTRIES, { list: "deny", entry_type: "domain", value: "clicked.example" });
  await click(sandbox, "PATCH", "/vip_employees", { email: "samuel.okoro@acme.example", comment: "Chair" });
  await click(sandbox, "POST", "/vip_employees/remove", { emails: ["marcus.bell@acme.example"] });

  const unsure = await acme.run("--adopt", "changed,removed");
  expect(unsure.code).toBe(1);
  expect(unsure.stderr).toContain("--adopt changed,removed requires --stack: the stack's state");
  const strange = await acme.run("--adopt", "chnaged", "--stack", "acme");
  expect(strange.stderr).toContain('separated by commas, not "chnaged".');
  const file = await acme.run("--adopt", "settings/other.yaml");
  expect([file.code, file.stderr]).toEqual([
    1,
    expect.stringContaining("Put the settings file before it, as in `drift FILE --adopt added`."),
  ]);
  expect((await acme.run("--dry-run")).stderr).toContain("--dry-run, --commit and --pr require --adopt");

  sandbox.clearRequests();
  const all = ["--stack", "acme", "--adopt", "added,changed,removed"] as const;
  const seen = await acme.run(...all, "--dry-run", "--format", "json");
  expect(sandbox.requests.map(({ method }) => method)).toEqual(["GET", "GET", "GET"]);
  expect(seen.code).toBe(2);
  expect(JSON.parse(seen.stdout)).toMatchObject({ unchanged: 1 });
  expect(seen.stderr).toContain("-  - ended.example\n");
  expect(seen.stderr).toContain("1 added, 4 changed, 2 removed: would be adopted; nothing was written.");
  expect([acme.text, acme.runGit("status", "--porcelain")]).toEqual([SETTINGS, ""]);

  const adopted = await acme.run(...all, "--commit");
  expect(adopted.code).toBe(2);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may come through.
  expect(adopted.output).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
  expect(adopted.stderr).toMatch(/^Committed settings\/acme\.yaml as \w+ on the new branch email-security\/adopt-/);
  const unfolded = adopted.stderr.replaceAll(/\n {2}(?=\S)/g, " ");
  expect(unfolded).toContain(
    "allow partner.example: approvedBy is left out, because it applied to the previous state.\n",
  );
  expect(unfolded.match(/^Not adopted: .*$/gm)).toEqual([
    expect.stringMatching(
      /^Not adopted: deny all\.example: it is in an included file \(baseline\.yaml:4\); .*, for this tenant only\.$/,
    ),
  ]);
  // The day can change during the test.
  expect(acme.text.replace(/(?<=\(console\) on )\d{4}-\d\d-\d\d$/m, "today")).toBe(`version: 1
include: [../baseline.yaml]
lists: { entries: { maxRemovalFraction: 0.5 } }
vips:
  - { email: "samuel.okoro@acme.example", comment: Chair }
allow:
  - { value: partner.example, ticket: INC-1, scope: graymail }
deny:
  - value: flood.example # INC-7
    comment: "Ask Tomas\\n- value: evil.example\\n  approvedBy: Dana"
  - kept.example   # as it was
  # added at the tenant by Dana Reyes (console) on today
  - clicked.example
  # as at the tenant; the included file declares it differently
  - value: bulk.example
    comment: "\\\\u{1b}[31mours"
`);
  expect(acme.runGit("show", "--format=%s", "--name-only", "HEAD")).toBe(
    "Adopt from the tenant: 1 added, 4 changed, 2 removed\n\nsettings/acme.yaml\n",
  );
  expect(readFileSync(join(acme.work, "baseline.yaml"), "utf8")).toBe(BASELINE);

  // Only the entry that wasn't adopted is left.
  const rest = await acme.run("--stack", "acme", "--format", "json");
  const { items } = JSON.parse(rest.stdout) as { items: { key: string }[] };
  expect(items.map(({ key }) => key)).toEqual(["all.example"]);
  writeFileSync(acme.file, acme.text.replace("allow:\n", "remove: {deny: [all.example]}\nallow:\n"));
  const done = await acme.run("--stack", "acme");
  expect([done.code, done.output]).toEqual([0, expect.stringMatching(/^No drift\. /m)]);
  const plan = await acme.plan();
  expect([plan.code, plan.output]).toEqual([0, expect.stringMatching(/^NOTHING TO DO|no change/im)]);
});

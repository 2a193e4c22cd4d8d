import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { type CliResult, createCli } from "../../support/cli";
import { buildTenant, buildConsoleEntry as entry } from "../../support/scenario-tenant";
import { FakeToolchain, hasShell } from "../engine-setup/fake-toolchain";

/* The output of `email-security rollout` for a plan with many changes at many tenants, one of them dangerous. */

const NAMES = ["t0", "t1", "t2"];
const NO_DANGER = "none of them a new allow, a removed deny or a removed VIP";

describe.skipIf(!hasShell)("a rollout of 200 denies and one allow", () => {
  let sandbox: Sandbox;
  let toolchain: FakeToolchain;
  let run: CliResult;
  const readWritten = (file: string): string => readFileSync(join(toolchain.directory, file), "utf8");

  beforeAll(async () => {
    sandbox = await startSandbox({
      scenario: {
        name: "long",
        tenants: NAMES.map((name) => buildTenant(name, [entry("deny", "turned.example")])),
      },
    });
    toolchain = new FakeToolchain();
    const denies = Array.from({ length: 200 }, (_, index) => `  - a${index}.example\n`).join("");
    toolchain.write("settings/baseline.yaml", `version: 1\ndeny:\n${denies}`);
    for (const name of NAMES) {
      const own = name === "t2" ? "allow: [turned.example]\n" : "deny: [turned.example]\n";
      toolchain.write(
        `settings/${name}.yaml`,
        `version: 1\ninclude: [baseline.yaml]\nlists: { entries: { adopt: true } }\n${own}`,
      );
    }
    toolchain.write(
      "tenants.yaml",
      `version: 1\nproject: fleet\ndefaults: { baseUrl: "${sandbox.url}", allowInsecureHttp: true, key: { environment: "{NAME}_KEY" }, settings: "settings/{name}.yaml" }\ntenants:\n${NAMES.map((name) => `  ${name}: {}\n`).join("")}waves: [{ name: all }]\n`,
    );
    mkdirSync(join(toolchain.directory, "state"));
    for (const host of ["pulumi-language-nodejs", "pulumi-resource-pulumi-nodejs"]) toolchain.addProgram(host, "");
    toolchain.addProgram(
      "pulumi",
      `case "$*" in version) echo v3.300.0 ;; *"stack ls"*) echo '[]' ;; *) echo "error: no stack named 'x' found" >&2; exit 255 ;; esac`,
    );
    run = await createCli(toolchain.directory, {
      ...toolchain.env,
      PULUMI_BACKEND_URL: `file://${toolchain.directory}/state`,
      PULUMI_CONFIG_PASSPHRASE: "",
      ...Object.fromEntries(sandbox.tenants.map(({ name, apiKeys }) => [`${name.toUpperCase()}_KEY`, apiKeys.ci])),
      EMAIL_SECURITY_KEY_VARIABLES: NAMES.map((name) => `${name.toUpperCase()}_KEY`).join(","),
    })("rollout", "tenants.yaml", "--output", "plan.md", "--output", "report.json");
  });

  afterAll(async () => {
    toolchain?.[Symbol.dispose]();
    await sandbox?.close();
  });

  it("shows the allow first on a terminal", () => {
    expect(run.code, run.output).toBe(2);
    const changes = run.stdout.split("\n").filter((line) => /^ {2}[+~-] /.test(line));
    expect(changes).toHaveLength(20);
    expect(changes[0]).toBe("  ~ deny → allow turned.example in t2");
    expect(run.stdout.replaceAll(/\s+/g, " ")).toContain(
      `… and 543 more changes, counted in each tenant, ${NO_DANGER}. All of one tenant:`,
    );
  });

  it("shows the allow first in a pull request comment", () => {
    const rows = readWritten("plan.md")
      .split("\n")
      .filter((line) => /^\| `[+~-]`/.test(line));
    expect(rows[0]).toMatch(/^\| `~` change deny → allow<br>`turned\.example`/);
  });

  it("lists the allow first in the truncated JSON report", () => {
    const { tenants } = JSON.parse(readWritten("report.json")) as {
      tenants: { name: string; changes: { list?: string; value: string }[] }[];
    };
    const { changes = [] } = tenants.find(({ name }) => name === "t2") ?? {};
    expect(changes).toHaveLength(20);
    expect(changes[0]).toMatchObject({ operation: "change", list: "deny → allow", value: "turned.example" });
  });
});

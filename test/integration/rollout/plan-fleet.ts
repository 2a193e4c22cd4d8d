import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { type CliResult, runCli } from "../../support/cli";
import { buildConsoleEntry, buildTenant } from "../../support/scenario-tenant";
import { buildExecutive } from "../../support/two-tenants";
import { FakeToolchain } from "../engine-setup/fake-toolchain";

export const NAMES = ["t0", "t1", "t2", "t3", "t4", "t5", "t6", "held"] as const;

/**
 * Eight sandbox tenants that get a deny from the baseline, except `held`, which already has it. `t6` also gets an allow
 * for a sender of malicious mail. Pulumi has no stacks.
 */
export class PlannedFleet implements AsyncDisposable {
  readonly sandbox: Sandbox;
  /** The sender of malicious mail to `t6`. */
  readonly sender: string;
  readonly #toolchain: FakeToolchain;

  private constructor(sandbox: Sandbox, toolchain: FakeToolchain, sender: string) {
    this.sandbox = sandbox;
    this.sender = sender;
    this.#toolchain = toolchain;
  }

  static async start(): Promise<PlannedFleet> {
    const sandbox = await startSandbox({
      scenario: {
        name: "mail",
        tenants: NAMES.map((name) => ({
          ...buildTenant(name, name === "held" ? [buildConsoleEntry("deny", "evil.example", "Phishing")] : []),
          employees: [buildExecutive("fleet.example", `ceo-${name}`)],
          threats: name === "t6" ? 300 : 0,
        })),
      },
    });
    const malicious = sandbox.threats("t6").find(({ verdict }) => verdict === "malicious");
    const sender = String(malicious?.sender_email);
    const toolchain = new FakeToolchain();
    toolchain.write(
      "settings/baseline.yaml",
      "version: 1\ndeny:\n  - { value: evil.example, comment: Phishing, ticket: INC-7, owner: Dana Reyes }\n",
    );
    for (const name of NAMES) {
      toolchain.write(
        `settings/${name}.yaml`,
        `version: 1\ninclude: [baseline.yaml]\n${name === "t6" ? `allow:\n  - { value: ${sender}, comment: "@all ![](http://x.example) <b>", ticket: INC-9 }\n` : ""}`,
      );
    }
    toolchain.write(
      "tenants.yaml",
      `version: 1\nproject: fleet\ndefaults: { baseUrl: "${sandbox.url}", allowInsecureHttp: true, key: { environment: "{NAME}_KEY" }, settings: "settings/{name}.yaml" }\ntenants:\n${NAMES.map((name) => `  ${name}: {}\n`).join("")}waves: [{ name: first, limit: 1 }, { name: rest }]\n`,
    );
    mkdirSync(join(toolchain.directory, "state"));
    toolchain.addProgram(
      "pulumi",
      `echo "$*" >>"${toolchain.directory}/calls.txt"; case "$*" in version) echo v3.300.0 ;; *"stack ls"*--all*) cat "${toolchain.directory}/stacks.json" ;; *"stack ls"*) echo '[]' ;; *) echo "error: no stack named 'x' found" >&2; exit 255 ;; esac`,
    );
    toolchain.write("stacks.json", "[]");
    for (const host of ["pulumi-language-nodejs", "pulumi-resource-pulumi-nodejs"]) toolchain.addProgram(host, "");
    return new PlannedFleet(sandbox, toolchain, sender);
  }

  /**
   * Plans, and writes `plan.md` and `plan.html`.
   *
   * @param environment variables that a run gets in addition, or that replace its own.
   */
  async runPlan(args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<CliResult> {
    this.sandbox.clearRequests();
    const files = ["--output", "plan.md", "--output", "plan.html"];
    return await this.run(["rollout", "tenants.yaml", ...files, ...args], environment);
  }

  /**
   * Runs a command.
   *
   * @param environment variables that a run gets in addition, or that replace its own.
   */
  async run(args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<CliResult> {
    const { sandbox } = this;
    const toolchain = this.#toolchain;
    return await runCli(toolchain.directory, args, {
      ...toolchain.env,
      PULUMI_BACKEND_URL: `file://${toolchain.directory}/state`,
      PULUMI_CONFIG_PASSPHRASE: "",
      ...Object.fromEntries(sandbox.tenants.map(({ name, apiKeys }) => [`${name.toUpperCase()}_KEY`, apiKeys.ci])),
      EMAIL_SECURITY_KEY_VARIABLES: NAMES.map((name) => `${name.toUpperCase()}_KEY`).join(","),
      ...environment,
    });
  }

  get directory(): string {
    return this.#toolchain.directory;
  }

  /** Writes a tenant's stack state, as the CLI stores it in a directory. */
  writeStackState(name: string, deployment: object): void {
    const toolchain = this.#toolchain;
    toolchain.write("state/.pulumi/meta.yaml", "version: 1\n");
    const state = { version: 3, checkpoint: { stack: `organization/fleet/${name}`, latest: deployment } };
    toolchain.write(`state/.pulumi/stacks/fleet/${name}.json`, JSON.stringify(state));
  }

  /**
   * Adds a stack without a tenant to the project, with the declarations of its `TenantSettings`: `{ "evil.example":
   * "deny" }`.
   */
  addOrphanedStack(name: string, entries: Record<string, string>): void {
    this.#toolchain.write("stacks.json", JSON.stringify([{ name: `organization/fleet/${name}` }]));
    const parent = "email-security:index:TenantSettings";
    const type = "pulumi-nodejs:dynamic/email-security:AllowDenyList";
    const buildListUrn = (types: string): string => `urn:pulumi:${name}::fleet::${types}::${name}`;
    this.writeStackState(name, {
      manifest: {},
      resources: [
        { urn: buildListUrn(parent), type: parent },
        { urn: buildListUrn(`${parent}$${type}`), type, outputs: { entries } },
      ],
    });
  }

  /** The calls of Pulumi's CLI so far. */
  get calls(): readonly string[] {
    return this.readFile("calls.txt").trim().split("\n");
  }

  readFile(file: string): string {
    return readFileSync(join(this.#toolchain.directory, file), "utf8");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#toolchain[Symbol.dispose]();
    await this.sandbox.close();
  }
}

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type Sandbox, type SandboxOptions, startSandbox } from "../../provider/sandbox";
import { type Cli, type CliResult, createCli } from "../support/cli";
import { EngineProject } from "../support/engine-project";
import { type FaultyProxy, startFaultyProxy } from "../support/faulty-proxy";

export const PROGRAM = `
import { TenantSettings } from "pulumi-email-security";
new TenantSettings("acme", { file: "settings/acme.yaml" });
`;

export const BASELINE = `version: 1
deny:
  - value: evil.example
    comment: INC-7
  - noisy.example
`;

/** The VIP and the allow entry that the tenant's own file declares. */
export const OWN = `vips:
  - email: lena.hartmann@acme.example
    comment: Releases payments
allow:
  - value: partner.example
    comment: Contract 2026-114
    expires: never
`;

export const SETTINGS = `version: 1
include: [baseline.yaml]
remove:
  deny: [noisy.example]
${OWN}`;

/** A project with settings files, its tenant, and the command to apply the files. */
export class SettingsProject implements AsyncDisposable {
  readonly sandbox: Sandbox;
  /** The proxy between all clients and the service. */
  readonly proxy: FaultyProxy;
  readonly project: EngineProject;
  readonly cli: Cli;

  private constructor(sandbox: Sandbox, proxy: FaultyProxy, project: EngineProject) {
    this.sandbox = sandbox;
    this.proxy = proxy;
    this.project = project;
    this.cli = createCli(project.directory, project.environment);
  }

  static async create(options: SandboxOptions = {}, { native = false } = {}): Promise<SettingsProject> {
    const sandbox = await startSandbox({ scenario: "empty", ...options });
    const proxy = await startFaultyProxy({ target: sandbox.url });
    const environment = { EMAIL_SECURITY_BASE_URL: proxy.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" };
    const project = await EngineProject.create({
      program: native ? PROGRAM.replace("pulumi-email-security", "pulumi-email-security/native") : PROGRAM,
      plugin: native,
      environment,
    });
    await mkdir(join(project.directory, "settings"));
    await project.writeFile("settings/baseline.yaml", BASELINE);
    const settingsProject = new SettingsProject(sandbox, proxy, project);
    await settingsProject.declare(SETTINGS);
    return settingsProject;
  }

  /** Replaces the tenant's settings file. */
  async declare(settings: string): Promise<void> {
    await this.project.writeFile("settings/acme.yaml", settings);
  }

  /** Plans the tenant's settings file for its stack. */
  async plan(...more: string[]): Promise<CliResult> {
    return await this.cli("plan", "settings/acme.yaml", "--stack", "dev", "--no-evidence", ...more);
  }

  /** Applies the file to the stack, without a prompt. */
  async apply(...more: string[]): Promise<CliResult> {
    return await this.cli("apply", "settings/acme.yaml", "--stack", "dev", "--yes", ...more);
  }

  /** Returns the entries and VIPs of the tenant, except automatically detected VIPs. */
  listContents(): string[] {
    const entries = this.sandbox.allowDenyEntries("acme");
    const vips = this.sandbox.vips("acme").filter(({ source }) => source === "manual");
    return [
      ...entries.map(({ list, value, comment }) => `${list} ${value} ${comment}`.trim()),
      ...vips.map(({ email, comment }) => `VIP ${email} ${comment}`),
    ];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.project[Symbol.asyncDispose]();
    await this.proxy[Symbol.asyncDispose]();
    await this.sandbox.close();
  }
}

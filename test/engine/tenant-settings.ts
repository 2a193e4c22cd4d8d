import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { type Sandbox, type SandboxOptions, startSandbox } from "../../provider/sandbox";
import { type CommandLine, commandLine } from "../support/command-line";
import { EngineProject } from "../support/engine-project";

export const PROGRAM = `
import { TenantSettings } from "pulumi-email-security";
new TenantSettings("acme", { file: "settings/acme.yaml" });
`;

const BASELINE = `version: 1
deny:
  - value: evil.example
    comment: INC-7
  - noisy.example
`;

export const SETTINGS = `version: 1
include: [baseline.yaml]
remove:
  deny: [noisy.example]
vips:
  - email: lena.hartmann@acme.example
    comment: Releases payments
allow:
  - value: partner.example
    comment: Contract 2026-114
    expires: never
`;

/** A project with settings files, the tenant that they are for, and the command by which both come together. */
export class SettingsProject implements AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly project: EngineProject;
  readonly cli: CommandLine;

  private constructor(sandbox: Sandbox, project: EngineProject) {
    this.sandbox = sandbox;
    this.project = project;
    this.cli = commandLine(project.folder, project.environment);
  }

  static async create(options: SandboxOptions = {}): Promise<SettingsProject> {
    const sandbox = await startSandbox({ scenario: "empty", ...options });
    const environment = { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" };
    const project = await EngineProject.create({ program: PROGRAM, environment });
    await mkdir(join(project.folder, "settings"));
    await project.writeFile("settings/baseline.yaml", BASELINE);
    const made = new SettingsProject(sandbox, project);
    await made.declare(SETTINGS);
    return made;
  }

  /** Replaces the tenant's file. */
  async declare(settings: string): Promise<void> {
    await this.project.writeFile("settings/acme.yaml", settings);
  }

  /** The requests of the tenant's log that were no reads. */
  writes(): string[] {
    return this.sandbox.requests
      .filter(({ method }) => method !== "GET")
      .map(({ method, path }) => `${method} ${path.replace("/api/v1/settings", "")}`);
  }

  /** What the tenant holds that it has not detected by itself. */
  held(): string[] {
    const entries = this.sandbox.allowDenyEntries("acme");
    const vips = this.sandbox.vips("acme").filter(({ source }) => source === "manual");
    return [
      ...entries.map(({ list, value, comment }) => `${list} ${value} ${comment}`.trim()),
      ...vips.map(({ email, comment }) => `VIP ${email} ${comment}`),
    ];
  }

  /** A colleague's request in the console. */
  async click(method: string, path: string, body: unknown): Promise<void> {
    const response = await fetch(`${this.sandbox.url}/api/v1/settings${path}`, {
      method,
      headers: { "x-api-key": "sandbox-acme-console", "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`the console was answered ${response.status}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.project[Symbol.asyncDispose]();
    await this.sandbox.close();
  }
}

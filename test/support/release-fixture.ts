import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { cp, glob, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Sandbox, SandboxError, type SandboxOptions, startSandbox } from "../../provider/sandbox";
import { type Cli, createCli } from "./cli";
import { EngineProject, PLUGIN_LINES } from "./engine-project";

/** The files that users of earlier releases have: one directory per release. */
const RELEASES = resolve("test/fixtures/releases");

/*
 * State, journals and plans contain the service's address, and journals also the state's location, so both must never
 * change. The port also works as a lock on the directory. It is below the range that systems assign automatically.
 */
const PORT = 21_313;
const DIRECTORY = "/tmp/email-security-kept-release";

/** One tenant per provider, and those for a rollout and for a single settings file. */
const TENANTS = ["dynamic", "native", "second", "t0", "t1", "solo"] as const;

export const PROVIDERS = ["dynamic", "native"] as const;
export type ReleaseProviderKind = (typeof PROVIDERS)[number];

/** The sandbox's data file. */
const DATA = "sandbox.db";

/** The comment that every program declares. */
export const COMMENT = "INC-7";

export function listReleases(): readonly string[] {
  return readdirSync(RELEASES).sort();
}

/** Returns the content of a file that a release left behind. */
export function getReleaseFile(release: string, path: string): string {
  return join(RELEASES, release, path);
}

/**
 * A user's machine with a service: one project per provider, whose stacks contain a resource of each kind, and a
 * repository of settings files. Its files are stored per release, and later releases must be able to continue with
 * them.
 */
export class StoredRelease implements AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly #data: string;
  readonly #open: EngineProject[] = [];

  private constructor(sandbox: Sandbox, data: string) {
    this.sandbox = sandbox;
    this.#data = data;
  }

  /** Continues with the files of a release. */
  static async restore(release: string): Promise<StoredRelease> {
    const data = join(await mkdtemp(join(tmpdir(), "email-security-")), DATA);
    await cp(join(RELEASES, release, DATA), data);
    const kept = await StoredRelease.#start(data);
    await cp(join(RELEASES, release), DIRECTORY, { recursive: true });
    return kept;
  }

  /** Starts with a service to which nothing was ever declared. */
  static async startBlank(): Promise<StoredRelease> {
    const tenants = TENANTS.map((name) => ({
      name,
      keyLabels: { ci: "ci", console: "console" },
      detectedAt: "2026-01-01T00:00:00Z",
      employees: ["Yuki Sato", "Diego Santos"].map((fullName) => {
        const email = `${fullName.toLowerCase().replace(" ", ".")}@${name}.example`;
        return { email, fullName, jobTitle: "Payroll", department: "Finance" };
      }),
      manualVips: [],
      exclusions: [],
      entries: [],
      threats: 0,
    }));
    const data = join(await mkdtemp(join(tmpdir(), "email-security-")), DATA);
    return await StoredRelease.#start(data, { scenario: { name: "kept", tenants } });
  }

  static async #start(data: string, options: SandboxOptions = {}): Promise<StoredRelease> {
    const sandbox = await startPatientSandbox({ ...options, data, port: PORT });
    await rm(DIRECTORY, { recursive: true, force: true });
    return new StoredRelease(sandbox, data);
  }

  /** Returns the project of a provider, with its stack `dev`. */
  async getProject(providerKind: ReleaseProviderKind): Promise<EngineProject> {
    return await this.#engineIn(providerKind);
  }

  async #engineIn(name: string): Promise<EngineProject> {
    const project = await EngineProject.open(await this.#createProjectDirectory(name), {
      PULUMI_BACKEND_URL: `file://${join(DIRECTORY, name, ".state")}`,
      PULUMI_NODEJS_TRANSPILE_ONLY: "true",
    });
    this.#open.push(project);
    return project;
  }

  /** Returns the repository of settings files, with one tenant's key for commands about a single tenant. */
  async getRepository(tenant: (typeof TENANTS)[number] = "solo"): Promise<SettingsFilesRepository> {
    const pulumi = await this.#engineIn("files");
    return {
      pulumi,
      command: createCli(pulumi.directory, {
        ...pulumi.environment,
        EMAIL_SECURITY_BASE_URL: this.sandbox.url,
        EMAIL_SECURITY_API_KEY: getTenantKey(tenant),
        T0_KEY: getTenantKey("t0"),
        T1_KEY: getTenantKey("t1"),
        EMAIL_SECURITY_KEY_VARIABLES: "T0_KEY,T1_KEY",
      }),
    };
  }

  async #createProjectDirectory(name: string): Promise<string> {
    const directory = join(DIRECTORY, name);
    mkdirSync(join(directory, ".state"), { recursive: true });
    const packages = join(directory, "node_modules");
    if (!existsSync(packages)) await symlink(resolve("node_modules"), packages);
    return directory;
  }

  /** Stores all of it as this release's files, in place of those stored before. */
  async keepAs(release: string): Promise<void> {
    const target = join(RELEASES, release);
    // A published release's files must not be overwritten with those of the current code.
    if (existsSync(target)) throw new Error(`${target} is there: what ${release} leaves was kept already.`);
    await this.sandbox.close();
    const isKept = (path: string): boolean =>
      !/[\\/](node_modules|history|backups|locks|[^\\/]*\.(bak|attrs|lock))$/.test(path);
    await cp(DIRECTORY, target, { recursive: true, filter: isKept });
    await cp(this.#data, join(target, DATA));
    // Removes the paths of this repository and this machine.
    for await (const file of glob("*/.state/.pulumi/stacks/*/*.json", { cwd: target })) {
      const text = await readFile(join(target, file), "utf8");
      const portableText = text.replaceAll(resolve("."), "/repository");
      await writeFile(join(target, file), portableText.replaceAll(`"${hostname()}:`, '"machine:'));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const project of this.#open) await project[Symbol.asyncDispose]();
    await this.sandbox.close();
    for (const directory of [DIRECTORY, dirname(this.#data)]) {
      await rm(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    }
  }
}

/** A repository of settings files. */
export interface SettingsFilesRepository {
  /** Runs Pulumi's CLI in the repository. */
  readonly pulumi: EngineProject;
  /** Runs our command in the repository. */
  readonly command: Cli;
}

function getTenantKey(tenant: (typeof TENANTS)[number]): string {
  return `sandbox-${tenant}-ci`;
}

/** Retries, since another checkout may run the same test, and the port exists only once per machine. */
async function startPatientSandbox(options: SandboxOptions): Promise<Sandbox> {
  for (const deadlineMs = performance.now() + 60_000; ; await sleep(500)) {
    try {
      return await startSandbox(options);
    } catch (error) {
      const isTaken = error instanceof SandboxError && error.code === "ERR_SANDBOX_PORT";
      if (!isTaken || performance.now() > deadlineMs) throw error;
    }
  }
}

/** Creates every kind of data that a user of this release can leave behind, and prints each step. */
export async function leaveAll(world: StoredRelease): Promise<void> {
  for (const providerKind of PROVIDERS) await leaveStack(world, providerKind);
  await leaveRepository(world);
}

/**
 * Creates a stack with a resource of each kind, and a second tenant through a Provider; keys are secrets in its
 * configuration.
 */
async function leaveStack(world: StoredRelease, providerKind: ReleaseProviderKind): Promise<void> {
  const project = await world.getProject(providerKind);
  const plugin = providerKind === "native" ? PLUGIN_LINES : "";
  await project.writeFile("Pulumi.yaml", `name: settings\nruntime: nodejs\n${plugin}`);
  await project.writeFile("package.json", '{ "name": "settings", "private": true, "main": "index.ts" }\n');
  await project.write(buildProgram(world, providerKind));
  await project.runOrThrow("stack", "init", "dev");
  await project.runOrThrow("config", "set", "email-security:baseUrl", world.sandbox.url);
  await project.runOrThrow("config", "set", "--secret", "email-security:apiKey", getTenantKey(providerKind));
  await project.runOrThrow("config", "set", "--secret", "secondKey", getTenantKey("second"));
  await project.up();
}

function buildProgram({ sandbox }: StoredRelease, providerKind: ReleaseProviderKind): string {
  const name = providerKind === "native" ? "pulumi-email-security/native" : "pulumi-email-security";
  return `import * as pulumi from "@pulumi/pulumi";
import { AllowDenyEntry, AllowDenyList, Provider, VipEmployee, VipList } from "${name}";

const entry = new AllowDenyEntry("look-alike", { list: "deny", value: "Look-Alike.example", comment: "${COMMENT}" });
new VipEmployee("payroll", { email: "Yuki.Sato@${providerKind}.example", comment: "Signs payments" });
new AllowDenyList("blocklist", {
  entries: { "one.example": "deny: a", "203.0.113.7": "deny: b", "news@two.example (graymail)": "allow: c" },
});
new VipList("finance", { members: { "diego.santos@${providerKind}.example": "Approves invoices" } });

const second = new Provider("second", {
  baseUrl: "${sandbox.url}",
  apiKey: new pulumi.Config().requireSecret("secondKey"),
});
new AllowDenyEntry("theirs", { list: "allow", value: "${providerKind}.partner.example" }, { provider: second });
new VipEmployee("their-payroll", { email: "${providerKind === "native" ? "diego.santos" : "yuki.sato"}@second.example" }, { provider: second });

export const entryId = entry.entryId;
`;
}

/**
 * Creates a repository of settings files: a completed rollout, one waiting at its gate, a stack created by `apply`, and
 * a reviewed plan for a change to it that isn't applied yet.
 */
async function leaveRepository(world: StoredRelease): Promise<void> {
  const { pulumi, command } = await world.getRepository();
  const write = async (path: string, text: string): Promise<void> => await pulumi.writeFile(path, text);
  const expectExitCode = async (code: number, ...args: string[]): Promise<void> => {
    const run = await command(...args);
    if (run.code !== code) throw new Error(`${args.join(" ")} ended with ${run.code}:\n${run.output}`);
  };
  mkdirSync(join(pulumi.directory, "settings"), { recursive: true });
  await write("Pulumi.yaml", "name: fleet\nruntime: nodejs\n");
  await write("package.json", '{ "name": "fleet", "private": true, "main": "index.ts" }\n');
  await write(
    "index.ts",
    `import * as pulumi from "@pulumi/pulumi";
import { TenantSettings } from "pulumi-email-security";

const name = pulumi.getStack();
new TenantSettings(name, { file: \`settings/\${name}.yaml\` });
`,
  );
  for (const name of ["t0", "t1", "solo"]) await write(`settings/${name}.yaml`, formatReleaseSettings(name));
  await write("settings/baseline.yaml", "version: 1\ndeny:\n  - evil0.example\n");
  await write("tenants.yaml", formatTargets(world, "{ name: canary, match: { ring: canary } }"));
  await expectExitCode(0, "rollout", "--yes");
  await write("settings/baseline.yaml", "version: 1\ndeny:\n  - evil0.example\n  - evil1.example\n");
  await write("tenants.yaml", formatTargets(world, "{ name: canary, match: { ring: canary }, gate: true }"));
  await expectExitCode(2, "rollout", "--yes");

  const stack = ["settings/solo.yaml", "--stack", "solo"];
  await pulumi.runOrThrow("stack", "init", "solo");
  await expectExitCode(0, "apply", ...stack, "--yes");
  await write(
    "settings/solo.yaml",
    formatReleaseSettings("solo", "  - value: reviewed.example\n    comment: Seen by two\n"),
  );
  await expectExitCode(2, "plan", ...stack, "--output", "plan.json");
}

function formatTargets({ sandbox }: StoredRelease, firstWave: string): string {
  return `version: 1
project: fleet
defaults:
  baseUrl: ${sandbox.url}
  key: { environment: "{NAME}_KEY" }
  settings: settings/{name}.yaml
tenants:
  t0: { labels: { ring: canary } }
  t1: {}
waves:
  - ${firstWave}
  - { name: rest }
`;
}

/** Formats a tenant's settings file. */
export function formatReleaseSettings(name: string, more = ""): string {
  return `version: 1
include: [baseline.yaml]
deny:
  - value: only-${name}.example
    comment: Invoice fraud
    ticket: INC-7
${more}allow:
  - value: partner.example
    expires: 2096-01-31
vips:
  - { email: yuki.sato@${name}.example, comment: Signs payments }
`;
}

import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { requireEngine } from "../../provider/engine";
import { getBuildPath } from "./build-path";
import { linkPackages } from "./program-packages";

/** The result of a run of the CLI. */
export interface PulumiResult {
  readonly code: number;
  /** Standard output and error, in order of arrival. */
  readonly output: string;
}

/** A run of the CLI in progress. */
export interface RunningPulumi {
  /** The process id of the CLI. */
  readonly pid: number;
  /** Kills the engine (SIGKILL). */
  readonly kill: () => void;
  /** Returns the output so far. */
  readonly readOutput: () => string;
  readonly result: Promise<PulumiResult>;
}

/** One resource of an exported stack. */
export interface StackResource {
  readonly urn: string;
  readonly type: string;
  readonly id?: string;
  readonly inputs?: Record<string, unknown>;
  readonly outputs?: Record<string, unknown>;
  readonly stackTrace?: unknown;
  readonly initErrors?: string[];
  readonly provider?: string;
}

export interface EngineProjectOptions {
  /** The text of the program's `index.ts`. */
  readonly program: string;
  readonly environment?: Record<string, string>;
  /** Additional files next to the program, by path. */
  readonly files?: Record<string, string>;
  /** Whether the project configures the path of the native plugin. Default: false. */
  readonly plugin?: boolean;
  /** Default: `dev`. */
  readonly stack?: string;
  /** The `node_modules` directory for the program. Default: this repository's packages. */
  readonly nodeModules?: string;
  /**
   * Whether Pulumi type-checks the program, as it does for users. Default: false, since type checking takes half of a
   * run's time.
   */
  readonly typeCheck?: boolean;
}

// Rebuilds the modules that programs import and that the engine runs, if they are out of date.
getBuildPath("index.js", () => [import("../../provider/index.ts"), import("../../provider/plugin/main.ts")]);

/** Configures the engine's path of the native plugin. */
export const PLUGIN_LINES = `plugins:
  providers:
    - name: email-security
      path: node_modules/pulumi-email-security/dist/plugin
`;

/**
 * A Pulumi project in its own directory outside the repository, with its own file backend and one stack, driven through
 * the real CLI.
 */
export class EngineProject implements AsyncDisposable {
  readonly directory: string;
  /** Holds its state and the CLI's own files; removed at the end. */
  readonly #scratch: string;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #command: string;

  private constructor(directory: string, scratch: string, command: string, environment: NodeJS.ProcessEnv) {
    this.directory = directory;
    this.#scratch = scratch;
    this.#command = command;
    this.#environment = environment;
  }

  static async create(options: EngineProjectOptions): Promise<EngineProject> {
    const directory = await mkdtemp(join(tmpdir(), "email-security-"));
    if (options.nodeModules === undefined) await linkPackages(directory);
    else await symlink(options.nodeModules, join(directory, "node_modules"));
    const files = {
      "Pulumi.yaml": `name: settings\nruntime: nodejs\n${options.plugin === true ? PLUGIN_LINES : ""}`,
      "package.json": '{ "name": "settings", "private": true, "main": "index.ts" }',
      "index.ts": options.program,
      ...options.files,
    };
    for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text);
    const project = await EngineProject.#open(directory, directory, {
      ...(options.typeCheck === true ? {} : { PULUMI_NODEJS_TRANSPILE_ONLY: "true" }),
      ...options.environment,
    });
    await project.runOrThrow("stack", "init", options.stack ?? "dev");
    return project;
  }

  /** Uses an existing project; its directory is kept. It has no stack yet. */
  static async open(directory: string, environment: Record<string, string>): Promise<EngineProject> {
    return await EngineProject.#open(directory, await mkdtemp(join(tmpdir(), "email-security-")), environment);
  }

  static async #open(
    directory: string,
    scratch: string,
    environment: Record<string, string> = {},
  ): Promise<EngineProject> {
    const engine = await requireEngine();
    const state = join(scratch, ".state");
    await mkdir(state);
    return new EngineProject(directory, scratch, engine.command, {
      ...engine.environment(removeDeveloperVariables(process.env)),
      PULUMI_BACKEND_URL: `file://${state}`,
      PULUMI_CONFIG_PASSPHRASE: "a passphrase for tests",
      PULUMI_HOME: join(scratch, ".home"),
      ...environment,
    });
  }

  /** The CLI's environment. */
  get environment(): NodeJS.ProcessEnv {
    return this.#environment;
  }

  async write(program: string): Promise<void> {
    await this.writeFile("index.ts", program);
  }

  /** Replaces a file next to the program. */
  async writeFile(path: string, text: string): Promise<void> {
    await writeFile(join(this.directory, path), text);
  }

  /** Runs the CLI to its end. */
  async run(...args: string[]): Promise<PulumiResult> {
    return await this.runWith({}, ...args);
  }

  /** Runs the CLI to its end with additional environment variables. */
  async runWith(environment: Record<string, string>, ...args: string[]): Promise<PulumiResult> {
    return await this.start(environment, ...args).result;
  }

  /** Starts the CLI with additional environment variables and returns while it runs. */
  start(environment: Record<string, string>, ...args: string[]): RunningPulumi {
    const child = spawn(this.#command, ["--non-interactive", "--color", "never", ...args], {
      cwd: this.directory,
      env: { ...this.#environment, ...environment },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    const appendOutput = (chunk: Buffer): void => {
      output += chunk.toString();
    };
    child.stdout.on("data", appendOutput);
    child.stderr.on("data", appendOutput);
    const result = new Promise<PulumiResult>((resolveRun, reject) => {
      child.once("error", reject);
      child.once("close", (code) => resolveRun({ code: code ?? -1, output }));
    });
    return { pid: child.pid ?? 0, kill: () => child.kill("SIGKILL"), readOutput: () => output, result };
  }

  /**
   * Runs the CLI and returns its output.
   *
   * @throws if it fails.
   */
  async runOrThrow(...args: string[]): Promise<string> {
    const { code, output } = await this.run(...args);
    if (code !== 0) throw new Error(`pulumi ${args.join(" ")} exited with ${code}:\n${output}`);
    return output;
  }

  async up(...args: string[]): Promise<string> {
    return await this.runOrThrow("up", "--yes", "--skip-preview", ...args);
  }

  async refresh(...args: string[]): Promise<string> {
    return await this.runOrThrow("refresh", "--yes", "--skip-preview", ...args);
  }

  async destroy(): Promise<string> {
    return await this.runOrThrow("destroy", "--yes", "--skip-preview");
  }

  /** Returns the exported state: its text, and our resources in it. */
  async state(...args: string[]): Promise<{ text: string; resources: StackResource[] }> {
    const text = await this.runOrThrow("stack", "export", ...args);
    const exported = JSON.parse(text) as { deployment: { resources?: StackResource[] } };
    const resources = exported.deployment.resources ?? [];
    return { text, resources: resources.filter((resource) => resource.type.includes("email-security:")) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#scratch, { recursive: true, force: true });
  }
}

/** Tests must not use the developer's own tenant or Pulumi account. */
function removeDeveloperVariables(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const own = /^(PULUMI_|EMAIL_SECURITY_)/;
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !own.test(name)));
}

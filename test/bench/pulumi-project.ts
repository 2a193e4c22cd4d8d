import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type Engine, requireEngine } from "pulumi-email-security/engine";
import { type CompletedCommand, run } from "#bench/command";
import type { StateSize } from "#bench/measurement";

interface PulumiRunOptions {
  /** Extra environment variables. */
  readonly environment?: Record<string, string> | undefined;
  /** Whether to watch the peak memory. Default: false. */
  readonly memory?: boolean;
}

const PROJECT = `name: settings
runtime: nodejs
plugins:
  providers:
    - name: email-security
      path: node_modules/pulumi-email-security/dist/plugin
`;

/** A Pulumi program in a temporary directory with a file backend and one stack, driven through the real CLI. */
export class BenchProject implements AsyncDisposable {
  readonly #directory: string;
  readonly #command: string;
  readonly #environment: NodeJS.ProcessEnv;

  private constructor(directory: string, command: string, environment: NodeJS.ProcessEnv) {
    this.#directory = directory;
    this.#command = command;
    this.#environment = environment;
  }

  /** @param program the source of its `index.ts` */
  static async create(program: string, environment: Record<string, string>): Promise<BenchProject> {
    const engine = await requireEngine();
    const directory = await mkdtemp(join(tmpdir(), "email-security-bench-"));
    await symlink(resolve("node_modules"), join(directory, "node_modules"));
    await writeFile(join(directory, "Pulumi.yaml"), PROJECT);
    await writeFile(join(directory, "package.json"), '{ "name": "settings", "private": true, "main": "index.ts" }');
    const state = join(directory, ".state");
    await mkdir(state);
    const project = new BenchProject(directory, engine.command, {
      ...buildPlainEnvironment(engine),
      PULUMI_BACKEND_URL: `file://${state.replaceAll("\\", "/")}`,
      PULUMI_CONFIG_PASSPHRASE: "bench",
      PULUMI_HOME: join(directory, ".home"),
      ...environment,
    });
    await project.write(program);
    await project.#run(["stack", "init", "dev"]);
    return project;
  }

  async write(program: string): Promise<void> {
    await writeFile(join(this.#directory, "index.ts"), program);
  }

  async up(options: PulumiRunOptions = {}): Promise<CompletedCommand> {
    return await this.#run(["up", "--yes", "--skip-preview"], options);
  }

  /** Runs `up`, and fails if there is something to do. */
  async upUnchanged(options: PulumiRunOptions = {}): Promise<CompletedCommand> {
    return await this.#run(["up", "--yes", "--skip-preview", "--expect-no-changes"], options);
  }

  /** Runs the same `up` after a refresh, as with `refresh: always` in Pulumi.yaml. */
  async upAfterRefresh(options: PulumiRunOptions = {}): Promise<CompletedCommand> {
    return await this.#run(["up", "--yes", "--skip-preview", "--expect-no-changes", "--refresh"], options);
  }

  async refresh(options: PulumiRunOptions = {}): Promise<CompletedCommand> {
    return await this.#run(["refresh", "--yes", "--skip-preview"], options);
  }

  /** @param file the content of the file for `pulumi import --file` */
  async importAll(file: object, options: PulumiRunOptions = {}): Promise<CompletedCommand> {
    await writeFile(join(this.#directory, "import.json"), JSON.stringify(file));
    const quietArgs = ["--generate-code=false", "--protect=false"];
    return await this.#run(["import", "--file", "import.json", "--yes", "--skip-preview", ...quietArgs], options);
  }

  async measureState(): Promise<StateSize> {
    const { output } = await this.#run(["stack", "export"]);
    const stacks = join(this.#directory, ".state", ".pulumi", "stacks");
    const file = (await readdir(stacks, { recursive: true })).find((name) => name.endsWith("dev.json"));
    if (file === undefined) throw new Error("the file backend holds no stack");
    const state: unknown = JSON.parse(output);
    const tracelessText = JSON.stringify(state, (key, value: unknown) =>
      key === "stackTrace" || key === "sourcePosition" ? undefined : value,
    );
    return {
      compactBytes: Buffer.byteLength(JSON.stringify(state)),
      tracelessBytes: Buffer.byteLength(tracelessText),
      fileBytes: (await readFile(join(stacks, file))).byteLength,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #run(args: string[], { environment, memory = false }: PulumiRunOptions = {}): Promise<CompletedCommand> {
    return await run(this.#command, [...args, "--non-interactive", "--color", "never"], {
      cwd: this.#directory,
      env: { ...this.#environment, ...environment },
      memory,
    });
  }
}

/**
 * Returns the environment of a user's own `pulumi`, without the Node.js compile cache that we set. A cache that the
 * user has set is kept.
 */
export function buildPlainEnvironment(engine: Engine): NodeJS.ProcessEnv {
  const { NODE_COMPILE_CACHE: _ours, ...plain } = engine.environment(removeDeveloperSettings(process.env));
  const { NODE_COMPILE_CACHE: own } = process.env;
  return { ...plain, ...(own && { NODE_COMPILE_CACHE: own }) };
}

/** Removes the user's own tenant and Pulumi account, which a bench must not touch. */
function removeDeveloperSettings(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const own = /^(PULUMI_|EMAIL_SECURITY_(?!CACHE_DIR|ENGINE))/;
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !own.test(name)));
}

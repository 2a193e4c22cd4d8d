import { randomUUID } from "node:crypto";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { getCacheDirectory } from "pulumi-email-security/engine";
import {
  ENGINE_MANIFEST,
  findCachedEngine,
  getInstallationName,
  getProgramFileName,
} from "../provider/dist/engine/installed-engines.js";
import { withLock } from "../provider/dist/engine/lock.js";
import { describeRunFailure, type RunCommandResult, runCommand } from "../provider/dist/engine/run-command.js";
import { formatVersion, isAtLeast, parseVersion, type SemanticVersion } from "../provider/dist/engine/version.js";
import type { MinimalEnv } from "../provider/dist/system/child-environment.js";

/** Options for building an engine. */
export interface BuildOptions {
  /** Default: the environment of this process. */
  readonly env?: NodeJS.ProcessEnv;
  readonly log: (line: string) => void;
  /** Receives the progress every second, for a status line that overwrites itself. Default: `log`, every 15 seconds. */
  readonly onProgress?: ((status: string) => void) | undefined;
}

interface BuildContext {
  readonly env: NodeJS.ProcessEnv;
  /** The cache directory for engines; may not exist yet. */
  readonly engineDirectory: string;
  readonly log: (line: string) => void;
  readonly progress: (status: string) => void;
}

const PROGRESS_INTERVAL_MS = 15_000;

const DOWNLOAD_REMEDY =
  "allow access to the Go module proxy (see GOPROXY in `go env`), then try again: finished downloads are kept";

const COMPILE_REMEDY = "check Go's output above (the disk may be full: Go's caches take about 4 GB), then try again";

/**
 * Builds the Pulumi CLI from Go modules with pinned checksums, for machines that can reach only package registries. The
 * build takes about four minutes. The result stays in the cache directory, where `requireEngine` finds it. Several
 * processes can call this at once.
 *
 * @returns the absolute path of the `pulumi` program.
 */
export async function buildEngine({ env = process.env, log, onProgress }: BuildOptions): Promise<string> {
  const cli = readGoModule("cli", "github.com/pulumi/pulumi/pkg/v3", "cmd/pulumi");
  const language = readGoModule(
    "language-nodejs",
    "github.com/pulumi/pulumi/sdk/v3",
    "nodejs/cmd/pulumi-language-nodejs",
  );
  const engineDirectory = join(getCacheDirectory(env), "engine");
  const context = { env, engineDirectory, log, progress: onProgress ?? throttleProgress(log) };
  const goEnv = await getGoEnvironment(context, cli.goVersion);
  return await installAtomically(context, cli.version, async (directory) => {
    log(
      `Building the Pulumi CLI ${cli.version} from Go modules, once. It takes about four minutes on two idle cores. ` +
        `It is kept in ${engineDirectory}.`,
    );
    const bin = join(directory, "bin");
    await buildProgram(cli, "the CLI", join(bin, getProgramFileName("pulumi")), goEnv, context);
    await buildProgram(
      language,
      "its Node.js host",
      join(bin, getProgramFileName("pulumi-language-nodejs")),
      goEnv,
      context,
    );
    await copyDynamicProviderLauncher(cli, bin, goEnv);
    await verifyEngine(join(bin, getProgramFileName("pulumi")), cli, context);
  });
}

/** Creates an error that says why the build failed and how to fix it. */
function createBuildError(message: string, remedy: string): Error {
  return new Error(
    `Can't build the Pulumi CLI: ${message}.\nTo fix it: ${remedy}. Or install Pulumi: https://www.pulumi.com/docs/iac/download-install/`,
  );
}

/**
 * Creates an installation atomically: `populate` fills a temporary directory, which is renamed when it is complete. If
 * two processes do this at once, one waits for the other. The next run removes files of a killed process.
 *
 * @param populate puts the programs into `<directory>/bin`
 */
async function installAtomically(
  { engineDirectory, log }: BuildContext,
  version: string,
  populate: (directory: string) => Promise<void>,
): Promise<string> {
  const installationDirectory = join(engineDirectory, getInstallationName(version));
  mkdirSync(engineDirectory, { recursive: true });
  const logWait = (holder: string): void => log(`Waiting for ${holder}, which is building the same engine ...`);
  const createInstallation = async (): Promise<string> => {
    const existing = findCachedEngine(engineDirectory, version);
    if (existing !== undefined) return existing.command;
    const unfinishedPrefix = `${installationDirectory}.unfinished-`;
    for (const entry of readdirSync(engineDirectory)) {
      const path = join(engineDirectory, entry);
      if (path.startsWith(unfinishedPrefix)) rmSync(path, { recursive: true, force: true });
    }
    const directory = unfinishedPrefix + randomUUID();
    try {
      mkdirSync(join(directory, "bin"), { recursive: true });
      await populate(directory);
      writeFileSync(join(directory, ENGINE_MANIFEST), JSON.stringify({ version }));
      rmSync(installationDirectory, { recursive: true, force: true });
      renameSync(directory, installationDirectory);
      return join(installationDirectory, "bin", getProgramFileName("pulumi"));
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  };
  return await withLock(`${installationDirectory}.lock`, createInstallation, { onWait: logWait });
}

/** A Go program, and the directory whose go.mod and go.sum pin its dependencies. */
interface PinnedGoProgram {
  directory: string;
  /** The package that contains `main`. */
  package: string;
  /** For example `3.259.0`. */
  version: string;
  /** The minimum version of Go. */
  goVersion: SemanticVersion;
}

function readGoModule(directory: string, module: string, path: string): PinnedGoProgram {
  const absolute = join(import.meta.dirname, "engine", directory);
  const text = readFileSync(join(absolute, "go.mod"), "utf8");
  const version = parseVersion(new RegExp(`^\\s*(?:require )?${module} v(\\S+)`, "m").exec(text)?.[1] ?? "");
  const goVersion = parseVersion(/^go (\S+)/m.exec(text)?.[1] ?? "");
  if (!version || !goVersion) throw new Error(`${absolute}/go.mod doesn't contain ${module} and a Go version`);
  return { directory: absolute, package: `${module}/${path}`, version: formatVersion(version), goVersion };
}

interface ToolOptions {
  readonly cwd?: string;
  readonly env: NodeJS.ProcessEnv;
  readonly onErrorLine?: (line: string) => void;
}

/** Runs a program with the developer's own environment, which has the settings of Go and of the proxy. */
async function runBuildTool(command: string, args: readonly string[], options: ToolOptions): Promise<RunCommandResult> {
  return await runCommand(command, args, { ...options, env: options.env as MinimalEnv });
}

/**
 * Returns the environment for `go`. It keeps the user's proxy and caches, but drops settings that would change the
 * built program.
 */
async function getGoEnvironment({ env }: BuildContext, minimum: SemanticVersion): Promise<NodeJS.ProcessEnv> {
  const remedy =
    `install Go ${formatVersion(minimum)} or later (https://go.dev/dl/) and put it on PATH; ` +
    "Go 1.21 or later downloads it automatically when GOTOOLCHAIN is auto";
  const goEnvResult = await runBuildTool("go", ["env", "GOVERSION", "GOTOOLCHAIN", "GOHOSTOS", "GOHOSTARCH"], {
    env,
  });
  if (goEnvResult.failure?.code === "ENOENT") throw createBuildError("`go` isn't on PATH", remedy);
  if (goEnvResult.exitCode !== 0)
    throw createBuildError(`\`go env\` failed: ${describeRunFailure(goEnvResult)}`, remedy);

  const [release = "", toolchain = "", os, arch] = goEnvResult.stdout.split(/\r?\n/);
  const version = parseVersion(release);
  // Since 1.21, Go downloads a newer toolchain from the module proxy unless the user disables that.
  const mayUpgrade = /\bauto$/.test(toolchain);
  if (!version || !(isAtLeast(version, minimum) || mayUpgrade)) {
    throw createBuildError(
      `Go is ${release || "of an unknown version"}, older than ${formatVersion(minimum)}, and GOTOOLCHAIN is ` +
        (toolchain || "unknown to it"),
      remedy,
    );
  }
  return {
    ...env,
    CGO_ENABLED: "0",
    GO111MODULE: "on",
    GOARCH: arch,
    GOFLAGS: "-mod=readonly",
    GOOS: os,
    GOWORK: "off",
  };
}

async function buildProgram(
  program: PinnedGoProgram,
  label: string,
  output: string,
  env: NodeJS.ProcessEnv,
  { log, progress }: BuildContext,
): Promise<void> {
  const options = { cwd: program.directory, env };
  const startedAt = performance.now();
  const formatElapsedTime = () => formatElapsed(performance.now() - startedAt);

  let downloads = 0;
  const listResult = await runWithTicks(
    () => progress(`Downloading the modules of ${label}: ${downloads} so far, ${formatElapsedTime()}`),
    () =>
      runBuildTool("go", ["list", "-deps", program.package], {
        ...options,
        onErrorLine: (line) => {
          if (line.startsWith("go: downloading")) downloads++;
        },
      }),
  );
  if (listResult.exitCode !== 0) {
    throw createBuildError(
      `the modules of ${label} could not be downloaded: ${describeRunFailure(listResult)}`,
      DOWNLOAD_REMEDY,
    );
  }

  const total = listResult.stdout.trim().split("\n").length;
  let compiled = 0;
  const ldflags = `-s -w -X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v${program.version}`;
  const buildResult = await runWithTicks(
    () => progress(`Compiling ${label}: ${compiled} packages of at most ${total}, ${formatElapsedTime()}`),
    () =>
      // -v prints each package as it is compiled, which shows the progress.
      runBuildTool(
        "go",
        ["build", "-v", "-trimpath", "-buildvcs=false", "-ldflags", ldflags, "-o", output, program.package],
        {
          ...options,
          onErrorLine: () => {
            compiled++;
          },
        },
      ),
  );
  if (buildResult.exitCode !== 0) {
    throw createBuildError(`compiling ${label} failed: ${describeRunFailure(buildResult)}`, COMPILE_REMEDY);
  }
  log(`Built ${label} in ${formatElapsedTime()}.`);
}

/** Copies `pulumi-resource-pulumi-nodejs`, Pulumi's own script that starts dynamic providers, from the CLI's modules. */
async function copyDynamicProviderLauncher(
  { directory }: PinnedGoProgram,
  bin: string,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const module = "github.com/pulumi/pulumi/sdk/v3";
  const listResult = await runBuildTool("go", ["list", "-m", "-f", "{{.Dir}}", module], {
    cwd: directory,
    env,
  });
  if (listResult.exitCode !== 0) {
    throw createBuildError(
      `the module ${module} could not be found: ${describeRunFailure(listResult)}`,
      DOWNLOAD_REMEDY,
    );
  }
  const name = `pulumi-resource-pulumi-nodejs${process.platform === "win32" ? ".cmd" : ""}`;
  copyFileSync(join(listResult.stdout.trim(), "nodejs", "dist", name), join(bin, name));
  chmodSync(join(bin, name), 0o755);
}

/** Checks that the built CLI runs on this machine and reports the expected version. */
async function verifyEngine(command: string, cli: PinnedGoProgram, { env }: BuildContext): Promise<void> {
  // Pulumi logs every command in its home directory, so this doesn't use the user's.
  const home = join(dirname(command), "..", "home");
  const result = await runBuildTool(command, ["version"], {
    env: { ...env, PULUMI_HOME: home, PULUMI_SKIP_UPDATE_CHECK: "true" },
  });
  rmSync(home, { recursive: true, force: true });
  const version = parseVersion(result.stdout);
  if (result.exitCode !== 0 || !version || formatVersion(version) !== cli.version) {
    throw createBuildError(
      `the CLI was built but doesn't work: \`pulumi version\` returned ${describeRunFailure(result)}`,
      "check whether programs can run from the cache directory (a `noexec` mount?); EMAIL_SECURITY_CACHE_DIR sets another",
    );
  }
}

/** Calls `tick` now and every second while `work` runs. */
async function runWithTicks<T>(tick: () => void, work: () => Promise<T>): Promise<T> {
  tick();
  const timer = setInterval(tick, 1_000);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

function formatElapsed(elapsedMs: number): string {
  const seconds = Math.round(elapsedMs / 1_000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

function throttleProgress(log: (line: string) => void): (status: string) => void {
  let lastAt = Number.NEGATIVE_INFINITY;
  return (status) => {
    if (performance.now() - lastAt < PROGRESS_INTERVAL_MS) return;
    lastAt = performance.now();
    log(status);
  };
}

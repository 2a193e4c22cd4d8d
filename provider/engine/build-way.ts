import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { leanEnvironment } from "../machine/child-environment";
import { writeDynamicProviderLauncher } from "./dynamic-provider-launcher";
import { findInstalled, install, installationName, programName } from "./installation";
import { describeFailure } from "./run-command";
import { formatVersion, isAtLeast, parseVersion, type Version } from "./version";
import { type Way, type WayContext, WayError } from "./way";

const DOWNLOAD_REMEDY =
  "let the Go module proxy be reached (see GOPROXY in `go env`), then try again: what was downloaded is kept";

const COMPILE_REMEDY =
  "see what Go says above (the disk may be full: Go's caches take some 4 GB), then try again";

/** The way of a build from pinned Go modules, for where only package registries can be reached. */
export function buildWay(context: WayContext): Way {
  const cli = readGoModule("cli", "github.com/pulumi/pulumi/pkg/v3", "cmd/pulumi");
  const language = readGoModule(
    "language-nodejs",
    "github.com/pulumi/pulumi/sdk/v3",
    "nodejs/cmd/pulumi-language-nodejs",
  );
  const name = installationName(cli.version);
  return {
    source: "build",
    find: async () => findInstalled(context.engineFolder, name),
    async obtain() {
      const env = await goEnvironment(context, cli.goVersion);
      return install(context, name, async (folder) => {
        context.log(
          `Building the Pulumi CLI ${cli.version} from Go modules: about four minutes on two idle cores, once. ` +
            `It is kept in ${context.engineFolder}.`,
        );
        const bin = join(folder, "bin");
        await build(cli, "the CLI", join(bin, programName("pulumi")), env, context);
        await build(
          language,
          "its Node.js host",
          join(bin, programName("pulumi-language-nodejs")),
          env,
          context,
        );
        writeDynamicProviderLauncher(bin);
        return verify(join(bin, programName("pulumi")), cli, context);
      });
    },
  };
}

/** A Go program and the folder of the go.mod and go.sum that pin all it is built from. */
interface GoProgram {
  folder: string;
  /** The package with its `main`. */
  package: string;
  /** As in `3.259.0`. */
  version: string;
  /** The oldest Go that builds it. */
  goVersion: Version;
}

function readGoModule(folder: string, module: string, path: string): GoProgram {
  const absolute = join(__dirname, folder);
  const text = readFileSync(join(absolute, "go.mod"), "utf8");
  const version = parseVersion(new RegExp(`^\\s*(?:require )?${module} v(\\S+)`, "m").exec(text)?.[1] ?? "");
  const goVersion = parseVersion(/^go (\S+)/m.exec(text)?.[1] ?? "");
  if (!version || !goVersion) throw new Error(`${absolute}/go.mod doesn't name ${module} and a Go version`);
  return { folder: absolute, package: `${module}/${path}`, version: formatVersion(version), goVersion };
}

/**
 * The environment for `go`: the user's proxy and caches as they are, and nothing that would make another program of it.
 * Throws a {@link WayError} when there is no Go that will do.
 */
async function goEnvironment(context: WayContext, minimum: Version): Promise<NodeJS.ProcessEnv> {
  const env = leanEnvironment(context.env, "go");
  const remedy =
    `install Go ${formatVersion(minimum)} or later (https://go.dev/dl/) and put it on PATH; ` +
    "Go 1.21 or later gets it by itself when GOTOOLCHAIN is auto";
  const asked = await context.run("go", ["env", "GOVERSION", "GOTOOLCHAIN", "GOHOSTOS", "GOHOSTARCH"], {
    env,
  });
  if (asked.failure?.code === "ENOENT") throw new WayError("there is no `go` on PATH", remedy);
  if (asked.exitCode !== 0) throw new WayError(`\`go env\` failed: ${describeFailure(asked)}`, remedy);

  const [release = "", toolchain = "", os, arch] = asked.stdout.split(/\r?\n/);
  const version = parseVersion(release);
  // Since 1.21 Go gets a newer Go by itself, from the module proxy, unless it is told not to.
  const mayUpgrade = /\bauto$/.test(toolchain);
  if (!version || !(isAtLeast(version, minimum) || mayUpgrade)) {
    throw new WayError(
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

async function build(
  program: GoProgram,
  title: string,
  output: string,
  env: NodeJS.ProcessEnv,
  { log, progress, run }: WayContext,
): Promise<void> {
  const options = { cwd: program.folder, env };
  const startedAt = performance.now();
  const elapsed = () => formatElapsed(performance.now() - startedAt);

  let downloads = 0;
  const listed = await withTicks(
    () => progress(`Downloading the modules of ${title}: ${downloads} so far, ${elapsed()}`),
    () =>
      run("go", ["list", "-deps", program.package], {
        ...options,
        onErrorLine: (line) => {
          if (line.startsWith("go: downloading")) downloads++;
        },
      }),
  );
  if (listed.exitCode !== 0) {
    throw new WayError(
      `the modules of ${title} could not be had: ${describeFailure(listed)}`,
      DOWNLOAD_REMEDY,
    );
  }

  const total = listed.stdout.trim().split("\n").length;
  let compiled = 0;
  const ldflags = `-s -w -X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v${program.version}`;
  const built = await withTicks(
    () => progress(`Compiling ${title}: ${compiled} packages of at most ${total}, ${elapsed()}`),
    () =>
      // -v names each package that is compiled.
      run(
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
  if (built.exitCode !== 0) {
    throw new WayError(`compiling ${title} failed: ${describeFailure(built)}`, COMPILE_REMEDY);
  }
  log(`Built ${title} in ${elapsed()}.`);
}

/** The version that the built CLI itself names: it runs here, and it is what was asked for. */
async function verify(command: string, cli: GoProgram, { env, run }: WayContext): Promise<string> {
  // Pulumi logs each of its commands in its home directory. This one is not the user's.
  const home = `${command}-home`;
  const result = await run(command, ["version"], {
    env: { ...leanEnvironment(env), PULUMI_HOME: home, PULUMI_SKIP_UPDATE_CHECK: "true" },
  });
  rmSync(home, { recursive: true, force: true });
  const version = parseVersion(result.stdout);
  if (result.exitCode !== 0 || !version || formatVersion(version) !== cli.version) {
    throw new WayError(
      `the CLI was built but doesn't work: \`pulumi version\` gave ${describeFailure(result)}`,
      "see whether the cache folder may hold programs (a `noexec` mount?); EMAIL_SECURITY_CACHE_DIR sets another",
    );
  }
  return cli.version;
}

/** Calls `tick` now and every second while `work` runs. */
async function withTicks<T>(tick: () => void, work: () => Promise<T>): Promise<T> {
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

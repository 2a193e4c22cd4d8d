/**
 * Runs all static checks; `checks` below lists them. Prints one line for each check and the output of those that failed. Exits with 1 if a
 * check fails.
 *
 *   npm run check [-- --changed]
 *
 * --changed  run only the checks that apply to files changed since the last commit
 */
import { execFileSync, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { listRepositoryFiles } from "./repository-files.mts";

interface ToolResult {
  ok: boolean;
  output: string;
}

interface Check {
  name: string;
  /** The files that it applies to. */
  filePattern: RegExp;
  run: () => Promise<ToolResult>;
}

const CODE_FILES = /\.(?:[cm]?[jt]s|json)$/;
/** Lets the compiler check only changed files and their dependents. */
const TYPES_CACHE = "node_modules/.cache/types.tsbuildinfo";

/** A longer file in `provider/` usually does more than one thing. */
const MAX_LINES = 400;
const PROVIDER_CODE = /^provider\/.*\.[cm]?[jt]s$/;

// Slowest first, to shorten the total time.
const checks: Check[] = [
  {
    name: "types",
    filePattern: CODE_FILES,
    run: () =>
      runTool("tsc", "--noEmit", "--pretty", "false", "-p", ".", "--incremental", "--tsBuildInfoFile", TYPES_CACHE),
  },
  // These scripts run in a browser, without the types of Node.js.
  {
    name: "browser types",
    filePattern: /^provider\/fleet\/site\/browser\//,
    run: () => runTool("tsc", "--noEmit", "--pretty", "false", "-p", "provider/fleet/site/browser"),
  },
  // The check "types" already reports type errors.
  {
    name: "documentation",
    filePattern: /^(?:provider\/.*\.ts|typedoc\.json)$/,
    run: () => runTool("typedoc", "--emit", "none", "--skipErrorChecking"),
  },
  // Covers texts and comments. Add valid unknown words to docs/words.txt.
  {
    name: "spelling",
    filePattern: /\.md$|^provider\/.*\.ts$|^cspell\.json$|^docs\/words\.txt$/,
    run: () => runTool("cspell", "--no-progress", "--no-summary", "--no-color", "--relative"),
  },
  {
    name: "packaging",
    filePattern:
      /^provider\/(?:package\.json|(?:.*\/)?index\.ts)$|^sdk\/nodejs\/|^package.*\.json$|^scripts\/|^LICENSE$/,
    run: checkPackaging,
  },
  {
    name: "imports",
    filePattern: CODE_FILES,
    run: () => runTool("depcruise", "provider", "scripts", "examples", "test"),
  },
  { name: "lint and format", filePattern: /./, run: () => runTool("biome", "ci", "--colors=off", ".") },
  {
    name: "dead code",
    filePattern: CODE_FILES,
    run: () => runTool("knip", "--no-progress", "--no-config-hints"),
  },
  {
    name: "names",
    filePattern: /^(?:examples|provider|scripts|test)\/.*\.m?[jt]s$|^scripts\/glossary\.json$/,
    run: () => runTool(process.execPath, "scripts/check-names.mts"),
  },
  {
    name: "code rules",
    filePattern: /^(?:provider|test)\/.*\.m?ts$|^scripts\/check-code\.mts$|^docs\/reference\/environment\.md$/,
    run: () => runTool(process.execPath, "scripts/check-code.mts"),
  },
  {
    name: "prose",
    filePattern: /\.(?:md|m?[jt]s)$|^scripts\/glossary\.json$/,
    run: () => runTool(process.execPath, "scripts/check-prose.mts"),
  },
  {
    name: "file length",
    filePattern: PROVIDER_CODE,
    run: checkFileLengths,
  },
];

let failureCount = 0;
const changedPaths = process.argv.includes("--changed") ? listChangedFiles() : undefined;
const pendingChecks = checks
  .filter(({ name, filePattern }) => {
    if (changedPaths?.some((file) => filePattern.test(file)) !== false) return true;
    console.log(`-       ${name.padEnd(16)} skipped: no relevant file has changed since the last commit`);
    return false;
  })
  .values();
await Promise.all(Array.from({ length: availableParallelism() }, runPendingChecks));
process.exitCode = failureCount > 0 ? 1 : 0;

/** Runs checks until none is pending. There is one runner for each core. */
async function runPendingChecks(): Promise<void> {
  for (const { name, run } of pendingChecks) {
    const startedAt = performance.now();
    const { ok, output } = await run();
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
    console.log(`${ok ? "ok    " : "failed"}  ${name.padEnd(16)} ${seconds} s`);
    if (ok) continue;
    failureCount++;
    console.log(output.trim().replace(/^/gm, "        "));
  }
}

/** Lists files changed since the last commit, with `/` as separator, relative to the repository root. */
function listChangedFiles(): string[] {
  const names = execFileSync("git", ["status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames"], {
    encoding: "utf8",
  });
  return names.split("\0").map((line) => line.slice(3));
}

/** Checks the manifests and types of the packages as published, for each kind of module resolution. */
async function checkPackaging(): Promise<ToolResult> {
  const outcomes = [await checkPackage("./provider"), await checkPackage("./sdk/nodejs")];
  return {
    ok: outcomes.every(({ ok }) => ok),
    output: outcomes.map(({ output }) => output).join("\n"),
  };
}

async function checkPackage(source: string): Promise<ToolResult> {
  const directory = await mkdtemp(join(tmpdir(), "email-security-package-"));
  try {
    const packResult = await runTool(
      "npm",
      "pack",
      source,
      "--ignore-scripts",
      "--silent",
      `--pack-destination=${directory}`,
    );
    const [file] = await readdir(directory);
    if (!packResult.ok || file === undefined) return { ok: false, output: packResult.output };
    const tarball = join(directory, file);
    const results = [
      await runTool("publint", "run", tarball, "--strict"),
      // Node.js 10 doesn't support `exports`, and the package requires a much later version.
      await runTool("attw", tarball, "--profile=node16", "--no-emoji", "--no-color", "--format=ascii"),
    ];
    const failed = results.filter(({ ok }) => !ok);
    return { ok: failed.length === 0, output: failed.map(({ output }) => output).join("\n") };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Checks the line limit of the files in `provider/`, except build output. */
async function checkFileLengths(): Promise<ToolResult> {
  const lengths = new Map(
    listRepositoryFiles("provider")
      .filter((file) => PROVIDER_CODE.test(file))
      .map((file) => [file, readFileSync(file, "utf8").split("\n").length - 1] as const),
  );
  const problems = [...lengths]
    .filter(([, lines]) => lines > MAX_LINES)
    .map(([file, lines]) => `${file} has ${lines} lines; at most ${MAX_LINES} are allowed. Split it.`);
  return { ok: problems.length === 0, output: problems.join("\n") };
}

/** Runs a command from node_modules/.bin, which npm puts on PATH. */
function runTool(command: string, ...args: string[]): Promise<ToolResult> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      stdio: ["ignore", "pipe", "pipe"],
      shell: process.platform === "win32",
      env: { ...process.env, NO_COLOR: "1", FORCE_COLOR: "0" },
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    child.once("error", (error) => resolve({ ok: false, output: error.message }));
    child.once("close", (code) => resolve({ ok: code === 0, output }));
  });
}

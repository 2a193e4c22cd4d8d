import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism, cpus, loadavg, release, totalmem, type } from "node:os";
import { requireEngine } from "pulumi-email-security/engine";

/** The machine and the versions that a bench ran on. */
export interface MachineFacts {
  readonly date: string;
  /** The commit, followed by `+` if the work tree has uncommitted changes. */
  readonly commit: string;
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly system: string;
  readonly node: string;
  readonly pulumi: string;
}

export async function collectMachineFacts(date: string): Promise<MachineFacts> {
  const sdk = createRequire(import.meta.url)("@pulumi/pulumi/package.json") as { version: string };
  return {
    date,
    commit: readCommit(),
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: availableParallelism(),
    memoryGb: Math.round(totalmem() / 1024 ** 3),
    system: getSystemName(),
    node: process.versions.node,
    pulumi: `${(await requireEngine()).version}, SDK ${sdk.version}`,
  };
}

function readCommit(): string {
  const runGit = (...args: string[]): string => execFileSync("git", args, { encoding: "utf8" }).trim();
  try {
    return runGit("rev-parse", "--short=9", "HEAD") + (runGit("status", "--porcelain") === "" ? "" : "+");
  } catch {
    // There is no repository, for example in a source archive.
    return "unknown";
  }
}

function getSystemName(): string {
  const file = "/etc/os-release";
  const name = existsSync(file) && /^PRETTY_NAME="(.+)"$/m.exec(readFileSync(file, "utf8"))?.[1];
  return `${name ? `${name}, ` : ""}${type()} ${release()}`;
}

/** Returns how many processes wanted a processor in the last minute. */
export function currentLoad(): string {
  return loadavg()[0]?.toFixed(1) ?? "";
}

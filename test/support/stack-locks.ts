import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Fleet } from "./fleet";

/** Above the largest number that Linux gives a process. */
export const NOBODY = 2 ** 22 + 1;

/** Returns the directory of a stack's locks in the fleet's file backend. */
export function getLockDirectory({ directory }: Fleet, stack: string, project = "fleet"): string {
  return join(directory, ".state/.pulumi/locks/organization", project, stack);
}

/** A stack's locks. Attributes without their lock, which a kill may leave, count for nothing. */
export function locksIn(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory).filter((file) => !file.endsWith(".attrs")) : [];
}

export interface LockContent {
  readonly host?: string;
  readonly pid?: number;
  readonly file?: string;
}

/** Writes a lock as the CLI does, by default that of a process of this machine which is gone. */
export async function layLock(
  directory: string,
  { host = hostname(), pid = NOBODY, file = "a.json" }: LockContent = {},
): Promise<void> {
  await mkdir(directory, { recursive: true });
  const lock = { pid, username: "ci", hostname: host, timestamp: "2026-01-01T00:00:00.000Z" };
  await writeFile(join(directory, file), JSON.stringify(lock));
}

/** Runs a command as a person would who copies it from a message: in an empty directory. */
export async function typed(
  fleet: Fleet,
  command: string,
  environment: NodeJS.ProcessEnv = fleet.environment,
): Promise<string> {
  const cwd = join(fleet.directory, ".empty");
  await mkdir(cwd, { recursive: true });
  return execFileSync(command, { cwd, env: environment, shell: true, encoding: "utf8" });
}

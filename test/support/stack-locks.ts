import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import type { Fleet } from "./fleet";

/** A process id above Linux's maximum, so it is never in use. */
export const NOBODY = 2 ** 22 + 1;

/** Returns the directory of a stack's locks in the fleet's file backend. */
export function getFleetLockDirectory({ directory }: Fleet, stack: string, project = "fleet"): string {
  return join(directory, ".state/.pulumi/locks/organization", project, stack);
}

/** Returns a stack's locks. Ignores attribute files without their lock, which a kill may leave behind. */
export function listLocks(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory).filter((file) => !file.endsWith(".attrs")) : [];
}

export interface LockContent {
  readonly host?: string;
  readonly pid?: number;
  readonly file?: string;
}

/** Writes a lock as the CLI does, by default one whose process on this machine has ended. */
export async function writeLock(
  directory: string,
  { host = hostname(), pid = NOBODY, file = "a.json" }: LockContent = {},
): Promise<void> {
  await mkdir(directory, { recursive: true });
  const lock = { pid, username: "ci", hostname: host, timestamp: "2026-01-01T00:00:00.000Z" };
  await writeFile(join(directory, file), JSON.stringify(lock));
}

/** Runs a command as a person would who copies it from a message: in an empty directory. */
export async function runInEmptyDirectory(fleet: Fleet, command: string): Promise<string> {
  const cwd = join(fleet.directory, ".empty");
  await mkdir(cwd, { recursive: true });
  return execFileSync(command, { cwd, env: fleet.environment, shell: true, encoding: "utf8" });
}

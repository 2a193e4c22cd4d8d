import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Cli, createCli } from "./cli";
import type { Fleet } from "./fleet";

/** A second clone of a fleet's repository, with a journal of its own, over the same state backend. */
export interface Clone extends Disposable {
  readonly directory: string;
  readonly run: Cli;
}

/** @param behindMs how far its machine's clock is behind. */
export function cloneOf(fleet: Fleet, behindMs: number): Clone {
  const parent = mkdtempSync(join(tmpdir(), "email-security-clone-"));
  const directory = join(parent, "clone");
  execFileSync("git", ["clone", "--quiet", fleet.directory, directory]);
  return {
    directory,
    run: createCli(directory, { ...fleet.environment, ...clockBehind(behindMs) }),
    [Symbol.dispose]: () => rmSync(parent, { recursive: true, force: true }),
  };
}

/** Returns the environment of a process whose clock is behind by this much, or ahead if negative. */
export function clockBehind(behindMs: number): NodeJS.ProcessEnv {
  const clock = pathToFileURL(join(__dirname, "shifted-clock.mts"));
  clock.search = `behindMs=${behindMs}`;
  return { NODE_OPTIONS: `--import "${clock.href}"` };
}

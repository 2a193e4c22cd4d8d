import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type PulumiRun, runPulumi, toldBy, withoutColour } from "../../plan/pulumi";
import { exportStack } from "../../plan/stack-state";
import { quote } from "../../settings/text";
import { RolloutError } from "../model/errors";
import { type StacksPlace, stackCommands } from "./stack-command";
import { isLeftBehind, stackLocks } from "./stack-lock";
import { lockFolder, removeTornAttributes, removeUnnamedFiles, type StackFiles } from "./torn-files";

/** A stack, and the folder of a project in which the CLI runs on it. */
interface StackPlace extends StacksPlace {
  readonly stack: string;
}

export interface StackWithFolder extends StackPlace {
  readonly folder: string;
}

export interface RunOnStackOptions {
  /** More for the CLI's environment. */
  readonly more?: Readonly<Record<string, string>>;
  /** How long to wait for a lock whose owner may still run, in milliseconds. Default: not at all. */
  readonly lockWaitMs?: number;
  /** Gets a line for each repair. */
  readonly log: (line: string) => void;
}

const LOCK_POLL_MS = 500;

/**
 * Runs the CLI on a stack. Debris of a CLI that was killed, or ran into a full disk, is removed first from a file backend. A lock is
 * removed only where each of its owners ran on this machine and is gone.
 *
 * @throws {RolloutError} (`ERR_STACK_LOCKED`) when the stack stays locked; the message has the command that unlocks it.
 */
export async function runOnStack(
  words: readonly string[],
  place: StackWithFolder,
  { more = {}, lockWaitMs = 0, log }: RunOnStackOptions,
): Promise<PulumiRun> {
  const { stack, folder, environment } = place;
  const startedAt = Date.now();
  for (;;) {
    for (const line of await repairStackFiles(place)) log(`${line}.`);
    const args = [...words, "--stack", stack];
    const run = await runPulumi(args, { folder, base: environment, environment: more });
    const { owners, told } = stackLocks(withoutColour(`${run.stderr}\n${run.stdout}`));
    if (run.code === 0 || owners === undefined) return run;
    if (owners.every((owner) => isLeftBehind(owner))) {
      log(`The lock of the stack ${quote(stack)} was left behind by ${told}, which is gone; it is removed.`);
      await removeLocks(place);
    } else if (Date.now() - startedAt >= lockWaitMs) {
      const advice = (await isStackThere(place))
        ? await unlockAdvice(place)
        : `The stack is not made yet: where that run is gone, and only then, remove its lock from ${lockFolder(stackFiles(place))}`;
      throw new RolloutError(
        "ERR_STACK_LOCKED",
        `The stack ${quote(stack)} is locked by ${told}. Where that run still goes on, wait for its end. ${advice}`,
      );
    } else await sleep(LOCK_POLL_MS);
  }
}

/**
 * Removes what a CLI that was killed, or ran into a full disk, has left of a stack in a file backend.
 *
 * @returns what was removed, for a person.
 */
export async function repairStackFiles(place: StackPlace): Promise<readonly string[]> {
  const files = stackFiles(place);
  return [...removeTornAttributes(files), ...(await removeUnnamedFiles(files))];
}

/** The files of a stack, where its backend is one of files. */
export function stackFiles({ project, stack, environment }: StackPlace): StackFiles {
  return { backend: environment["PULUMI_BACKEND_URL"], project, stack };
}

/** Removes all locks of a stack, also where the owner of one was killed before the stack was made. */
export async function removeLocks(place: StackWithFolder): Promise<void> {
  const { stack, folder, environment } = place;
  const pulumi = async (...args: string[]): Promise<void> => {
    const run = await runPulumi(args, { folder, base: environment });
    if (run.code !== 0) throw new RolloutError("ERR_STACK_LOCKED", toldBy(run));
  };
  if (!(await isStackThere(place))) {
    // Pulumi makes no stack that is locked, and unlocks none that is not there; but it gives one this name without a look.
    const other = `${stack.slice(0, 60)}-unlocked-${randomUUID()}`;
    await pulumi("stack", "init", other, "--no-select");
    await pulumi("stack", "rename", stack, "--stack", other);
  }
  await pulumi("cancel", "--yes", "--stack", stack);
}

export async function isStackThere({ stack, folder, environment }: StackWithFolder): Promise<boolean> {
  return (await exportStack(stack, { folder, base: environment })) !== undefined;
}

/** How a person removes the lock of a run that is gone; a sentence. */
export async function unlockAdvice(place: StackPlace): Promise<string> {
  const cancel = (await stackCommands(place)).command("cancel --yes", place.stack);
  return `Where that run is gone, and only then, take its lock away, with the same PULUMI_BACKEND_URL: \`${cancel}\``;
}

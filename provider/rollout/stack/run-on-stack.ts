import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type PulumiRun, runPulumi, toldBy, withoutColour } from "../../plan/pulumi";
import { exportStack } from "../../plan/stack-state";
import { quote } from "../../settings/text";
import { RolloutError } from "../model/errors";
import { type StacksPlace, stackCommands } from "./stack-command";
import { isLeftBehind, stackLocks } from "./stack-lock";
import { lockFolder, removeTornAttributes, removeUnnamedFiles, type StackFiles } from "./torn-files";

/** A stack. The CLI also needs a project directory to run on it. */
interface StackContext extends StacksPlace {
  readonly stack: string;
}

export interface StackWithFolder extends StackContext {
  readonly folder: string;
}

export interface RunOnStackOptions {
  /** Additional environment variables for the CLI. */
  readonly more?: Readonly<Record<string, string>>;
  /** How long to wait for a lock whose owner may still be running, in milliseconds. Default: no wait. */
  readonly lockWaitMs?: number;
  /** Receives a line for each repair. */
  readonly log: (line: string) => void;
}

const LOCK_POLL_MS = 500;

/**
 * Runs the CLI on a stack. It first removes debris of a killed CLI, or of a full disk, from a file backend. It removes a lock only if
 * each of its owners ran on this machine and is gone.
 *
 * @throws {RolloutError} (`ERR_STACK_LOCKED`) if the stack stays locked. The message has the command that unlocks it.
 */
export async function runOnStack(
  subcommandArgs: readonly string[],
  context: StackWithFolder,
  { more = {}, lockWaitMs = 0, log }: RunOnStackOptions,
): Promise<PulumiRun> {
  const { stack, folder, environment } = context;
  const startedAt = Date.now();
  for (;;) {
    for (const line of await repairStackFiles(context)) log(`${line}.`);
    const args = [...subcommandArgs, "--stack", stack];
    const run = await runPulumi(args, { folder, base: environment, environment: more });
    const { owners, told } = stackLocks(withoutColour(`${run.stderr}\n${run.stdout}`));
    if (run.code === 0 || owners === undefined) return run;
    if (owners.every((owner) => isLeftBehind(owner))) {
      log(`The lock of the stack ${quote(stack)} was left behind by ${told}, which is gone; it is removed.`);
      await removeLocks(context);
    } else if (Date.now() - startedAt >= lockWaitMs) {
      const advice = (await isStackThere(context))
        ? await unlockAdvice(context)
        : `The stack is not made yet: where that run is gone, and only then, remove its lock from ${lockFolder(stackFiles(context))}`;
      throw new RolloutError(
        "ERR_STACK_LOCKED",
        `The stack ${quote(stack)} is locked by ${told}. Where that run still goes on, wait for its end. ${advice}`,
      );
    } else await sleep(LOCK_POLL_MS);
  }
}

/**
 * Removes a stack's debris of a killed CLI, or of a full disk, from a file backend.
 *
 * @returns what was removed, for people.
 */
export async function repairStackFiles(context: StackContext): Promise<readonly string[]> {
  const files = stackFiles(context);
  return [...removeTornAttributes(files), ...(await removeUnnamedFiles(files))];
}

/** The location of a stack's files, for a file backend. */
export function stackFiles({ project, stack, environment }: StackContext): StackFiles {
  return { backend: environment["PULUMI_BACKEND_URL"], project, stack };
}

/** Removes all locks of a stack, even if an owner was killed before the stack was created. */
export async function removeLocks(context: StackWithFolder): Promise<void> {
  const { stack, folder, environment } = context;
  const runStackCommand = async (...args: string[]): Promise<void> => {
    const run = await runPulumi(args, { folder, base: environment });
    if (run.code !== 0) throw new RolloutError("ERR_STACK_LOCKED", toldBy(run));
  };
  if (!(await isStackThere(context))) {
    // Pulumi neither creates a locked stack nor unlocks a missing one. However, it renames a stack to this name without checking for locks.
    const temporaryName = `${stack.slice(0, 60)}-unlocked-${randomUUID()}`;
    await runStackCommand("stack", "init", temporaryName, "--no-select");
    await runStackCommand("stack", "rename", stack, "--stack", temporaryName);
  }
  await runStackCommand("cancel", "--yes", "--stack", stack);
}

export async function isStackThere({ stack, folder, environment }: StackWithFolder): Promise<boolean> {
  return (await exportStack(stack, { folder, base: environment })) !== undefined;
}

/** Says in a sentence how a person removes the lock of a dead run. */
export async function unlockAdvice(context: StackContext): Promise<string> {
  const cancelCommand = (await stackCommands(context)).command("cancel --yes", context.stack);
  return `Where that run is gone, and only then, take its lock away, with the same PULUMI_BACKEND_URL: \`${cancelCommand}\``;
}

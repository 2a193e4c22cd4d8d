import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { quote } from "../../model/text";
import { formatPulumiOutput, type PulumiRun, runPulumi, stripAnsi } from "../../plan/pulumi-cli";
import { exportStack } from "../../plan/stack-lists";
import { RolloutError } from "../model/rollout-error";
import { isOrphanedLock, parseStackLocks } from "./parse-stack-lock";
import {
  getLockDirectory,
  removeTemporaryFiles,
  removeTruncatedAttributes,
  type StackFiles,
} from "./repair-file-backend";
import { createStackCommands, type StackProject } from "./stack-commands";

interface StackContext extends StackProject {
  readonly stack: string;
}

export interface StackWorkspace extends StackContext {
  readonly directory: string;
}

export interface RunOnStackOptions {
  readonly extraEnvironment?: Readonly<Record<string, string>>;
  /** How long to wait for a lock whose owner may still be running, in milliseconds. Default: no wait. */
  readonly lockWaitMs?: number;
  readonly log: (line: string) => void;
}

const LOCK_POLL_MS = 500;

/**
 * Runs the CLI on a stack. First, in a file backend, removes files that a killed CLI or a full disk left behind.
 * Removes a lock only if all its owners ran on this machine and have ended.
 *
 * @throws {RolloutError} (`ERR_STACK_LOCKED`) if the stack stays locked. The message has the command that unlocks it.
 */
export async function runOnStack(
  subcommandArgs: readonly string[],
  context: StackWorkspace,
  { extraEnvironment = {}, lockWaitMs = 0, log }: RunOnStackOptions,
): Promise<PulumiRun> {
  const { stack, directory, environment } = context;
  const startedAt = Date.now();
  for (;;) {
    for (const line of await repairStackFiles(context)) log(`${line}.`);
    const args = [...subcommandArgs, "--stack", stack];
    const run = await runPulumi(args, {
      directory,
      baseEnvironment: environment,
      environment: extraEnvironment,
    });
    const { owners, description } = parseStackLocks(stripAnsi(`${run.stderr}\n${run.stdout}`));
    if (run.code === 0 || owners === undefined) return run;
    if (owners.every((owner) => isOrphanedLock(owner))) {
      log(
        `The lock of the stack ${quote(stack)} was left behind by ${description}, which is no longer running; it is removed.`,
      );
      await removeStackLocks(context);
    } else if (Date.now() - startedAt >= lockWaitMs) {
      const advice = (await stackExists(context))
        ? await buildUnlockAdvice(context)
        : `The stack isn't created yet. If that run is gone, and only then, remove its lock from ${getLockDirectory(getStackFiles(context))}`;
      throw new RolloutError(
        "ERR_STACK_LOCKED",
        `The stack ${quote(stack)} is locked by ${description}. If that run is still in progress, wait until it ends. ${advice}`,
      );
    } else await sleep(LOCK_POLL_MS);
  }
}

/**
 * Removes a stack's files that a killed CLI or a full disk left behind in a file backend.
 *
 * @returns descriptions of the removed files, for people.
 */
export async function repairStackFiles(context: StackContext): Promise<readonly string[]> {
  const files = getStackFiles(context);
  return [...removeTruncatedAttributes(files), ...(await removeTemporaryFiles(files))];
}

export function getStackFiles({ project, stack, environment }: StackContext): StackFiles {
  return { backend: environment["PULUMI_BACKEND_URL"], project, stack };
}

/** Removes all locks of a stack, even if an owner was killed before the stack was created. */
export async function removeStackLocks(context: StackWorkspace): Promise<void> {
  const { stack, directory, environment } = context;
  const runStackCommand = async (...args: string[]): Promise<void> => {
    const run = await runPulumi(args, { directory, baseEnvironment: environment });
    if (run.code !== 0) throw new RolloutError("ERR_STACK_LOCKED", formatPulumiOutput(run));
  };
  if (!(await stackExists(context))) {
    // Pulumi neither creates a locked stack nor unlocks a missing one. However, it renames a stack to this name without checking for locks.
    const temporaryName = `${stack.slice(0, 60)}-unlocked-${randomUUID()}`;
    await runStackCommand("stack", "init", temporaryName, "--no-select");
    await runStackCommand("stack", "rename", stack, "--stack", temporaryName);
  }
  await runStackCommand("cancel", "--yes", "--stack", stack);
}

export async function stackExists({ stack, directory, environment }: StackWorkspace): Promise<boolean> {
  return (await exportStack(stack, { directory, baseEnvironment: environment })) !== undefined;
}

/** Returns a sentence that explains how to remove the lock of a dead run. */
export async function buildUnlockAdvice(context: StackContext): Promise<string> {
  const cancelCommand = (await createStackCommands(context)).formatCommand("cancel --yes", context.stack);
  return `If that run is gone, and only then, remove its lock, with the same PULUMI_BACKEND_URL: \`${cancelCommand}\``;
}

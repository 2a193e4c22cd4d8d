import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { quote } from "../../model/text";
import { formatPulumiOutput, type PulumiRun, parsePulumiJson, runPulumi } from "../../plan/pulumi-cli";
import { createScratchDirectory, type ScratchDirectory } from "../../system/scratch-directory";
import { findEngineCause } from "../engine/engine-causes";
import { RolloutError } from "../model/rollout-error";
import {
  describeTruncatedState,
  removeTemporaryFiles,
  removeTruncatedAttributes,
  replaceTruncatedStates,
} from "../stack/repair-file-backend";
import { runOnStack } from "../stack/run-on-stack";
import { parseLock, type RolloutLock, serializeLock, type UnreadableLock } from "./rollout-lock";

/** The Pulumi project in which every rollout of a state backend stores its lock, as a stack. */
export const LOCKS_PROJECT = "email-security-rollouts";

/** Far longer than it takes to write a lock. */
const STORE_LOCK_WAIT_MS = 10_000;

/**
 * The locks of rollouts in a state backend. The Pulumi CLI reads and writes them, so they are stored with the stacks. A
 * lock is a stack without resources, and its outputs hold the lock. Only its own rollout writes an open lock. Files
 * that killed runs left behind are removed, as for the stacks of tenants.
 */
export class PulumiLockStore implements Disposable {
  readonly #directory: ScratchDirectory;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #backendLabel: string;
  readonly #log: (line: string) => void;

  /**
   * @param environment the environment of the CLI, with the state backend and without any key.
   * @param backendLabel the state backend, safe to display.
   */
  constructor(environment: NodeJS.ProcessEnv, backendLabel: string, log: (line: string) => void = () => {}) {
    this.#directory = createScratchDirectory("locks");
    writeFileSync(join(this.#directory.path, "Pulumi.yaml"), stringify({ name: LOCKS_PROJECT, runtime: "nodejs" }));
    const hasPassphrase = ["PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"].some(
      (name) => environment[name] !== undefined,
    );
    // A lock has no secrets, but the CLI requires a passphrase anyway.
    this.#environment = hasPassphrase ? environment : { ...environment, PULUMI_CONFIG_PASSPHRASE: "" };
    this.#backendLabel = backendLabel;
    this.#log = log;
  }

  /**
   * Reads all locks.
   *
   * @param excludedRollout a rollout to omit, because the caller has just written its lock.
   * @throws {RolloutError} (`ERR_ROLLOUT_LOCKS`) if they can't be read, because open rollouts would go unnoticed.
   */
  async read(excludedRollout?: string): Promise<readonly (RolloutLock | UnreadableLock)[]> {
    const listRun = await this.#list();
    const stacks = parsePulumiJson(listRun.stdout, "The list of stacks") as readonly {
      readonly name: string;
    }[];
    const ids = stacks
      .map(({ name }) => name.slice(name.lastIndexOf("/") + 1))
      .filter((id) => ROLLOUT_ID.test(id) && id !== excludedRollout);
    const locks: (RolloutLock | UnreadableLock)[] = [];
    for (const id of ids.sort()) {
      const lock = await this.get(id);
      if (lock !== undefined) locks.push(lock);
    }
    return locks;
  }

  async get(rollout: string): Promise<RolloutLock | UnreadableLock | undefined> {
    const run = await this.#runPulumi("read", rollout, "stack", "export");
    // Removed after it was listed, for example by a rollout that has finished.
    if (run.code !== 0 && isStackMissing(run)) return undefined;
    if (run.code !== 0) throw this.#buildError("read", run);
    const { deployment } = parsePulumiJson(run.stdout, "A lock") as ExportedLockStack;
    return parseLock(rollout, deployment?.resources?.[0]?.outputs?.["lock"]);
  }

  /**
   * Writes a lock, and replaces the rollout's previous one.
   *
   * @param isFirst whether the rollout has no lock yet, as far as is known. This only saves a run of the CLI.
   */
  async write(lock: RolloutLock, isFirst = false): Promise<void> {
    const { rollout } = lock;
    const file = join(this.#directory.path, `${rollout}.json`);
    writeFileSync(file, JSON.stringify(buildDeployment(lock)), { mode: 0o600 });
    const importLock = async (): Promise<PulumiRun> =>
      await this.#runPulumi("written", rollout, "stack", "import", "--file", file);
    if (!isFirst) {
      const run = await importLock();
      if (run.code === 0) return;
      if (!isStackMissing(run)) throw this.#buildError("written", run);
    }
    const initRun = await this.#runPulumi("written", rollout, "stack", "init", "--no-select");
    if (initRun.code !== 0 && !/already exists/.test(initRun.stderr)) throw this.#buildError("written", initRun);
    const run = await importLock();
    if (run.code !== 0) throw this.#buildError("written", run);
  }

  /** Removes a lock. Succeeds if it doesn't exist. */
  async remove(rollout: string): Promise<void> {
    const run = await this.#runPulumi("removed", rollout, "stack", "rm", "--yes", "--remove-backups");
    if (run.code !== 0 && !isStackMissing(run)) throw this.#buildError("removed", run);
  }

  [Symbol.dispose](): void {
    this.#directory[Symbol.dispose]();
  }

  get #projectFiles(): { readonly backend: string | undefined; readonly project: string } {
    return { backend: this.#environment["PULUMI_BACKEND_URL"], project: LOCKS_PROJECT };
  }

  async #list(): Promise<PulumiRun> {
    for (const line of [
      ...removeTruncatedAttributes(this.#projectFiles),
      ...(await removeTemporaryFiles(this.#projectFiles)),
    ]) {
      this.#log(`${line}.`);
    }
    this.#replaceTruncated(this.#projectFiles);
    const args = ["stack", "ls", "--json", "--project", LOCKS_PROJECT];
    const run = await runPulumi(args, {
      directory: this.#directory.path,
      baseEnvironment: this.#environment,
    });
    if (run.code !== 0) throw this.#buildError("read", run);
    return run;
  }

  #replaceTruncated(files: Parameters<typeof replaceTruncatedStates>[0]): void {
    for (const line of replaceTruncatedStates(files)) this.#log(`${line}.`);
  }

  async #runPulumi(action: string, stack: string, ...args: string[]): Promise<PulumiRun> {
    const target = {
      project: LOCKS_PROJECT,
      stack,
      directory: this.#directory.path,
      environment: this.#environment,
    };
    // A truncated lock would prevent Pulumi from replacing the state.
    for (const line of await removeTemporaryFiles({ ...this.#projectFiles, stack })) this.#log(`${line}.`);
    this.#replaceTruncated({ ...this.#projectFiles, stack });
    try {
      return await runOnStack(args, target, { lockWaitMs: STORE_LOCK_WAIT_MS, log: this.#log });
    } catch (error) {
      const isLocked = error instanceof RolloutError && error.code === "ERR_STACK_LOCKED";
      throw isLocked ? this.#buildError(action, error.message) : error;
    }
  }

  #buildError(action: string, failure: PulumiRun | string): RolloutError {
    // Pulumi lists no stacks at all if the state of one is truncated.
    const truncatedState = describeTruncatedState(this.#projectFiles, "the rollout's lock next to the stacks is lost");
    const details = typeof failure === "string" ? failure : (truncatedState ?? formatPulumiOutput(failure));
    const cause = findEngineCause(details);
    const advice = cause === undefined ? "" : `\n${cause.advice}.`;
    return new RolloutError(
      "ERR_ROLLOUT_LOCKS",
      `The locks of rollouts next to the stacks (the project ${LOCKS_PROJECT} in ${quote(this.#backendLabel, 300)}) can't be ${action}:\n${details}${advice}`,
    );
  }
}

interface ExportedLockStack {
  readonly deployment?: {
    readonly resources?: readonly { readonly outputs?: Readonly<Record<string, unknown>> }[];
  };
}

const ROLLOUT_ID = /^\d{8}-\d{4}-[0-9a-f]{6}$/;

function isStackMissing({ stderr }: PulumiRun): boolean {
  return /no stack named.*found/.test(stderr);
}

function buildDeployment(lock: RolloutLock): unknown {
  const type = "pulumi:pulumi:Stack";
  const urn = `urn:pulumi:${lock.rollout}::${LOCKS_PROJECT}::${type}::${LOCKS_PROJECT}-${lock.rollout}`;
  return {
    version: 3,
    deployment: {
      manifest: { time: lock.at, magic: "", version: "" },
      resources: [{ urn, custom: false, type, outputs: { lock: serializeLock(lock) } }],
    },
  };
}

import { join } from "node:path";
import type { ReadCache } from "../gitops/files/read-settings";
import type { Guard } from "../gitops/plan/plan";
import { eachAtOnce } from "../settings/at-once";
import { hashOf } from "../settings/plan-digest";
import { withoutUndefined } from "../settings/without-undefined";
import { RolloutError } from "./errors";
import { layOut, packFiles } from "./file-bundle";
import type { Journal, PackedFiles, PlannedTenant, RolloutSpec } from "./journal/journal";
import type { PermitOffice } from "./permits/permit-office";
import { failedPlan, planTarget, type TargetPlan } from "./plan-target";
import { projectFolder, type StateBackend } from "./state-backend";
import { readKey } from "./targets/read-key";
import { findSameKeys, SameKeyError } from "./targets/same-key";
import type { Target } from "./targets/target";
import { withoutKeys } from "./tenant-environment";
import { limitOf } from "./tenant-job";

/** What a rollout is planned with. */
export interface PlanRolloutOptions {
  readonly journal: Journal;
  readonly office: PermitOffice;
  readonly backend: StateBackend;
  /** Where keys come from, and what the CLI is given beside them. */
  readonly environment: NodeJS.ProcessEnv;
  /** How many tenants are planned at once. */
  readonly concurrency: number;
  /** Whether the engine runs for every tenant, even where nothing is to be done. Default: false. */
  readonly alwaysRunEngine?: boolean;
  /** Files of another time, in the place of those of the working folder. */
  readonly files?: PackedFiles;
  /** Ends the planning: what was planned is forgotten. */
  readonly stopping?: AbortSignal;
  /** Told how many tenants are planned. */
  readonly onProgress?: (planned: number, of: number) => void;
}

/** A rollout that was planned; nothing was written to any tenant. */
export interface PlannedRollout {
  readonly id: string;
  /** What was reviewed: over the plans of all tenants. */
  readonly digest: string;
  /** How many tenants may fail in the whole rollout; absent: no limit but those of the waves. */
  readonly tolerated?: number;
  /** Where the state of all stacks is, as it may be shown. */
  readonly backend: string;
  /** What keeps it from beginning, by tenant. */
  readonly guards: readonly { readonly tenant: string; readonly guard: Guard }[];
}

/** Plans that are written to the journal together. */
const BATCH = 20;

/**
 * Plans every tenant, and writes the plans and the files that they were made of into the journal. A tenant that can't be
 * planned is its own failure. Holds no more than a few plans in memory, however many tenants there are.
 *
 * @throws {SameKeyError} when two are the same tenant of the service.
 * @throws {RolloutError} (`ERR_ROLLOUT_STOPPED`) when it was stopped.
 */
export async function planRollout(
  spec: RolloutSpec,
  targets: readonly Target[],
  options: PlanRolloutOptions,
): Promise<PlannedRollout> {
  const { journal, office, backend, environment, concurrency, alwaysRunEngine = false, onProgress } = options;
  const goOn = (): void => {
    if (options.stopping?.aborted !== true) return;
    throw new RolloutError("ERR_ROLLOUT_STOPPED", "The planning was stopped. Nothing was changed.");
  };
  const { keys, failed } = await readKeys(targets, { environment, concurrency, goOn });
  const same = findSameKeys(keys);
  if (same.length > 0) throw new SameKeyError(same);

  const id = await journal.create(spec, targets);
  const files = new Set<string>();
  const guards: { tenant: string; guard: Guard }[] = [];
  const digests = new Map<string, string>();
  let unwritten: PlannedTenant[] = [];
  const write = async (planned: readonly PlannedTenant[]): Promise<void> => {
    for (const { name, state, digest, error } of planned) {
      digests.set(name, `${state} ${error?.code ?? digest}`);
    }
    await journal.planned(id, planned);
    onProgress?.(digests.size, targets.length);
  };
  const work = layOut({ bundle: new Map(), folder: "." }, spec.project, backend.url);
  const old = options.files === undefined ? undefined : layOut(options.files, spec.project, backend.url);
  try {
    const context = {
      today: spec.today,
      folder: work.path,
      ...(old === undefined ? {} : { root: old.path }),
      environment: engineEnvironment(environment, spec.keyVariables, backend),
      cache: new Map() as ReadCache,
      permits: (target: Target) => office.permits(target.baseUrl, limitOf(spec.services, target)),
      alwaysRunEngine,
    };
    await write(failed);
    const planOne = async ([target, key]: readonly [Target, string]): Promise<void> => {
      const plan: TargetPlan = await planTarget(target, key, context);
      goOn();
      for (const file of plan.files) files.add(file);
      for (const guard of plan.guards) guards.push({ tenant: target.name, guard });
      unwritten.push(plan.planned);
      if (unwritten.length < BATCH) return;
      const batch = unwritten;
      unwritten = [];
      await write(batch);
    };
    const [first, ...others] = keys;
    // By itself: whoever opens a new PostgreSQL backend first makes Pulumi's table there, and fails when two do so at once.
    if (first !== undefined) await planOne(first);
    await eachAtOnce(others, concurrency, planOne);
    await write(unwritten);
    const digest = digestOfRollout(spec, targets, digests);
    const packed = options.files ?? packFiles(files, stackFilesOf(spec, targets));
    await journal.planningDone(id, digest, packed);
    return { id, digest, guards, backend: backend.shown, ...withoutUndefined({ tolerated: spec.tolerated }) };
  } catch (error) {
    await journal.forget(id);
    throw error;
  } finally {
    work.remove();
    old?.remove();
  }
}

/**
 * What a review holds for: what becomes of each tenant, and how: the waves with all that they wait for, the limits, and where
 * each tenant, its stack and its key are. Until `r1`, the plans of the tenants held for less than they show.
 */
function digestOfRollout(
  spec: RolloutSpec,
  targets: readonly Target[],
  digests: ReadonlyMap<string, string>,
): string {
  const { project, waves, tolerated, services, backend, rollsBack } = spec;
  const tenants = targets.map(({ name, baseUrl, key, stack, resource, settings }) => [
    name,
    baseUrl,
    key,
    stack,
    resource,
    settings,
    digests.get(name),
  ]);
  return `r2-${hashOf([project, waves, tolerated, services, backend, rollsBack, tenants])}`;
}

/** What a stack is configured with, where the user's project has it: by its name beside the project. */
export function stackFilesOf(
  { source }: RolloutSpec,
  targets: readonly Target[],
): ReadonlyMap<string, string> {
  const folder = projectFolder(source);
  return new Map(
    targets.map(({ stack }) => {
      const name = `Pulumi.${stack.split("/").at(-1)}.yaml`;
      return [name, join(folder, name)] as const;
    }),
  );
}

/** The environment of the CLI: with the state backend, and without any tenant's key. */
export function engineEnvironment(
  environment: NodeJS.ProcessEnv,
  keyVariables: readonly string[] | undefined,
  { url }: Pick<StateBackend, "url">,
): NodeJS.ProcessEnv {
  const own = withoutKeys(environment, keyVariables);
  return url === undefined ? own : { ...own, PULUMI_BACKEND_URL: url };
}

async function readKeys(
  targets: readonly Target[],
  {
    environment,
    concurrency,
    goOn,
  }: {
    readonly environment: NodeJS.ProcessEnv;
    readonly concurrency: number;
    readonly goOn: () => void;
  },
): Promise<{ readonly keys: ReadonlyMap<Target, string>; readonly failed: readonly PlannedTenant[] }> {
  const keys = new Map<Target, string>();
  const failed: PlannedTenant[] = [];
  await eachAtOnce(targets, concurrency, async (target) => {
    goOn();
    try {
      keys.set(target, await readKey(target, { environment }));
    } catch (error) {
      failed.push(failedPlan(target, error));
    }
  });
  return { keys, failed };
}

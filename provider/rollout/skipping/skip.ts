import { ConfigurationError } from "../../client";
import { formatFirst, quote } from "../../settings/text";
import type { Journal } from "../journal/journal";
import type { RolloutRecord, RolloutScope } from "../journal/rollout-record";
import {
  createSkipLookup,
  endSkips,
  listSkips,
  readActiveSkips,
  type Skip,
  type SkippedTenantState,
  type SkipResult,
  skipTenants,
} from "../journal/skips";
import { getOperatorName } from "../model/origin";
import { RolloutError } from "../model/rollout-error";
import { getProjectDirectory, resolveStateBackend } from "../stack/state-backend";
import { readTargets } from "../targets/read-targets";
import { compileGlob, SelectionError, selectTargets } from "../targets/select-targets";
import { TargetsFileError } from "../targets/targets-file-error";

/** The tenants to skip or unskip, and the context of the request. */
export interface SkipRequest {
  /** The targets file. */
  readonly file: string;
  readonly names: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly nowMs: number;
}

const MAX_REASON_LENGTH = 1_000;

/**
 * Makes all rollouts of this journal skip tenants, until {@link endSkip}. A tenant that is skipped already keeps its first reason. Changes
 * no tenant.
 *
 * @throws {ConfigurationError} if the reason is missing or too long.
 * @throws {SelectionError} if the targets file doesn't name one of the tenants.
 * @throws {RolloutError} (`ERR_ROLLOUT_NOT_FOUND`) if all rollouts of this project in the journal have another state backend.
 */
export async function addSkip(
  journal: Journal,
  reason: string | undefined,
  { file, names, environment, nowMs }: SkipRequest,
): Promise<SkipResult> {
  const trimmedReason = reason?.trim() ?? "";
  if (trimmedReason === "" || trimmedReason.length > MAX_REASON_LENGTH) {
    const problem = trimmedReason === "" ? "is missing" : `is longer than ${MAX_REASON_LENGTH} characters`;
    throw new ConfigurationError(
      `The reason for the skip ${problem}: every plan and run shows it until the tenant is unskipped. Nothing was changed. Set --reason TEXT.`,
    );
  }
  const { targets, project } = readTargets(file);
  const tenants = selectTargets(targets, { only: names });
  const scope = { project, backend: resolveStateBackend(environment, getProjectDirectory(file)).fingerprint };
  await assertBackendKnown(journal, scope);
  return await skipTenants(journal.database, scope, tenants, {
    reason: trimmedReason,
    by: getOperatorName(environment),
    nowMs,
  });
}

/** The result of {@link endSkip}. */
export interface UnskipResult {
  readonly skips: readonly Skip[];
  /** The unfinished rollouts that skip the tenants. */
  readonly rollouts: readonly SkippedTenantState[];
  /** The names of the tenants that the targets file still has. All of them if the file can't be read. */
  readonly declared: readonly string[];
}

/**
 * Ends the skips of tenants, including tenants that the targets file no longer names. Changes no tenant.
 *
 * @throws {SelectionError} if a tenant is not skipped, or its name is ambiguous.
 */
export async function endSkip(journal: Journal, request: SkipRequest): Promise<UnskipResult> {
  const { environment, names, nowMs } = request;
  const scope = readSkipScope(request);
  const activeSkips = await listCurrentSkips(journal, request);
  const selectedNames = new Set(names.flatMap((name) => expandSkipNames(activeSkips, name, scope)));
  const skips = [...selectedNames].map((name) => findSkip(activeSkips, name, scope));
  const by = getOperatorName(environment);
  const rollouts = await endSkips(journal.database, skips, { by, nowMs });
  const isStillDeclared = ({ stack }: Skip): boolean => scope.names?.has(stack) ?? true;
  return { skips, rollouts, declared: skips.filter(isStillDeclared).map(({ name }) => name) };
}

/** Lists all current skips. A renamed tenant appears with its name in the targets file. */
export async function listCurrentSkips(
  { database }: Journal,
  request: Pick<SkipRequest, "file" | "environment">,
): Promise<readonly Skip[]> {
  const { project, backend, names } = readSkipScope(request);
  return (await listSkips(database)).map((candidate) =>
    candidate.project === project && candidate.backend === backend
      ? { ...candidate, name: names?.get(candidate.stack) ?? candidate.name }
      : candidate,
  );
}

/**
 * Lists the current skips of a rollout's tenants, and of tenants that its plan excluded and the targets file still
 * names. They have their names in the rollout.
 */
export async function listRolloutSkips(journal: Journal, { id, spec }: RolloutRecord): Promise<readonly Skip[]> {
  const skips = await readActiveSkips(journal.database, spec);
  if (skips.size === 0) return [];
  const rolloutNames = new Map((await journal.listTenants(id)).map(({ name, target }) => [target.stack, name]));
  const findSkip = createSkipLookup(spec.skipped);
  const declared = readSkipScope({ file: spec.source, environment: process.env }).names;
  return [...skips.values()].flatMap((addSkip) => {
    const excludedName = declared?.has(addSkip.stack) === false ? undefined : findSkip(addSkip)?.name;
    const name = rolloutNames.get(addSkip.stack) ?? excludedName;
    return name === undefined ? [] : [{ ...addSkip, name }];
  });
}

/** Expands a name with `*`, only within this project and state backend. */
function expandSkipNames(
  activeSkips: readonly Skip[],
  name: string,
  { project, backend }: Partial<RolloutScope>,
): readonly string[] {
  if (!name.includes("*")) return [name];
  const matches = compileGlob(name);
  const ownSkips = activeSkips.filter(
    (candidate) => candidate.project === project && candidate.backend === backend && matches(candidate.name),
  );
  return ownSkips.length > 0 ? ownSkips.map((candidate) => candidate.name) : [name];
}

function findSkip(activeSkips: readonly Skip[], name: string, scope: Partial<RolloutScope>): Skip {
  const skipsByName = activeSkips.filter((candidate) => candidate.name === name);
  const ownSkips = skipsByName.filter(
    (candidate) => candidate.project === scope.project && candidate.backend === scope.backend,
  );
  const [match, secondMatch] = ownSkips.length > 0 ? ownSkips : skipsByName;
  if (match === undefined) {
    const knownNames = formatFirst(activeSkips, (candidate) => quote(candidate.name));
    const skippedText = activeSkips.length === 0 ? "no tenant is skipped" : `skipped tenants: ${knownNames}`;
    throw new SelectionError(`${quote(name)} is not skipped; ${skippedText}. Nothing was changed.`);
  }
  if (secondMatch !== undefined) {
    throw new SelectionError(
      `${quote(name)} is skipped in several projects or state backends. Nothing was changed. Specify the targets file of the intended one (--targets), and set PULUMI_BACKEND_URL as for its rollouts.`,
    );
  }
  return match;
}

/**
 * Returns the project and the backend, as far as they are known. A broken or missing targets file must not prevent
 * ending a skip.
 */
function readSkipScope({ file, environment }: Pick<SkipRequest, "file" | "environment">): Partial<RolloutScope> & {
  readonly names?: ReadonlyMap<string, string>;
} {
  try {
    const { project, targets } = readTargets(file);
    const names = new Map(targets.map(({ name, stack }) => [stack, name]));
    return {
      project,
      names,
      backend: resolveStateBackend(environment, getProjectDirectory(file)).fingerprint,
    };
  } catch (error) {
    if (error instanceof TargetsFileError || error instanceof ConfigurationError) return {};
    throw error;
  }
}

/** Rejects a skip that no rollout would honour, because the user would rely on it. */
async function assertBackendKnown(
  journal: Journal,
  { project, backend }: Required<Omit<RolloutScope, "stacks">>,
): Promise<void> {
  const projectRecords = (await journal.listRollouts()).filter(({ spec }) => spec.project === project);
  const [first] = projectRecords;
  if (first === undefined || projectRecords.some(({ spec }) => spec.backend === backend)) return;
  throw new RolloutError(
    "ERR_ROLLOUT_NOT_FOUND",
    `The journal has ${projectRecords.length === 1 ? "a rollout" : `${projectRecords.length} rollouts`} of the project ${quote(project)}, such as ${first.id}, all with another state backend than this run. The skip would not affect them. Nothing was changed. Set PULUMI_BACKEND_URL as for these rollouts.`,
  );
}

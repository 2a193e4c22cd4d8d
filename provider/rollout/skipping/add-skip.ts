import { ConfigurationError } from "../../client";
import { formatFirstItems, quote } from "../../model/text";
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
} from "../journal/tenant-skips";
import { getOperatorName } from "../model/origin";
import { RolloutError } from "../model/rollout-error";
import { getProjectDirectory, resolveStateBackend } from "../stack/state-backend";
import { readTargets } from "../targets/read-targets";
import { compileGlob, SelectionError, selectTargets } from "../targets/select-targets";
import { TargetsFileError } from "../targets/targets-file-error";

export interface SkipRequest {
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

export interface UnskipResult {
  readonly skips: readonly CurrentSkip[];
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
  const skips = [...new Set(names.flatMap((name) => selectSkips(activeSkips, name, scope)))];
  const by = getOperatorName(environment);
  const rollouts = await endSkips(journal.database, skips, { by, nowMs });
  return {
    skips,
    rollouts,
    declared: skips.filter(({ isFormer }) => isFormer !== true).map(({ name }) => name),
  };
}

export interface CurrentSkip extends Skip {
  /** Whether the targets file no longer names its tenant. It may name another one of that name. Default: false. */
  readonly isFormer?: boolean;
}

/** Lists all current skips. A renamed tenant appears with its name in the targets file. */
export async function listCurrentSkips(
  { database }: Journal,
  request: Pick<SkipRequest, "file" | "environment">,
): Promise<readonly CurrentSkip[]> {
  const { project, backend, names } = readSkipScope(request);
  return (await listSkips(database)).map((candidate) => {
    if (candidate.project !== project || candidate.backend !== backend || names === undefined) return candidate;
    const name = names.get(candidate.stack);
    return name === undefined ? { ...candidate, isFormer: true } : { ...candidate, name };
  });
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
    // The targets file may have another tenant with the name of a former one.
    const isFormer = declared?.has(addSkip.stack) === false;
    const name = isFormer ? undefined : (rolloutNames.get(addSkip.stack) ?? findSkip(addSkip)?.name);
    return name === undefined ? [] : [{ ...addSkip, name }];
  });
}

/**
 * Selects skips by a name, which may contain `*`. Skips of this project and state backend come first, and only they match `*`. The tenant of
 * that name in the targets file comes before former tenants of that name.
 */
function selectSkips(
  activeSkips: readonly CurrentSkip[],
  name: string,
  { project, backend }: SkipScope,
): readonly CurrentSkip[] {
  const ownSkips = activeSkips.filter((candidate) => candidate.project === project && candidate.backend === backend);
  if (name.includes("*")) {
    const matches = compileGlob(name);
    const matchingSkips = ownSkips.filter((candidate) => matches(candidate.name));
    if (matchingSkips.length > 0) return matchingSkips;
  }
  const ownByName = ownSkips.filter((candidate) => candidate.name === name);
  const declaredSkip = ownByName.find(({ isFormer }) => isFormer !== true);
  if (declaredSkip !== undefined) return [declaredSkip];
  if (ownByName.length > 0) return ownByName;
  const [match, secondMatch] = activeSkips.filter((candidate) => candidate.name === name);
  if (match === undefined) {
    const knownNames = formatFirstItems(activeSkips, (candidate) => quote(candidate.name));
    const skippedText = activeSkips.length === 0 ? "no tenant is skipped" : `skipped tenants: ${knownNames}`;
    throw new SelectionError(`${quote(name)} is not skipped; ${skippedText}. Nothing was changed.`);
  }
  if (secondMatch !== undefined) {
    throw new SelectionError(
      `${quote(name)} is skipped in several projects or state backends. Nothing was changed. Specify the targets file of the intended one (--targets), and set PULUMI_BACKEND_URL as for its rollouts.`,
    );
  }
  return [match];
}

interface SkipScope extends Partial<RolloutScope> {
  /** The names in the targets file by stack. Absent if the file can't be read. */
  readonly names?: ReadonlyMap<string, string>;
}

/**
 * Returns the project and the backend, as far as they are known. A broken or missing targets file must not prevent
 * ending a skip.
 */
function readSkipScope({ file, environment }: Pick<SkipRequest, "file" | "environment">): SkipScope {
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

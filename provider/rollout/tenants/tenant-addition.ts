import { existsSync } from "node:fs";
import { normalize, resolve } from "node:path";
import { ConfigurationError } from "../../client";
import { EmailSecurityError } from "../../model/email-security-error";
import type { SettingsElement } from "../../model/entry-fields";
import { isEmptyTenantAccepted } from "../../model/mail-domains";
import { quote } from "../../model/text";
import { buildDesiredState } from "../../plan/desired-state";
import { getObservedIdentity, type ObservedState } from "../../plan/observed-state";
import type { Plan } from "../../plan/plan";
import { parseStackLists } from "../../plan/stack-lists";
import { OtherTenantError } from "../../resources/lifecycle/errors";
import type { ChangedFile } from "../../settings-files/edit-files";
import { type Finding, SettingsFileError } from "../../settings-files/finding";
import { lintSettings } from "../../settings-files/lint";
import { readSettings } from "../../settings-files/read-settings";
import { createFileReader } from "../../settings-files/read-yaml-file";
import type { Target } from "../model/target";
import { buildTenantPlan } from "../planning/plan-target";
import { findSameKeys, SameKeyError } from "../targets/find-same-keys";
import { readKey } from "../targets/read-key";
import {
  findTenantConflicts,
  type IdentityRecords,
  isAcceptedConflict,
  SameTenantError,
} from "../targets/tenant-conflicts";
import { type DeclaredTenant, findLikelyTenant, findSharedFiles } from "./declared-tenants";
import { getIncludePath, type TenantPlacement } from "./place-tenant";
import type { StackRemoval } from "./stack-removal";
import { type Baseline, buildTenantFile, type TenantFile } from "./tenant-file";

export interface TenantAdditionOptions {
  readonly file: string;
  readonly today: string;
  readonly host: string;
  readonly ownDomains: readonly string[];
  readonly baseline: Baseline | undefined;
  readonly facts: SettingsElement;
  /** Tenants that this one may resemble, but that a person has confirmed to be different. */
  readonly confirmedDistinct: readonly string[];
  readonly existingTenants: readonly DeclaredTenant[];
  /** The identities of the existing tenants from earlier rollouts. Default: none. */
  readonly remembered?: IdentityRecords;
  readonly environment: NodeJS.ProcessEnv;
  /** The stack with the tenant's name. Default: unknown. */
  readonly stack?: ExistingStack;
}

/** A stack that may remain from before the tenant was removed from the targets file. */
export type ExistingStack = Pick<StackRemoval, "exists" | "known" | "marker">;

export interface TenantAddition {
  readonly files: readonly ChangedFile[];
  readonly tenantFile: TenantFile;
  /** The plan of the new files for the tenant's stack, or for a new one if the stack is unknown. */
  readonly plan: Plan;
  /** Whether the stack exists already. Undefined: unknown. */
  readonly hasStack: boolean | undefined;
}

/**
 * Finds the baseline that all tenants share: the named file, or else the file that more than half of the others include.
 *
 * @param baselineOption the name that the user gave; false: no baseline.
 * @param unreadableTargets other tenants whose files can't be read.
 * @throws {ConfigurationError} if the named file doesn't exist, several files qualify, or the choice depends on unreadable files.
 * @throws {SettingsFileError} if the baseline can't be used.
 */
export function findBaseline(
  { settings }: Target,
  baselineOption: string | false | undefined,
  declaredTenants: readonly DeclaredTenant[],
  unreadableTargets: readonly Target[],
  today: string,
): Baseline | undefined {
  if (baselineOption === false) return undefined;
  const sharedPaths =
    baselineOption === undefined ? findSharedFiles(declaredTenants, unreadableTargets.length) : [baselineOption];
  const [firstUnreadable] = unreadableTargets;
  if (sharedPaths === undefined && firstUnreadable !== undefined) {
    throw new ConfigurationError(
      `The file that the others include is unknown: the settings files of ${unreadableTargets.length} of ${declaredTenants.length + unreadableTargets.length} tenants can't be read, the first is ${quote(firstUnreadable.settings, 300)}. Nothing was written. Fix them (\`email-security lint\` shows the cause); or set --baseline to the baseline, or use --no-baseline.`,
    );
  }
  if (sharedPaths === undefined) return undefined;
  if (sharedPaths.length > 1) {
    const pathsText = sharedPaths.map((path) => quote(path, 300)).join(", ");
    throw new ConfigurationError(
      `The other tenants all include several files: ${pathsText}. Set --baseline to the baseline, or use --no-baseline.`,
    );
  }
  const [file] = sharedPaths;
  if (file === undefined) return undefined;
  if (!existsSync(file)) throw new ConfigurationError(`There is no file ${quote(file, 300)} to include.`);
  return { include: getIncludePath(settings, file), settings: readSettings(file, { today, ownDomains: [] }) };
}

/**
 * Checks that the key isn't the key of an existing tenant. Skips other keys that can't be read here without running a command.
 *
 * @throws {SameKeyError} (`ERR_ROLLOUT_SAME_KEY`) if another tenant has the same key.
 * @throws any error that prevents reading the key itself.
 */
export async function assertUniqueKey(
  target: Target,
  others: readonly Target[],
  environment: NodeJS.ProcessEnv,
): Promise<void> {
  const keys = new Map([[target, await readKey(target, { environment })]]);
  for (const other of others) {
    if (other.key.from === "command") continue;
    const key = await readKey(other, { environment }).catch(() => undefined);
    if (key !== undefined) keys.set(other, key);
  }
  const sameKeyGroups = findSameKeys(keys).filter((group) => group.includes(target));
  if (sameKeyGroups.length > 0) throw new SameKeyError(sameKeyGroups);
}

/**
 * Builds the files that add a tenant, and the plan of a first rollout. Writes nothing.
 *
 * @throws {SameTenantError} (`ERR_OTHER_TENANT`) if a rollout read the same tenant with another key.
 * @throws {OtherTenantError} if it seems to be an existing tenant, or none of the own domains occur among its users.
 * @throws {SettingsFileError} if the baseline's rules reject the contents of the tenant.
 */
export function planTenantAddition(
  placedTenant: TenantPlacement,
  observed: ObservedState,
  options: TenantAdditionOptions,
): TenantAddition {
  const { target, textBefore, textAfter, isNewFile } = placedTenant;
  const {
    file,
    today,
    host,
    ownDomains,
    baseline,
    facts: metadata,
    confirmedDistinct,
    existingTenants,
    remembered,
    environment,
    stack,
  } = options;
  const identities = new Map([[target, getObservedIdentity(target.baseUrl, observed)]]);
  const sameTenantGroups = findTenantConflicts(identities, remembered).filter(
    (conflict) => !isAcceptedConflict(conflict, (name) => isEmptyTenantAccepted(environment, name)),
  );
  if (sameTenantGroups.length > 0) throw new SameTenantError(sameTenantGroups);
  const likelyTenant = findLikelyTenant(
    observed,
    existingTenants.filter((declaredTenant) => !confirmedDistinct.includes(declaredTenant.target.name)),
  );
  if (likelyTenant !== undefined) {
    const { name } = likelyTenant.target;
    throw new OtherTenantError(
      `${quote(target.name)} looks like an existing tenant: ${likelyTenant.evidence}. Nothing was written, to files or to the service. Check which tenant the key belongs to. If these are two tenants of the service, add --distinct-from ${name}.`,
    );
  }
  const newFile = buildTenantFile(observed, { host, ownDomains, metadata, ...(baseline && { baseline }) });
  const readFromDisk = createFileReader(target.settings);
  const readFile = (path: string): string =>
    resolve(path) === resolve(target.settings) ? newFile.text : readFromDisk(path);
  const { settings, findings } = lintSettings(target.settings, { today, ownDomains: [], readFile });
  if (settings === undefined) throw buildBaselineError(target.settings, findings);
  const stackLists = stack?.known ?? parseStackLists({}, target.stack, undefined);
  const desired = buildDesiredState(settings, stackLists, findings);
  const plan = buildTenantPlan(target, settings, desired, observed, host, { acceptanceEnvironment: environment });
  const files: ChangedFile[] = [
    { file: target.settings, before: "", after: newFile.text, action: "create" },
    { file: normalize(file), before: textBefore, after: textAfter, ...(isNewFile ? { action: "create" } : {}) },
  ];
  return { files, tenantFile: newFile, plan, hasStack: stack?.exists };
}

/** Builds the error for generated settings that are invalid. Usually a team's rules require a field that the service doesn't provide. */
function buildBaselineError(file: string, findings: readonly Finding[]): EmailSecurityError {
  const { message } = new SettingsFileError(file, findings);
  return new EmailSecurityError(
    "ERR_SETTINGS_FILE",
    `The settings file for the tenant's content would violate the rules of its included files. Nothing was written. --ticket, --owner, --approved-by and --for set these fields for everything that the file declares; --no-baseline omits the rules.\n${message}`,
  );
}

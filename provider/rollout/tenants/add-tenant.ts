import { existsSync } from "node:fs";
import { normalize, resolve } from "node:path";
import { ConfigurationError } from "../../client";
import type { ChangedFile } from "../../files/change-files";
import { type Finding, SettingsFileError } from "../../files/finding";
import { lintSettings } from "../../files/lint";
import { readSettings } from "../../files/read-settings";
import { readerFrom } from "../../files/read-source";
import { type Baseline, type TenantFile, tenantFile } from "../../gitops/tenant-file";
import { desiredOf } from "../../plan/desired";
import { identityOfObserved, type Observed } from "../../plan/observed";
import type { Plan } from "../../plan/plan";
import { knownLists } from "../../plan/stack-state";
import { OtherTenantError } from "../../resources/lifecycle/errors";
import { EmailSecurityError } from "../../settings/email-security-error";
import type { Element } from "../../settings/entry-fields";
import { quote } from "../../settings/text";
import type { Target } from "../model/target";
import { planOf } from "../planning/plan-target";
import { readKey } from "../targets/read-key";
import { findSameKeys, SameKeyError } from "../targets/same-key";
import { findSameTargets, type RememberedTenants, SameTenantError } from "../targets/same-tenant";
import type { GoingStack } from "./going-stack";
import { includePath, type PlacedTenant } from "./place-tenant";
import { knownAs, type StandingTenant, sharedFiles } from "./standing-tenants";

/** How a tenant is taken in. */
export interface AddOptions {
  /** The targets file. */
  readonly file: string;
  readonly today: string;
  /** The service's host. */
  readonly host: string;
  readonly ownDomains: readonly string[];
  readonly baseline: Baseline | undefined;
  readonly facts: Element;
  /** Tenants of which this one may be told apart by nothing, and is another all the same. */
  readonly beside: readonly string[];
  readonly standing: readonly StandingTenant[];
  /** What rollouts read of the tenants that are there. Default: nothing. */
  readonly remembered?: RememberedTenants;
  /** The stack of the tenant's name. Default: not known. */
  readonly stack?: KeptStack;
}

/** A stack that a tenant may have kept from the time before it was removed from the targets file. */
export type KeptStack = Pick<GoingStack, "isThere" | "known">;

/** A tenant that is taken in as soon as the files are written. */
export interface AddedTenant {
  readonly files: readonly ChangedFile[];
  readonly made: TenantFile;
  /** Of the files as they would be, over the tenant's stack; over a new one where that isn't known. */
  readonly plan: Plan;
  /** Whether the stack is there already; undefined: not known. */
  readonly hasStack: boolean | undefined;
}

/**
 * What all tenants share: the file that is named, else the one that more than half of the others include.
 *
 * @param named as it is named; false: none is wanted.
 * @param unread others of which nothing is known.
 * @throws {ConfigurationError} when there is none of the name, several could be meant, or it hangs on the others of which nothing is known.
 * @throws {SettingsFileError} when it can't be used.
 */
export function baselineFor(
  { settings }: Target,
  named: string | false | undefined,
  standing: readonly StandingTenant[],
  unread: readonly Target[],
  today: string,
): Baseline | undefined {
  if (named === false) return undefined;
  const shared = named === undefined ? sharedFiles(standing, unread.length) : [named];
  const [first] = unread;
  if (shared === undefined && first !== undefined) {
    throw new ConfigurationError(
      `Which file the others include is not known: the settings files of ${unread.length} of ${standing.length + unread.length} tenants can't be read, the first ${quote(first.settings, 300)}; nothing was written. Mend them (\`email-security lint\` tells what is wrong); or name the baseline by --baseline, or give --no-baseline.`,
    );
  }
  if (shared === undefined) return undefined;
  if (shared.length > 1) {
    const all = shared.map((one) => quote(one, 300)).join(", ");
    throw new ConfigurationError(
      `The other tenants include several files alike: ${all}. Name the one that is the baseline by --baseline, or give --no-baseline.`,
    );
  }
  const [file] = shared;
  if (file === undefined) return undefined;
  if (!existsSync(file)) throw new ConfigurationError(`There is no file ${quote(file, 300)} to include.`);
  return { include: includePath(settings, file), settings: readSettings(file, { today, ownDomains: [] }) };
}

/**
 * Refuses a key that opens a tenant which is there already, as far as the others' keys can be read here without running anything.
 *
 * @throws {SameKeyError} (`ERR_ROLLOUT_SAME_KEY`)
 * @throws whatever keeps the key itself from being read.
 */
export async function refuseSameKey(
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
  const same = findSameKeys(keys).filter((group) => group.includes(target));
  if (same.length > 0) throw new SameKeyError(same);
}

/**
 * The files that take a tenant in, and what a first rollout would do then. Nothing is written.
 *
 * @throws {SameTenantError} (`ERR_OTHER_TENANT`) when a rollout read the same tenant by another key.
 * @throws {OtherTenantError} when it seems to be a tenant that is there already, or its people have none of the own domains.
 * @throws {SettingsFileError} when the baseline's rules refuse what it holds.
 */
export function addTenantTo(placed: PlacedTenant, observed: Observed, options: AddOptions): AddedTenant {
  const { target, before, after, isFirst } = placed;
  const { file, today, host, ownDomains, baseline, facts, beside, standing, remembered, stack } = options;
  const read = new Map([[target, identityOfObserved(target.baseUrl, observed)]]);
  const same = findSameTargets(read, remembered);
  if (same.length > 0) throw new SameTenantError(same);
  const known = knownAs(
    observed,
    standing.filter((one) => !beside.includes(one.target.name)),
  );
  if (known !== undefined) {
    const { name } = known.target;
    throw new OtherTenantError(
      `${quote(target.name)} looks like a tenant that is there already: ${known.why}. Nothing was written, at the service neither. Check whose key it is. Where these are two tenants of the service, give --beside ${name}.`,
    );
  }
  const made = tenantFile(observed, { host, ownDomains, facts, ...(baseline && { baseline }) });
  const readOther = readerFrom(target.settings);
  const readFile = (path: string): string =>
    resolve(path) === resolve(target.settings) ? made.text : readOther(path);
  const { settings, findings } = lintSettings(target.settings, { today, ownDomains: [], readFile });
  if (settings === undefined) throw refusedBy(target.settings, findings);
  const lastDeclared = stack?.known ?? knownLists({}, target.stack, undefined);
  const desired = desiredOf(settings, lastDeclared, findings);
  const plan = planOf(target, settings, desired, observed, host, { accepting: {} });
  const files: ChangedFile[] = [
    { file: target.settings, before: "", after: made.text, does: "make" },
    { file: normalize(file), before, after, ...(isFirst ? { does: "make" } : {}) },
  ];
  return { files, made, plan, hasStack: stack?.isThere };
}

/** What the file that would be made may not say: most often, what a team's rules ask for and a service does not tell. */
function refusedBy(file: string, findings: readonly Finding[]): EmailSecurityError {
  const { message } = new SettingsFileError(file, findings);
  return new EmailSecurityError(
    "ERR_SETTINGS_FILE",
    `The file that would be made of what the tenant holds breaks the rules of what it includes; nothing was written. --ticket, --owner, --approved-by and --for say it of all that the file declares; --no-baseline leaves the rules away.\n${message}`,
  );
}

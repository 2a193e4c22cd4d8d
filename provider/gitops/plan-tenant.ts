import { basename, dirname, extname } from "node:path";
import type { SettingsClient } from "../client";
import { omitUndefined } from "../model/omit-undefined";
import { buildDesiredState, type DesiredState } from "../plan/desired-state";
import { readListsAndMail } from "../plan/evidence";
import { buildEmptyEvidence, buildMailEvidence } from "../plan/mail-evidence";
import { type MailEvidence, makePlan } from "../plan/make-plan";
import { type ObservedState, readObservedState } from "../plan/observed-state";
import type { Plan, PlanBlocker, PlanSource } from "../plan/plan";
import { redactOtherTenantPlan } from "../plan/plan-redaction";
import { readPreview } from "../plan/preview";
import { readStackLists } from "../plan/stack-lists";
import type { TenantAcceptance } from "../plan/tenant-mismatch";
import { SettingsFileError } from "../settings-files/finding";
import { lintSettings } from "../settings-files/lint";
import type { Settings } from "../settings-files/settings-model";

export interface PlanOptions {
  readonly client: SettingsClient;
  /** The tenant name. Default: from the name of the settings file. */
  readonly name?: string;
  /** The stack that applies the settings. Without it, removals are known only in exclusive mode. */
  readonly stack?: string;
  /** The name of the `TenantSettings`, if the stack has several. */
  readonly resource?: string;
  /** The day (UTC) to which `expires` is compared. Default: today. */
  readonly today?: string;
  /** The evidence window in days. Default: 30. With 0, no evidence is read. */
  readonly days?: number;
  /** The maximum number of pages of threats. Default: 100. */
  readonly maxPages?: number;
  /** Own domains in addition to those in the settings files. Default: none. */
  readonly ownDomains?: readonly string[];
  /** Confirms that the tenant may be empty or that its mailboxes have other domains. Default: not confirmed. */
  readonly accepting?: TenantAcceptance;
  readonly log?: (line: string) => void;
  readonly now?: () => Date;
}

/**
 * Creates the plan of settings files: reads them, the stack's state, the tenant and its mail. Writes nothing.
 *
 * @throws {SettingsFileError} with all mistakes in the files; no request was sent.
 * @throws {PulumiError} if the stack's state can't be read.
 * @throws {ServiceError} if the tenant's lists can't be read. Missing evidence is reported in the plan.
 */
export async function planFiles(file: string, options: PlanOptions): Promise<Plan> {
  const { stack, resource, today, log } = options;
  const { settings, findings } = lintSettings(file, today === undefined ? {} : { today });
  if (settings === undefined) throw new SettingsFileError(file, findings);
  const known =
    stack === undefined ? undefined : await readStackLists(stack, resource, log === undefined ? {} : { log });
  const source: PlanSource = {
    kind: "files",
    files: settings.files,
    ...omitUndefined({ stack, resource }),
  };
  return await planDesired(buildDesiredState(settings, known, findings), source, inferTenantName(settings), options);
}

/**
 * Creates the plan of any program from the JSON of `pulumi preview --json --show-sames`.
 *
 * @param previewFile the source for messages: a file or the command.
 * @throws {PulumiError} if it can't be parsed, or the program failed.
 * @throws {ServiceError} if the tenant's lists can't be read.
 */
export async function planPreview(
  text: string,
  previewFile: string,
  ownDomains: readonly string[],
  options: PlanOptions & { readonly provider?: string },
): Promise<Plan> {
  const { desired, blockers } = readPreview(text, ownDomains, options.provider);
  const { stack } = options;
  const source: PlanSource = {
    kind: "preview",
    files: [previewFile],
    ...(stack === undefined ? {} : { stack }),
  };
  return await planDesired(desired, source, options.provider ?? stack ?? previewFile, options, blockers);
}

export async function planDesired(
  desired: DesiredState,
  source: PlanSource,
  defaultName: string,
  {
    client,
    name = defaultName,
    days = 30,
    maxPages,
    log,
    now = () => new Date(),
    ownDomains,
    accepting: acceptance,
  }: PlanOptions,
  blockers: readonly PlanBlocker[] = [],
): Promise<Plan> {
  const tenant = { host: getHost(client), name };
  const { observed, mail } = await readTenant(client, { days, maxPages, log, now });
  const plan = makePlan({
    desired,
    observed,
    tenant,
    source,
    mail,
    ...omitUndefined({ ownDomains, acceptance }),
  });
  const redactedPlan = redactOtherTenantPlan(plan);
  return blockers.length === 0 ? redactedPlan : { ...redactedPlan, blockers: [...blockers, ...redactedPlan.blockers] };
}

interface MailReadOptions {
  readonly days: number;
  readonly maxPages: number | undefined;
  readonly log: ((line: string) => void) | undefined;
  readonly now: () => Date;
}

async function readTenant(
  client: SettingsClient,
  { days, maxPages, log, now }: MailReadOptions,
): Promise<{ readonly observed: ObservedState; readonly mail: MailEvidence }> {
  if (days === 0) {
    const observed = await readObservedState(client, now);
    return { observed, mail: buildEmptyEvidence(observed.readAt, "The tenant's mail was not checked.") };
  }
  log?.(`Reading the lists, and the threats and reports of the last ${days} days ...`);
  const { observed, history } = await readListsAndMail(client, { days, now, ...omitUndefined({ maxPages }) });
  return { observed, mail: buildMailEvidence(history) };
}

/** Returns the service's host, without credentials. */
export function getHost(client: SettingsClient): string {
  return URL.parse(client.baseUrl)?.host ?? client.baseUrl;
}

/** Returns `acme` for `settings/acme.yaml` and for `acme/settings.yaml`. */
export function inferTenantName({ file }: Pick<Settings, "file">): string {
  const name = basename(file, extname(file));
  const directory = basename(dirname(file));
  return name === "settings" && directory !== "" && directory !== "." ? directory : name;
}

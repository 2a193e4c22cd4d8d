import { basename, dirname, extname } from "node:path";
import type { SettingsClient } from "../client";
import { SettingsFileError } from "../files/finding";
import { lintSettings } from "../files/lint";
import type { Settings } from "../files/settings";
import { type Desired, desiredOf } from "../plan/desired";
import { gatherEvidence } from "../plan/evidence";
import { mailEvidence, withoutEvidence } from "../plan/mail-evidence";
import { type MailEvidence, makePlan } from "../plan/make-plan";
import { type Observed, observe } from "../plan/observed";
import type { Guard, Plan, PlanSource } from "../plan/plan";
import { readPreview } from "../plan/preview";
import type { Accepting } from "../plan/same-tenant";
import { readStackState } from "../plan/stack-state";
import { withheld } from "../plan/withheld";
import { withoutUndefined } from "../settings/without-undefined";

/** What a plan is made with. */
export interface PlanOptions {
  readonly client: SettingsClient;
  /** What the tenant is called. Default: by the name of the settings file. */
  readonly name?: string;
  /** The stack that applies it. Without it, no removal is known but in exclusive mode. */
  readonly stack?: string;
  /** The name of the `TenantSettings` in the stack, where it has several. */
  readonly resource?: string;
  /** The day (UTC) by which `expires` is judged. Default: today. */
  readonly today?: string;
  /** The window of the evidence in days. Default: 30. 0: no evidence is asked for. */
  readonly days?: number;
  /** The most pages of threats that are read. Default: 100. */
  readonly maxPages?: number;
  /** The tenant's own domains, beside those that the settings files name. Default: none. */
  readonly ownDomains?: readonly string[];
  /** What says whether the tenant may be empty, or its people have other domains. Default: nothing does. */
  readonly accepting?: Accepting;
  /** Told what is being done, where it takes long. */
  readonly log?: (line: string) => void;
  readonly now?: () => Date;
}

/**
 * The plan of settings files: reads them, the stack's state, the tenant and its mail, and writes nothing.
 *
 * @throws {SettingsFileError} with every mistake in the files; the tenant was not asked.
 * @throws {PulumiError} when the stack's state can't be read.
 * @throws {ServiceError} when the tenant's lists can't be read. Missing evidence is told, and no error.
 */
export async function planFiles(file: string, options: PlanOptions): Promise<Plan> {
  const { stack, resource, today, log } = options;
  const { settings, findings } = lintSettings(file, today === undefined ? {} : { today });
  if (settings === undefined) throw new SettingsFileError(file, findings);
  const known =
    stack === undefined ? undefined : await readStackState(stack, resource, log === undefined ? {} : { log });
  const source: PlanSource = {
    kind: "files",
    files: settings.files,
    ...withoutUndefined({ stack, resource }),
  };
  return await planDesired(desiredOf(settings, known, findings), source, tenantName(settings), options);
}

/**
 * The plan of any program, by the JSON of its `pulumi preview --json --show-sames`.
 *
 * @param text the JSON.
 * @param from what it is called: the file that held it, or the command.
 * @param ownDomains the tenant's own domains, for what is risky.
 * @throws {PulumiError} when it can't be read, or the program failed.
 * @throws {ServiceError} when the tenant's lists can't be read.
 */
export async function planPreview(
  text: string,
  from: string,
  ownDomains: readonly string[],
  options: PlanOptions & { readonly provider?: string },
): Promise<Plan> {
  const { desired, guards } = readPreview(text, ownDomains, options.provider);
  const { stack } = options;
  const source: PlanSource = { kind: "preview", files: [from], ...(stack === undefined ? {} : { stack }) };
  return await planDesired(desired, source, options.provider ?? stack ?? from, options, guards);
}

/** The plan of what is declared, by one reading of the tenant and its mail. */
export async function planDesired(
  desired: Desired,
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
    accepting,
  }: PlanOptions,
  guards: readonly Guard[] = [],
): Promise<Plan> {
  const observed = await observe(client, now);
  const tenant = { host: hostOf(client), name };
  const mail = await mailOf(client, observed, { days, maxPages, log, now });
  const plan = makePlan({
    desired,
    observed,
    tenant,
    source,
    mail,
    ...withoutUndefined({ ownDomains, accepting }),
  });
  const shown = withheld(plan);
  return guards.length === 0 ? shown : { ...shown, guards: [...guards, ...shown.guards] };
}

interface MailOptions {
  readonly days: number;
  readonly maxPages: number | undefined;
  readonly log: ((line: string) => void) | undefined;
  readonly now: () => Date;
}

async function mailOf(
  client: SettingsClient,
  observed: Observed,
  { days, maxPages, log, now }: MailOptions,
): Promise<MailEvidence> {
  if (days === 0) return withoutEvidence(observed.at, "The tenant's mail was not looked at.");
  log?.(`Reading the threats and reports of the last ${days} days ...`);
  const base = await gatherEvidence({
    client,
    days,
    now: now(),
    vips: observed.vips.keys(),
    ...(maxPages === undefined ? {} : { maxPages }),
  });
  return mailEvidence(base);
}

/** The service's host, as it may be shown. */
export function hostOf(client: SettingsClient): string {
  return URL.parse(client.baseUrl)?.host ?? client.baseUrl;
}

/** `acme` of `settings/acme.yaml`, and of `acme/settings.yaml`. */
export function tenantName({ file }: Pick<Settings, "file">): string {
  const name = basename(file, extname(file));
  const folder = basename(dirname(file));
  return name === "settings" && folder !== "" && folder !== "." ? folder : name;
}

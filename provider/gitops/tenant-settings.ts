import * as pulumi from "@pulumi/pulumi";
import { AllowDenyList } from "../resources/allow-deny-list";
import { refuseUnknownNames } from "../resources/known-names";
import { PlanMovedError } from "../resources/lifecycle/errors";
import { OWN_DOMAINS_PROPERTY } from "../resources/pulumi-values";
import { PLAN_FILE, readPlanFile } from "../resources/reviewed-plan";
import { VipList } from "../resources/vip-list";
import { EmailSecurityError } from "../settings/email-security-error";
import { partsOfDigest } from "../settings/plan-digest";
import { quote } from "../settings/text";
import { entryArguments, memberArguments } from "./files/declared";
import { findingText } from "./files/finding";
import { readSettings } from "./files/read-settings";
import type { Settings } from "./files/settings";
import { desiredOf, hashOfDesired } from "./plan/desired";
import { TENANT_SETTINGS_TYPE } from "./tenant-settings-type";

/** The arguments of {@link TenantSettings}. */
export interface TenantSettingsArgs {
  /** The tenant's settings file, relative to the program's folder. What it includes is relative to that file. */
  readonly file: string;
  /** The day (UTC) by which `expires` is judged, `2026-11-21`. Default: today. */
  readonly today?: string;
}

/**
 * Where the run is held to a plan that was reviewed: that plan is of this stack, and of what these files declare. What the
 * tenant holds is compared by the lists themselves, right before they write.
 */
function holdToPlan(name: string, settings: Settings): void {
  const plan = readPlanFile(process.env);
  const { kind, stack, resource = name } = plan?.source ?? {};
  if (plan === undefined || kind !== "files" || resource !== name) return;
  if (stack !== undefined && stack.split("/").at(-1) !== pulumi.getStack()) {
    throw new PlanMovedError(
      `The plan in ${PLAN_FILE} is of the stack ${quote(stack)}, and this is ${quote(pulumi.getStack())}. Nothing was changed.`,
    );
  }
  if (partsOfDigest(plan.digest)?.desired === hashOfDesired(desiredOf(settings, undefined))) return;
  throw new PlanMovedError(
    `${quote(settings.file, 300)} does not declare what was reviewed, as of ${settings.today} (UTC): it changed since, something in it has expired, or the plan was made for another day. Nothing was changed. Make the plan anew, and have it reviewed.`,
  );
}

/** What is wrong with the files, or moved since the review, is the user's to mend: the engine shows it without a stack trace. */
function withoutStack<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (error instanceof EmailSecurityError)
      Object.defineProperty(error, "__pulumiRunError", { value: true });
    throw error;
  }
}

/** How many warnings of the files are shown one by one. */
const SHOWN = 20;

/**
 * All that a tenant's settings files declare: an `AllowDenyList` and a `VipList`. A mistake in the files is told with its
 * file, line and column, in previews too, and then nothing is registered.
 *
 * @example
 * import { TenantSettings } from "pulumi-email-security";
 * new TenantSettings("acme", { file: "settings/acme.yaml" });
 */
export class TenantSettings extends pulumi.ComponentResource {
  /** The allow/deny list. */
  readonly entries: AllowDenyList;
  /** The VIP list. */
  readonly vips: VipList;

  /**
   * @param name the resource's name in the stack.
   * @throws {SettingsFileError} (`ERR_SETTINGS_FILE`) with every mistake in the files.
   */
  constructor(name: string, args: TenantSettingsArgs, opts: pulumi.ComponentResourceOptions = {}) {
    refuseUnknownNames(`TenantSettings ${quote(name)}`, args, ["file", "today"]);
    const { file, today } = args;
    const settings = withoutStack(() => {
      const read = readSettings(file, today === undefined ? {} : { today });
      holdToPlan(name, read);
      return read;
    });
    super(TENANT_SETTINGS_TYPE, name, {}, opts);
    const { provider } = opts;
    const told = { [OWN_DOMAINS_PROPERTY]: JSON.stringify(settings.ownDomains) };
    const own = { parent: this, ...(provider === undefined ? {} : { provider }) };
    this.entries = new AllowDenyList(
      name,
      { ...settings.lists.entries, ...told, entries: settings.entries.map(entryArguments) },
      own,
    );
    this.vips = new VipList(
      name,
      { ...settings.lists.vips, ...told, members: settings.vips.map(memberArguments) },
      own,
    );
    this.#say(settings);
    this.registerOutputs({});
  }

  #say({ findings, expired }: Settings): void {
    const warnings = findings.filter(({ level }) => level === "warning");
    for (const finding of warnings.slice(0, SHOWN)) void pulumi.log.warn(findingText(finding), this);
    const more = warnings.length - SHOWN;
    if (more > 0) void pulumi.log.warn(`and ${more} more warnings; \`email-security lint\` shows them`, this);
    if (expired.length > 0) {
      const many = expired.length === 1 ? "1 has expired and is" : `${expired.length} have expired and are`;
      void pulumi.log.info(`${many} no longer declared; \`email-security plan\` shows what goes`, this);
    }
  }
}

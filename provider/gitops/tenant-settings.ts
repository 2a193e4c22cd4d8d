import * as pulumi from "@pulumi/pulumi";
import { EmailSecurityError } from "../model/email-security-error";
import { TENANT_SETTINGS_TYPE } from "../model/tenant-settings-type";
import { readDeclaredListArguments } from "../plan/declared-list-arguments";
import { AllowDenyList } from "../resources/allow-deny-list";
import { OWN_DOMAINS_PROPERTY } from "../resources/pulumi-values";
import { getNativeType, type ResourceKind } from "../resources/resource-type";
import { VipList } from "../resources/vip-list";

/** The arguments of {@link TenantSettings}. */
export interface TenantSettingsArgs {
  /** The tenant's settings file, relative to the program's directory. Its includes are relative to the file itself. */
  readonly file: string;
  /** The day (UTC) to which `expires` is compared, `2026-11-21`. Default: today. */
  readonly today?: string;
}

/** An error in the files, or a stale plan, is for the user to fix, so the engine shows it without a stack trace. */
function hideStackTrace<Result>(callback: () => Result): Result {
  try {
    return callback();
  } catch (error) {
    if (error instanceof EmailSecurityError) Object.defineProperty(error, "__pulumiRunError", { value: true });
    throw error;
  }
}

/**
 * All declarations of a tenant's settings files: an `AllowDenyList` and a `VipList`. A mistake in the files is reported
 * with its file, line and column, in previews too, and nothing is registered.
 *
 * @example
 * import { TenantSettings } from "pulumi-email-security";
 *
 * new TenantSettings("acme", { file: "settings/acme.yaml" });
 */
export class TenantSettings extends pulumi.ComponentResource {
  /** The allow/deny list. */
  readonly entries: AllowDenyList;
  /** The VIP list. */
  readonly vips: VipList;

  /**
   * @param name the resource's name in the stack.
   * @throws {SettingsFileError} (`ERR_SETTINGS_FILE`) with all mistakes in the files.
   */
  constructor(name: string, args: TenantSettingsArgs, opts: pulumi.ComponentResourceOptions = {}) {
    const lists = hideStackTrace(() => readDeclaredListArguments(name, pulumi.getStack(), args));
    super(TENANT_SETTINGS_TYPE, name, {}, opts);
    const { provider } = opts;
    const ownDomainsArgument = { [OWN_DOMAINS_PROPERTY]: JSON.stringify(lists.ownDomains) };
    const createResourceOptions = (kind: ResourceKind): pulumi.CustomResourceOptions => ({
      parent: this,
      ...(provider === undefined ? {} : { provider }),
      // Adopts resources of the native plugin for the same files without a write to the service.
      aliases: [{ type: getNativeType(kind) }],
    });
    this.entries = new AllowDenyList(
      name,
      { ...lists.entries, ...ownDomainsArgument },
      createResourceOptions("AllowDenyList"),
    );
    this.vips = new VipList(name, { ...lists.vips, ...ownDomainsArgument }, createResourceOptions("VipList"));
    for (const warning of lists.warnings) void pulumi.log.warn(warning, this);
    if (lists.expired !== undefined) void pulumi.log.info(lists.expired, this);
    this.registerOutputs({});
  }
}

import * as pulumi from "@pulumi/pulumi";
import { readDeclaredLists } from "../plan/declared-lists";
import { AllowDenyList } from "../resources/allow-deny-list";
import { OWN_DOMAINS_PROPERTY } from "../resources/pulumi-values";
import { nativeType, type ResourceKind } from "../resources/resource-type";
import { VipList } from "../resources/vip-list";
import { EmailSecurityError } from "../settings/email-security-error";
import { TENANT_SETTINGS_TYPE } from "../settings/tenant-settings-type";

/** The arguments of {@link TenantSettings}. */
export interface TenantSettingsArgs {
  /** The tenant's settings file, relative to the program's directory. Its includes are relative to that file. */
  readonly file: string;
  /** The day (UTC) to which `expires` is compared, `2026-11-21`. Default: today. */
  readonly today?: string;
}

/** The user must fix invalid files or a stale plan, so the engine shows the error without a stack trace. */
function withoutStack<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (error instanceof EmailSecurityError)
      Object.defineProperty(error, "__pulumiRunError", { value: true });
    throw error;
  }
}

/**
 * Everything that a tenant's settings files declare: an `AllowDenyList` and a `VipList`. Mistakes in the files are reported with file, line
 * and column, in previews too; in that case, nothing is registered.
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
   * @throws {SettingsFileError} (`ERR_SETTINGS_FILE`) with all mistakes in the files.
   */
  constructor(name: string, args: TenantSettingsArgs, opts: pulumi.ComponentResourceOptions = {}) {
    const lists = withoutStack(() => readDeclaredLists(name, pulumi.getStack(), args));
    super(TENANT_SETTINGS_TYPE, name, {}, opts);
    const { provider } = opts;
    const told = { [OWN_DOMAINS_PROPERTY]: JSON.stringify(lists.ownDomains) };
    const own = (kind: ResourceKind): pulumi.CustomResourceOptions => ({
      parent: this,
      ...(provider === undefined ? {} : { provider }),
      // The alias migrates resources of the native plugin back without a write.
      aliases: [{ type: nativeType(kind) }],
    });
    this.entries = new AllowDenyList(name, { ...lists.entries, ...told }, own("AllowDenyList"));
    this.vips = new VipList(name, { ...lists.vips, ...told }, own("VipList"));
    for (const warning of lists.warnings) void pulumi.log.warn(warning, this);
    if (lists.expired !== undefined) void pulumi.log.info(lists.expired, this);
    this.registerOutputs({});
  }
}

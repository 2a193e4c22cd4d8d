import * as pulumi from "@pulumi/pulumi";
import type { ON_DELETE } from "../model/arguments";
import { NAME_PROPERTY, PROVIDER_PROPERTY } from "./pulumi-values";
import { runRegistrationPreflight } from "./registration-preflight";
import { getDynamicType } from "./resource-type";
import { buildSerializedProvider } from "./serialized-provider";
import { shortenTraces } from "./shorten-traces";

/** The arguments of a {@link VipEmployee}. */
export interface VipEmployeeArgs {
  /** The mailbox, compared case-insensitively. It must belong to the organization. Changing it replaces the VIP. */
  readonly email: pulumi.Input<string>;
  /** Why this person is a VIP. An empty comment counts as none. */
  readonly comment?: pulumi.Input<string> | undefined;
  /**
   * The effect of deleting the resource. `"exclude"` (the default) removes the VIP, and the service then permanently
   * excludes the mailbox from automatic detection. `"keep"` keeps the VIP and only removes it from the state.
   */
  readonly onDelete?: pulumi.Input<(typeof ON_DELETE)[number]> | undefined;
}

/**
 * One VIP employee of the tenant (reference, section "VIP employees").
 *
 * @example
 * new VipEmployee("ceo", { email: "ceo@company.example", comment: "Chief executive" });
 */
export class VipEmployee
  extends pulumi.CustomResource
  implements Record<Exclude<keyof VipEmployeeArgs, "onDelete">, pulumi.Output<unknown>>
{
  /** The mailbox as written. */
  declare readonly email: pulumi.Output<string>;
  /** The actual comment. Undefined if there is none. */
  declare readonly comment: pulumi.Output<string | undefined>;
  /** How the mailbox became a VIP, in the service's words. */
  declare readonly source: pulumi.Output<string | undefined>;
  /** The person or system that added the VIP, according to the service. */
  declare readonly addedBy: pulumi.Output<string | undefined>;
  /** When the VIP was added, according to the service. */
  declare readonly dateAdded: pulumi.Output<string | undefined>;
  /** The person's name, from the directory. */
  declare readonly fullName: pulumi.Output<string | undefined>;
  /** The person's job title, from the directory. */
  declare readonly jobTitle: pulumi.Output<string | undefined>;
  /** The person's department, from the directory. */
  declare readonly department: pulumi.Output<string | undefined>;
  /** The tenant: the service's host, and the name of the explicit provider if there is one. */
  declare readonly tenant: pulumi.Output<string | undefined>;

  /** @param name the resource's name in the stack, unique among its kind. */
  constructor(name: string, args: VipEmployeeArgs, opts?: pulumi.CustomResourceOptions) {
    runRegistrationPreflight("VipEmployee", name, opts);
    const outputs = {
      source: undefined,
      addedBy: undefined,
      dateAdded: undefined,
      fullName: undefined,
      jobTitle: undefined,
      department: undefined,
      tenant: undefined,
    };
    const properties = {
      comment: undefined,
      ...args,
      ...outputs,
      [NAME_PROPERTY]: name,
      [PROVIDER_PROPERTY]: buildSerializedProvider("vipEmployee"),
    } satisfies Record<Exclude<keyof VipEmployeeArgs, "onDelete">, unknown> & Readonly<Record<string, unknown>>;
    const restoreTraces = shortenTraces();
    try {
      super(getDynamicType("VipEmployee"), name, properties, opts);
    } finally {
      restoreTraces();
    }
  }
}

import * as pulumi from "@pulumi/pulumi";
import type { ON_DELETE } from "../model/arguments";
import { VIP_LIST_KIND } from "../model/list-arguments";
import type { VipListMode } from "../model/list-mode";
import { buildResourceLabel, encodePlainContent, type ListArgs } from "./encode-list-content";
import { NAME_PROPERTY, PROVIDER_PROPERTY } from "./pulumi-values";
import { runRegistrationPreflight } from "./registration-preflight";
import { getDynamicType } from "./resource-type";
import { buildSerializedProvider } from "./serialized-provider";
import { shortenTraces } from "./shorten-traces";

/** One member of a {@link VipList}, as an element of an array, or of a map whose key is the mailbox. */
export interface VipListMemberArgs {
  /** The mailbox, compared case-insensitively. Optional in a map, whose key is then the mailbox. */
  readonly email?: pulumi.Input<string> | undefined;
  /** Why this person is a VIP. An empty comment counts as none. */
  readonly comment?: pulumi.Input<string> | undefined;
}

/** The arguments of a {@link VipList}. */
export interface VipListArgs extends ListArgs {
  /**
   * The members by mailbox, in any order, each with its comment, which may be empty: `{ "ceo@company.example": "Chief
   * executive" }`.
   *
   * The map's values may also be {@link VipListMemberArgs}. Alternatively, `members` is an array of those or of
   * mailboxes.
   */
  readonly members: pulumi.Input<
    | readonly pulumi.Input<VipListMemberArgs | string>[]
    | Readonly<Record<string, pulumi.Input<VipListMemberArgs | string>>>
  >;
  /**
   * `"additive"` (default): adds declared VIPs, removes VIPs that this list no longer declares, and leaves all others
   * alone. `"exclusive"`: only declared VIPs remain. A refresh shows undeclared ones, and the next `up` removes them.
   */
  readonly mode?: pulumi.Input<VipListMode> | undefined;
  /**
   * The effect of removing a member or deleting the list. `"exclude"` (the default) removes the VIP, and the service
   * then permanently excludes the mailbox from automatic detection. `"keep"` keeps the VIP and only removes it from the
   * state. Not allowed in exclusive mode.
   */
  readonly onDelete?: pulumi.Input<(typeof ON_DELETE)[number]> | undefined;
}

/**
 * A whole VIP list, or one team's part of it, in one resource (reference, section "VIP employees").
 *
 * @example
 * new VipList("board", { members: { "ceo@company.example": "Chief executive" }, protect: ["ceo@company.example"] });
 */
export class VipList extends pulumi.CustomResource {
  /** The actual members, from mailbox to comment. Undeclared ones that a refresh found have `(unmanaged)`. */
  declare readonly members: pulumi.Output<Record<string, string>>;
  /** The mode in effect. */
  declare readonly mode: pulumi.Output<VipListMode | undefined>;
  /** The tenant: the service's host, and the name of the explicit provider if there is one. */
  declare readonly tenant: pulumi.Output<string | undefined>;

  /** @param name the resource's name in the stack, unique among its kind. */
  constructor(name: string, args: VipListArgs, opts?: pulumi.CustomResourceOptions) {
    runRegistrationPreflight("VipList", name, opts);
    const properties = {
      mode: undefined,
      ...args,
      members: encodePlainContent(VIP_LIST_KIND, args.members, opts?.ignoreChanges),
      tenant: undefined,
      [NAME_PROPERTY]: buildResourceLabel(name),
      [PROVIDER_PROPERTY]: buildSerializedProvider("vipList"),
    };
    const restoreTraces = shortenTraces();
    try {
      super(getDynamicType("VipList"), name, properties, opts);
    } finally {
      restoreTraces();
    }
  }
}

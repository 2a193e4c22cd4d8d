import * as pulumi from "@pulumi/pulumi";
import type { ON_DELETE } from "../settings/arguments";
import { VIP_LIST_KIND } from "../settings/list-arguments";
import type { VipListMode } from "../settings/list-mode";
import { buildResourceLabel, encodePlainContent, type ListArgs } from "./list-arguments";
import { prepareResource } from "./program-checks";
import { NAME_PROPERTY, PROVIDER_PROPERTY } from "./pulumi-values";
import { getDynamicType } from "./resource-type";
import { buildSerializedProvider } from "./serialized-provider";
import { shortenTraces } from "./shorten-traces";

/** One member of a {@link VipList}, as an element of an array or, where its key is the mailbox, of a map. */
export interface VipListMemberArgs {
  /** The mailbox, compared without case. In a map it may be left out: then the key is the mailbox. */
  readonly email?: pulumi.Input<string> | undefined;
  /** Why this person is a VIP. An empty comment is the same as none. */
  readonly comment?: pulumi.Input<string> | undefined;
}

/** The arguments of a {@link VipList}. */
export interface VipListArgs extends ListArgs {
  /**
   * The members by mailbox, in any order, each with its comment, which may be empty:
   * `{ "ceo@company.example": "Chief executive" }`.
   *
   * Their elements may also be {@link VipListMemberArgs}, and the whole an array of those or of mailboxes.
   */
  readonly members: pulumi.Input<
    | readonly pulumi.Input<VipListMemberArgs | string>[]
    | Readonly<Record<string, pulumi.Input<VipListMemberArgs | string>>>
  >;
  /**
   * `"additive"` (default): what is declared is there, what was declared by this list and no longer is gets removed, and
   * the rest is left alone. `"exclusive"`: only what is declared is there; what else the tenant holds shows at a refresh,
   * and the next `up` removes it.
   */
  readonly mode?: pulumi.Input<VipListMode> | undefined;
  /**
   * What removing a member does, and deleting the list. `"exclude"` (the default) removes the VIP through the service,
   * whose exclusion lasts: automatic detection will never make the mailbox a VIP again. `"keep"` leaves the VIP as it is
   * and only forgets it; not in exclusive mode.
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
  /** The members as they stand, from mailbox to comment; what a refresh found undeclared says `(unmanaged)`. */
  declare readonly members: pulumi.Output<Record<string, string>>;
  /** The mode as it stands. */
  declare readonly mode: pulumi.Output<VipListMode | undefined>;
  /** Where it is: the service's host, and the explicit provider's name where there is one. */
  declare readonly tenant: pulumi.Output<string | undefined>;

  /** @param name the resource's name in the stack, unique among its kind. */
  constructor(name: string, args: VipListArgs, opts?: pulumi.CustomResourceOptions) {
    prepareResource("VipList", name, opts);
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

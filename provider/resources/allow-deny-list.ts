import * as pulumi from "@pulumi/pulumi";
import { ENTRY_LIST_KIND } from "../settings/list-arguments";
import type { ListMode } from "../settings/list-mode";
import type { AllowDenyEntryArgs } from "./allow-deny-entry";
import { buildResourceLabel, encodePlainContent, type ListArgs } from "./list-arguments";
import { prepareResource } from "./program-checks";
import { NAME_PROPERTY, PROVIDER_PROPERTY } from "./pulumi-values";
import { getDynamicType } from "./resource-type";
import { buildSerializedProvider } from "./serialized-provider";
import { shortenTraces } from "./shorten-traces";

/** One entry of an {@link AllowDenyList}, as an element of an array or, where its key is the value, of a map. */
export interface AllowDenyListEntryArgs extends Omit<AllowDenyEntryArgs, "value" | "adopt"> {
  /** The domain, IP address or mailbox. In a map it may be left out: then the key is the value. */
  readonly value?: pulumi.Input<string> | undefined;
}

/** The arguments of an {@link AllowDenyList}. */
export interface AllowDenyListArgs extends ListArgs {
  /**
   * The entries by value, in any order: `{ "evil.example": "deny: INC-7", "partner.example": "allow" }`. A risk that is
   * accepted stands behind the list, `{ "gmail.com": "allow (risk accepted: until the fair is over)" }`, and a scope that
   * is not the default behind the value, `{ "mail.example (graymail)": "deny" }`.
   *
   * Their elements may also be {@link AllowDenyListEntryArgs}, and the whole an array of those.
   */
  readonly entries: pulumi.Input<
    | readonly pulumi.Input<AllowDenyListEntryArgs>[]
    | Readonly<Record<string, pulumi.Input<AllowDenyListEntryArgs | string>>>
  >;
  /**
   * `"additive"` (default): what is declared is there, what was declared by this list and no longer is gets removed, and
   * the rest is left alone. `"exclusive-allows"`: an allow entry that nobody declares shows at a refresh, and the next `up`
   * removes it; deny entries that nobody declares are left alone. `"exclusive"`: only what is declared is there; what else
   * the tenant holds shows at a refresh, and the next `up` removes it.
   */
  readonly mode?: pulumi.Input<ListMode> | undefined;
  /**
   * Take over entries of the same value that exist with other arguments, and change them to these. Default: false; each
   * such entry is then an error that names it. One with the same arguments is taken over in any case.
   */
  readonly adopt?: pulumi.Input<boolean> | undefined;
}

/**
 * A whole allow/deny list, or one team's part of it, in one resource (reference, section "Allow/deny list"). Right for
 * more than some tens of entries.
 *
 * @example
 * new AllowDenyList("blocklist", {
 *   entries: [
 *     { list: "deny", value: "evil.example", comment: "INC-7" },
 *     { list: "allow", value: "partner.example", comment: "Contract 2026-114" },
 *   ],
 * });
 */
export class AllowDenyList extends pulumi.CustomResource {
  /**
   * The entries as they stand, by value: `{ "evil.example": "deny: INC-7" }`. A scope that is not the default stands
   * behind the value, `"mail.example (graymail)"`; what a refresh found undeclared says `(unmanaged)`.
   */
  declare readonly entries: pulumi.Output<Record<string, string>>;
  /** The mode as it stands. */
  declare readonly mode: pulumi.Output<ListMode | undefined>;
  /** Where it is: the service's host, and the explicit provider's name where there is one. */
  declare readonly tenant: pulumi.Output<string | undefined>;

  /** @param name the resource's name in the stack, unique among its kind. */
  constructor(name: string, args: AllowDenyListArgs, opts?: pulumi.CustomResourceOptions) {
    prepareResource("AllowDenyList", name, opts);
    const properties = {
      mode: undefined,
      ...args,
      entries: encodePlainContent(ENTRY_LIST_KIND, args.entries, opts?.ignoreChanges),
      tenant: undefined,
      [NAME_PROPERTY]: buildResourceLabel(name),
      [PROVIDER_PROPERTY]: buildSerializedProvider("allowDenyList"),
    };
    const restoreTraces = shortenTraces();
    try {
      super(getDynamicType("AllowDenyList"), name, properties, opts);
    } finally {
      restoreTraces();
    }
  }
}

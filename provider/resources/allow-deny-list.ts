import * as pulumi from "@pulumi/pulumi";
import { ENTRY_LIST_KIND } from "../model/list-arguments";
import type { ListMode } from "../model/list-mode";
import type { AllowDenyEntryArgs } from "./allow-deny-entry";
import { buildResourceLabel, encodePlainContent, type ListArgs } from "./encode-list-content";
import { NAME_PROPERTY, PROVIDER_PROPERTY } from "./pulumi-values";
import { runRegistrationPreflight } from "./registration-preflight";
import { getDynamicType } from "./resource-type";
import { buildSerializedProvider } from "./serialized-provider";
import { shortenTraces } from "./shorten-traces";

/** One entry of an {@link AllowDenyList}, as an element of an array or of a map. In a map, the key can be the value. */
export interface AllowDenyListEntryArgs extends Omit<AllowDenyEntryArgs, "value" | "adopt"> {
  /** The domain, IP address or mailbox. Optional in a map, where the key is the default. */
  readonly value?: pulumi.Input<string> | undefined;
}

/** The arguments of an {@link AllowDenyList}. */
export interface AllowDenyListArgs extends ListArgs {
  /**
   * The entries by value, in any order: `{ "evil.example": "deny: INC-7", "partner.example": "allow" }`. An accepted
   * risk follows the list, `{ "gmail.com": "allow (risk accepted: until the fair is over)" }`, and a scope other than
   * the default follows the value, `{ "mail.example (graymail)": "deny" }`.
   *
   * Elements may also be {@link AllowDenyListEntryArgs}, and the map may be an array of those.
   */
  readonly entries: pulumi.Input<
    | readonly pulumi.Input<AllowDenyListEntryArgs>[]
    | Readonly<Record<string, pulumi.Input<AllowDenyListEntryArgs | string>>>
  >;
  /**
   * `"additive"` (default): adds what is declared, removes what this list no longer declares, and leaves the rest
   * alone. `"exclusive-allows"`: a refresh shows allow entries that nobody declares, and the next `up` removes them;
   * undeclared deny entries are left alone. `"exclusive"`: a refresh shows all undeclared entries of the tenant, and
   * the next `up` removes them.
   */
  readonly mode?: pulumi.Input<ListMode> | undefined;
  /**
   * Whether to adopt existing entries of the same values with other arguments, and change them to these. Default:
   * false; each such entry is then an error that names it. An entry with the same arguments is always adopted.
   */
  readonly adopt?: pulumi.Input<boolean> | undefined;
}

/**
 * A whole allow/deny list, or one team's part of it, in one resource (reference, section "Allow/deny list"). Use it for
 * more than a few dozen entries.
 *
 * @example new AllowDenyList("blocklist", {
 *   entries: [
 *     { list: "deny", value: "evil.example", comment: "INC-7" },
 *     { list: "allow", value: "partner.example", comment: "Contract 2026-114" },
 *   ],
 * });
 */
export class AllowDenyList extends pulumi.CustomResource {
  /**
   * The actual entries by value: `{ "evil.example": "deny: INC-7" }`. A scope other than the default follows the value,
   * `"mail.example (graymail)"`. Undeclared entries that a refresh found are marked `(unmanaged)`.
   */
  declare readonly entries: pulumi.Output<Record<string, string>>;
  /** The mode of the last run. */
  declare readonly mode: pulumi.Output<ListMode | undefined>;
  /** The tenant: the service's host, and the name of the explicit provider, if any. */
  declare readonly tenant: pulumi.Output<string | undefined>;

  /** @param name the resource's name in the stack, unique among its kind. */
  constructor(name: string, args: AllowDenyListArgs, opts?: pulumi.CustomResourceOptions) {
    runRegistrationPreflight("AllowDenyList", name, opts);
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

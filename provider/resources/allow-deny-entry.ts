import * as pulumi from "@pulumi/pulumi";
import type { EntryType, List, VerdictScope } from "../settings/assumptions";
import { isOutputKnown } from "./known-output";
import { prepareResource } from "./program-checks";
import { NAME_PROPERTY, PROVIDER_PROPERTY } from "./pulumi-values";
import { getDynamicType } from "./resource-type";
import { buildSerializedProvider } from "./serialized-provider";
import { shortenTraces } from "./shorten-traces";

/** The arguments of an {@link AllowDenyEntry}. */
export interface AllowDenyEntryArgs {
  /** Which of the two lists. Changing it moves the entry in place. */
  readonly list: pulumi.Input<List>;
  /**
   * The domain, IP address or mailbox. Compared in canonical form (case, IDN, trailing dot, IPv6 text), kept as
   * written. Changing it replaces the entry.
   */
  readonly value: pulumi.Input<string>;
  /** What the value is. Inferred from it when left out. */
  readonly entryType?: pulumi.Input<EntryType> | undefined;
  /** Which verdicts the entry overrides. Default: `"global"`. */
  readonly verdictScope?: pulumi.Input<VerdictScope> | undefined;
  /** Why the entry is here. An empty comment is the same as none. */
  readonly comment?: pulumi.Input<string> | undefined;
  /**
   * Take over an entry of the same value that exists with other arguments, and change it to these. Default: false;
   * such an entry is then an error that names it. One with the same arguments is taken over in any case.
   */
  readonly adopt?: pulumi.Input<boolean> | undefined;
  /**
   * Why an entry that is refused as risky is meant all the same: `"the fair's mail comes from there; until May"`. It shows
   * in the preview and stands in the stack's state, and is never sent to the service.
   */
  readonly acceptRisk?: pulumi.Input<string> | undefined;
}

/**
 * One entry of the tenant's allow/deny list (reference, section "Allow/deny list").
 *
 * @example
 * new AllowDenyEntry("partner", { list: "allow", value: "partner.example", comment: "Contract 2026-114" });
 */
export class AllowDenyEntry extends pulumi.CustomResource {
  /** The list as it stands. */
  declare readonly list: pulumi.Output<List>;
  /** The value as written. */
  declare readonly value: pulumi.Output<string>;
  /** What the value is. */
  declare readonly entryType: pulumi.Output<EntryType>;
  /** The verdict scope as it stands. */
  declare readonly verdictScope: pulumi.Output<VerdictScope>;
  /** The comment as it stands; undefined when there is none. */
  declare readonly comment: pulumi.Output<string | undefined>;
  /** Why the risk of the entry is accepted; undefined when nobody accepted any. */
  declare readonly acceptRisk: pulumi.Output<string | undefined>;
  /** The service's id of the entry. */
  declare readonly entryId: pulumi.Output<string>;
  /** When the entry was made, as the service tells it. */
  declare readonly createdAt: pulumi.Output<string | undefined>;
  /** Who made the entry, as the service tells it. */
  declare readonly createdBy: pulumi.Output<string | undefined>;
  /** Where it is: the service's host, and the explicit provider's name where there is one. */
  declare readonly tenant: pulumi.Output<string | undefined>;

  /** @param name the resource's name in the stack, unique among its kind. */
  constructor(name: string, args: AllowDenyEntryArgs, opts?: pulumi.CustomResourceOptions) {
    prepareResource("AllowDenyEntry", name, opts);
    const outputs = { entryId: undefined, createdAt: undefined, createdBy: undefined, tenant: undefined };
    // Named one by one: a property that is no argument is a mistake of the caller's, and reaches check to be told.
    const properties = {
      entryType: undefined,
      verdictScope: undefined,
      comment: undefined,
      acceptRisk: undefined,
      ...args,
      ...outputs,
      [NAME_PROPERTY]: name,
      [PROVIDER_PROPERTY]: buildSerializedProvider("allowDenyEntry"),
    };
    const restoreTraces = shortenTraces();
    try {
      super(getDynamicType("AllowDenyEntry"), name, properties, opts);
    } finally {
      restoreTraces();
    }
    this.entryId = buildEntryIdOutput(this);
  }
}

/**
 * The state holds the service's id only where it is not the resource's own. A preview takes what no state holds for unknown;
 * where it has the rest of a state, as of an entry that it leaves alone, the id is the resource's own all the same.
 */
function buildEntryIdOutput({ entryId, id, tenant }: AllowDenyEntry): pulumi.Output<string> {
  const declaredId = pulumi.all([entryId, id]).apply(([entryIdValue, other]) => entryIdValue ?? other);
  // An output that failed is known, as the failure.
  const knownOutputs = [entryId, tenant].map((output) => isOutputKnown(output).catch(() => true));
  const isIdEntryId = Promise.all(knownOutputs).then(
    ([isEntryIdKnown, isTenantKnown]) => !isEntryIdKnown && isTenantKnown,
  );
  return pulumi.output(isIdEntryId.then((entryIdValue) => (entryIdValue ? id : declaredId)));
}

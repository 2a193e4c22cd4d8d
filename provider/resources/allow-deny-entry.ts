import * as pulumi from "@pulumi/pulumi";
import type { EntryType, List, VerdictScope } from "../model/assumptions";
import { isOutputKnown } from "./known-output";
import { NAME_PROPERTY, PROVIDER_PROPERTY } from "./pulumi-values";
import { runRegistrationPreflight } from "./registration-preflight";
import { getDynamicType } from "./resource-type";
import { buildSerializedProvider } from "./serialized-provider";
import { shortenTraces } from "./shorten-traces";

/** The arguments of an {@link AllowDenyEntry}. */
export interface AllowDenyEntryArgs {
  /** The list. Changing it moves the entry in place. */
  readonly list: pulumi.Input<List>;
  /**
   * The domain, IP address or mailbox. Compared in canonical form (case, IDN, trailing dot, IPv6 text), kept as
   * written. Changing it replaces the entry.
   */
  readonly value: pulumi.Input<string>;
  /** The type of the value. Default: inferred from the value. */
  readonly entryType?: pulumi.Input<EntryType> | undefined;
  /** The verdicts that the entry overrides. Default: `"global"`. */
  readonly verdictScope?: pulumi.Input<VerdictScope> | undefined;
  /** The reason for the entry. An empty comment is the same as none. */
  readonly comment?: pulumi.Input<string> | undefined;
  /**
   * Whether to adopt an existing entry of the same value with other arguments, and change it to these. Default: false;
   * such an entry is then an error that names it. An entry with the same arguments is always adopted.
   */
  readonly adopt?: pulumi.Input<boolean> | undefined;
  /**
   * The reason to accept an entry that would be refused as risky: `"the fair's mail comes from there; until May"`. It
   * appears in the preview and in the stack's state, and is never sent to the service.
   */
  readonly acceptRisk?: pulumi.Input<string> | undefined;
}

/**
 * One entry of the tenant's allow/deny list (reference, section "Allow/deny list").
 *
 * @example
 * new AllowDenyEntry("partner", { list: "allow", value: "partner.example", comment: "Contract 2026-114" });
 */
export class AllowDenyEntry
  extends pulumi.CustomResource
  implements Record<Exclude<keyof AllowDenyEntryArgs, "adopt">, pulumi.Output<unknown>>
{
  /** The actual list. */
  declare readonly list: pulumi.Output<List>;
  /** The value as written. */
  declare readonly value: pulumi.Output<string>;
  /** The type of the value. */
  declare readonly entryType: pulumi.Output<EntryType>;
  /** The actual verdict scope. */
  declare readonly verdictScope: pulumi.Output<VerdictScope>;
  /** The actual comment; undefined if there is none. */
  declare readonly comment: pulumi.Output<string | undefined>;
  /** The reason for accepting the entry's risk; undefined if there is none. */
  declare readonly acceptRisk: pulumi.Output<string | undefined>;
  /** The service's id of the entry. */
  declare readonly entryId: pulumi.Output<string>;
  /** The creation time of the entry, as the service reports it. */
  declare readonly createdAt: pulumi.Output<string | undefined>;
  /** The creator of the entry, as the service reports it. */
  declare readonly createdBy: pulumi.Output<string | undefined>;
  /** The tenant: the service's host, and the name of the explicit provider, if any. */
  declare readonly tenant: pulumi.Output<string | undefined>;

  /** @param name the resource's name in the stack, unique among its kind. */
  constructor(name: string, args: AllowDenyEntryArgs, opts?: pulumi.CustomResourceOptions) {
    runRegistrationPreflight("AllowDenyEntry", name, opts);
    const outputs = { entryId: undefined, createdAt: undefined, createdBy: undefined, tenant: undefined };
    // Copied one by one, so that a property that isn't an argument reaches check, which reports it.
    const properties = {
      entryType: undefined,
      verdictScope: undefined,
      comment: undefined,
      acceptRisk: undefined,
      ...args,
      ...outputs,
      [NAME_PROPERTY]: name,
      [PROVIDER_PROPERTY]: buildSerializedProvider("allowDenyEntry"),
    } satisfies Record<Exclude<keyof AllowDenyEntryArgs, "adopt">, unknown> & Readonly<Record<string, unknown>>;
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
 * Returns the service's id of the entry. The state has it only if it differs from the resource's id. In a preview, Pulumi treats a value
 * that the state lacks as unknown. If the other outputs are known, the entry is unchanged, and its id is the resource's id.
 */
function buildEntryIdOutput({ entryId, id, tenant }: AllowDenyEntry): pulumi.Output<string> {
  const resolvedId = pulumi.all([entryId, id]).apply(([stateId, resourceId]) => stateId ?? resourceId);
  // A failed output counts as known, so that the failure surfaces.
  const knownOutputs = [entryId, tenant].map((output) => isOutputKnown(output).catch(() => true));
  const usesResourceId = Promise.all(knownOutputs).then(
    ([isEntryIdKnown, isTenantKnown]) => !isEntryIdKnown && isTenantKnown,
  );
  return pulumi.output(usesResourceId.then((isResourceId) => (isResourceId ? id : resolvedId)));
}

import { z } from "zod";
import { placeSchema, planEntryStateSchema, subjectShape } from "../plan/plan-schema";
import { jsonCountField, jsonTextField } from "../settings/json-fields";
import { formatJson } from "../settings/text";

/** The version of the drift format. */
export const DRIFT_FORMAT = 1;

const { unicode: _unicode, ...named } = subjectShape;

const itemSchema = z
  .strictObject({
    ...named,
    what: z
      .enum(["added", "changed", "missing", "leaving"])
      .describe(
        "added: there, and nobody declares it. changed: there, otherwise than declared. missing: declared, and not there. leaving: still there, though expired or no longer declared; the next run removes it, if the stack declared it.",
      ),
    there: planEntryStateSchema
      .describe("As the tenant holds it: with who made it and when, as the service tells it.")
      .exactOptional(),
    declared: planEntryStateSchema.describe("As the files declare it.").exactOptional(),
    place: placeSchema.describe("Which line declares it.").exactOptional(),
    why: jsonTextField(
      "Why it is leaving (expired on 2026-10-31, no longer declared), and what was done at the tenant since the stack's last run.",
    ).exactOptional(),
    movedBy: z
      .enum(["tenant", "files", "both"])
      .describe(
        "Of what is changed or missing: who departed from what the stack's last run left; absent where no state was read.",
      )
      .exactOptional(),
    id: jsonTextField("The service's id of an entry that is there.").exactOptional(),
  })
  .readonly()
  .meta({ id: "DriftItem", description: "One entry or VIP that is not as the files declare it." });

export type DriftItem = z.infer<typeof itemSchema>;
export type DriftKind = DriftItem["what"];

export const driftSchema = z
  .strictObject({
    format: z.literal(DRIFT_FORMAT).describe("The version of this format."),
    at: jsonTextField("When the tenant was read (UTC)."),
    host: jsonTextField("The service's host."),
    file: jsonTextField("The settings file that was asked for."),
    items: z.array(itemSchema).readonly().describe("In the order of what, then of keys."),
    unchanged: jsonCountField("How many entries and VIPs are as declared."),
  })
  .readonly()
  .meta({
    title: "Email security drift",
    description: "How a tenant differs from its settings files, as `email-security drift` writes it as JSON.",
  });

export type Drift = z.infer<typeof driftSchema>;

export const formatDriftJson = formatJson<Drift>;

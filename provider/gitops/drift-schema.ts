import { z } from "zod";
import { jsonArray, jsonCountField, jsonObject, jsonTextField } from "../model/json-schema-builders";
import { formatJson } from "../model/text";
import { fileLocationSchema, planEntryStateSchema, subjectShape } from "../plan/plan-schema";

export const DRIFT_FORMAT = 1;

const { unicode: _unicode, ...named } = subjectShape;

const itemSchema = jsonObject({
  ...named,
  driftKind: z
    .enum(["added", "changed", "missing", "pending-removal"])
    .describe(
      "added: exists, but undeclared. changed: exists with other values than declared. missing: declared, but doesn't exist. pending-removal: still exists, though expired or no longer declared; the next run removes it, if the stack declared it.",
    ),
  actual: planEntryStateSchema
    .describe("Its state at the tenant, with its author and time according to the service.")
    .exactOptional(),
  declared: planEntryStateSchema.describe("Its declaration in the files.").exactOptional(),
  place: fileLocationSchema.describe("The line that declares it.").exactOptional(),
  reason: jsonTextField(
    "Why it will be removed (expired on 2026-10-31, no longer declared), and what changed at the tenant since the stack's last run.",
  ).exactOptional(),
  changedSide: z
    .enum(["tenant", "files", "both"])
    .describe("For changed or missing: which side changed since the stack's last run; absent if no state was read.")
    .exactOptional(),
  id: jsonTextField("The service's id of an existing entry.").exactOptional(),
}).meta({ id: "DriftItem", description: "An entry or VIP that differs from the files." });

export type DriftItem = z.infer<typeof itemSchema>;
export type DriftKind = DriftItem["driftKind"];

export const driftSchema = jsonObject({
  format: z.literal(DRIFT_FORMAT).describe("The version of this format."),
  readAt: jsonTextField("When the tenant was read (UTC)."),
  host: jsonTextField("The service's host."),
  file: jsonTextField("The requested settings file."),
  items: jsonArray(itemSchema, "Sorted by driftKind, then by key."),
  unchanged: jsonCountField("The number of entries and VIPs that match the files."),
}).meta({
  title: "Email security drift",
  description: "How a tenant differs from its settings files, as `email-security drift` writes it as JSON.",
});

export type Drift = z.infer<typeof driftSchema>;

export const formatDriftJson = formatJson<Drift>;

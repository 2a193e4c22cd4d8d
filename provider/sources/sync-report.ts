import { z } from "zod";
import { jsonArray, jsonCountField, jsonObject, jsonTextField } from "../model/json-schema-builders";
import { SOURCE_KINDS } from "../settings-files/source-schema";

export const SYNC_FORMAT = "1";

const buildItemGroupsField = (description: string) =>
  jsonArray(
    jsonObject({
      reason: z.string(),
      count: jsonCountField("The number of items."),
      examples: jsonArray(z.string(), "The first items."),
    }),
    description,
  );

const buildValuesField = (description: string) => jsonArray(z.string(), description);

const sourceReportSchema = jsonObject({
  name: jsonTextField("The name of the source."),
  kind: z.enum(SOURCE_KINDS),
  into: z.enum(["vips", "allow", "deny"]),
  file: jsonTextField("The generated file."),
  declaredIn: jsonTextField("The settings file that declares the source."),
  line: z.int().min(1).describe("The line that declares it."),
  outcome: z
    .enum(["changed", "unchanged", "blocked"])
    .describe("changed: its file changes. unchanged: its file is up to date. blocked: nothing may be changed."),
  problem: jsonObject({ code: jsonTextField("The error code."), message: z.string() })
    .describe("Why it is blocked.")
    .exactOptional(),
  elements: jsonCountField("The elements of the generated file after the sync."),
  added: buildValuesField("Values that are new in the source."),
  departed: buildValuesField("Values that left the source, and stay until they expire."),
  returned: buildValuesField("Values that came back before they expired."),
  removed: buildValuesField("Values that are removed from the file."),
  renewed: jsonCountField("The elements that get a later expiry date."),
  rejected: buildItemGroupsField("Values that a source may not declare, by reason."),
  skipped: buildItemGroupsField("Items of the source that can't be declared, by reason."),
  notes: buildValuesField("Facts that matter before the change is merged."),
  proposal: jsonObject({
    branch: jsonTextField("The branch at the remote."),
    state: z
      .enum(["unchanged", "current", "pushed", "added", "conflict"])
      .describe(
        "unchanged: the base branch has the same content. current: the branch has it already. pushed: the branch was created or rebuilt. added: a commit was added after the commits of other people. conflict: other people changed the same lines, and nothing was pushed.",
      ),
    url: jsonTextField("The open pull or merge request.").exactOptional(),
  })
    .describe("With --pr: the change that is proposed for review.")
    .exactOptional(),
});

/** The output of `sync --format json`. */
export const syncSchema = jsonObject({
  format: z.literal(SYNC_FORMAT),
  today: jsonTextField("The day (UTC) of the sync."),
  sources: jsonArray(sourceReportSchema, "The sources in the order of their names."),
});

export type SourceReport = z.infer<typeof sourceReportSchema>;
export type SyncReport = z.infer<typeof syncSchema>;

import { z } from "zod";
import { SOURCE_KINDS } from "../files/source-schema";
import { jsonArray, jsonCountField, jsonObject, jsonTextField } from "../settings/json-schema-builders";

export const SYNC_FORMAT = "1";

const itemGroups = (description: string) =>
  jsonArray(
    jsonObject({
      reason: z.string(),
      count: jsonCountField("The number of items."),
      examples: jsonArray(z.string(), "The first items."),
    }),
    description,
  );

const valuesField = (description: string) => jsonArray(z.string(), description);

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
  added: valuesField("Values that are new in the source."),
  departed: valuesField("Values that left the source, and stay until they expire."),
  returned: valuesField("Values that came back before they expired."),
  removed: valuesField("Values that are removed from the file."),
  renewed: jsonCountField("The elements that get a later expiry date."),
  rejected: itemGroups("Values that a source may not declare, by reason."),
  skipped: itemGroups("Items of the source that can't be declared, by reason."),
  notes: valuesField("Facts that matter before the change is merged."),
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

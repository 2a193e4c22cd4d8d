import { z } from "zod";
import { ENTRY_LISTS } from "../model/assumptions";
import { sentFieldsShape } from "../model/entry-fields";
import { jsonArray, jsonObject, jsonTextField } from "../model/json-schema-builders";
import {
  entryRemovalEstimateSchema,
  evidenceSchema,
  evidenceSummarySchema,
  fileLocationSchema,
  kindSchema,
} from "../plan/plan-schema";
import { declaredFieldsShape } from "../settings-files/element-fields";
import { elementSourceSchema } from "../settings-files/element-source";

export const WHY_FORMAT = 1;

const subjectFields = {
  kind: kindSchema,
  key: jsonTextField("As in an encoded list."),
  list: z.string().exactOptional(),
  verdictScope: jsonTextField("Only for entries.").exactOptional(),
};

const declaredSchema = jsonObject({
  ...subjectFields,
  state: z
    .enum(["declared", "expired", "removed"])
    .describe("expired: its last day is past. removed: an included file declares it, and another one removes it."),
  list: z.enum(ENTRY_LISTS).exactOptional(),
  place: fileLocationSchema,
  includeChain: jsonArray(z.string(), "The files through which it is included, starting with the requested one."),
  overrides: jsonArray(fileLocationSchema, "The entries of included files that it replaces, nearest first."),
  removedAt: fileLocationSchema.describe("Where it is removed.").exactOptional(),
  ...declaredFieldsShape,
  source: elementSourceSchema.exactOptional(),
  daysLeft: z.int().describe("Days until its last day; negative if that is past.").exactOptional(),
});

export type FileDeclaration = z.infer<typeof declaredSchema>;

const parentSchema = jsonObject({
  list: z.string(),
  value: z.string(),
  verdictScope: z.string(),
  place: fileLocationSchema.describe("Where a file declares it; absent if only the tenant has it.").exactOptional(),
});

export type CoveringEntry = z.infer<typeof parentSchema>;

const tenantEntrySchema = jsonObject({
  ...subjectFields,
  ...sentFieldsShape,
  list: subjectFields.list,
  createdBy: z.string().exactOptional(),
  createdAt: z.string().exactOptional(),
  source: jsonTextField("For a VIP: its source.").exactOptional(),
  isDeclared: z.boolean(),
});

export type WhyTenantEntry = z.infer<typeof tenantEntrySchema>;

const elementSchema = jsonObject({
  section: z
    .enum(["allow", "deny", "vips", "remove allow", "remove deny", "remove vips"])
    .describe("The section of the file; with the prefix remove, the section that removes the value."),
  scope: jsonTextField("The verdict scope."),
  fields: z.record(z.string(), z.string()).readonly().describe("Its other fields: ticket, owner, expires, ..."),
  path: jsonTextField("The file, relative to the repository's top directory."),
}).meta({ id: "Element", description: "A file's declaration of the value at a certain time." });

export type FileElement = z.infer<typeof elementSchema>;
export type ElementContent = Omit<FileElement, "path">;

const committerShape = {
  committer: jsonTextField(
    "The committer; absent if author and committer are the same, at the same time.",
  ).exactOptional(),
  committedAt: jsonTextField("When it was committed, for example by a rebase; absent if committer is.").exactOptional(),
};

const mergeSchema = jsonObject({ id: z.string(), mergedAt: z.string(), ...committerShape });

export type CommitterFields = Omit<z.infer<typeof mergeSchema>, "id" | "mergedAt">;

const commitSchema = jsonObject({
  id: z.string(),
  author: z.string(),
  authoredAt: jsonTextField("When it was written, according to its author."),
  ...committerShape,
  coAuthors: jsonArray(z.string(), "The co-authors from the message.").exactOptional(),
  cherryPickedFrom: jsonTextField("The original commit, according to the message.").exactOptional(),
  subject: z.string(),
});

export type CommitTrailers = Pick<z.infer<typeof commitSchema>, "coAuthors" | "cherryPickedFrom">;

const requestSchema = jsonObject({
  name: jsonTextField("#12, or !34; for another project, group/project!34."),
  url: z.string().exactOptional(),
  isClaimed: z
    .literal(true)
    .describe("Only a message claims it, in a form that the remote's host doesn't write.")
    .exactOptional(),
});

export type ChangeRequest = z.infer<typeof requestSchema>;

const eventSchema = jsonObject({
  commit: commitSchema.describe("Absent for uncommitted changes.").exactOptional(),
  requests: jsonArray(
    requestSchema,
    "The requests that contain the commit, according to its message or a merge's; the nearest first, and last those that only a message claims.",
  ),
  merges: jsonArray(mergeSchema, "The merges that contain it, the nearest first."),
  before: elementSchema.exactOptional(),
  after: elementSchema.exactOptional(),
  include: jsonObject(
    {
      includingFile: jsonTextField("The file that includes or included it."),
      includedFile: jsonTextField("The included file."),
    },
    "The include line that added or removed it, if its own line did not change.",
  ).exactOptional(),
  isUndoneByMerge: z
    .literal(true)
    .describe("A merge dropped the changes of a branch, as -s ours does.")
    .exactOptional(),
  isTruncated: z
    .literal(true)
    .describe("A shallow clone's history ends here, so its origin is unknown.")
    .exactOptional(),
});

export type HistoryEvent = z.infer<typeof eventSchema>;

const rolloutSchema = jsonObject({
  rollout: z.string(),
  wave: z.string(),
  operation: jsonTextField("add, change or remove."),
  kind: kindSchema,
  lists: jsonArray(z.enum(ENTRY_LISTS), "The list of an entry; both if it moved from one to the other."),
  verdictScope: jsonTextField("Only for entries.").exactOptional(),
  state: jsonTextField("Its result: done, failed, running."),
  digest: jsonTextField("The rollout's reviewed digest."),
  planDigest: jsonTextField("The digest of this tenant's plan."),
  rollsBack: z.string().exactOptional(),
  finishedAt: jsonTextField("ISO 8601, UTC.").exactOptional(),
});

export type WhyRolloutChange = z.infer<typeof rolloutSchema>;

const mailSchema = jsonObject({
  ...subjectFields,
  evidence: evidenceSchema,
  removalEstimate: entryRemovalEstimateSchema.exactOptional(),
});

export type WhyMailEvidence = z.infer<typeof mailSchema>;

/** Everything known about one value. Texts of commits and of the tenant are untrusted. */
export const whySchema = jsonObject({
  format: z.literal(WHY_FORMAT),
  value: jsonTextField("In canonical form."),
  unicode: jsonTextField("The same in its own script, if the canonical form is punycode.").exactOptional(),
  file: jsonTextField("The requested settings file."),
  tenant: jsonObject({ host: z.string(), name: z.string().exactOptional() }).exactOptional(),
  queriedAt: jsonTextField("The time of the query, ISO 8601, UTC."),
  files: jsonArray(declaredSchema, "The current declarations in the settings files."),
  coveringEntries: jsonArray(parentSchema, "Parent domains that have an entry."),
  vipRemoval: z
    .enum(["excluded", "kept"])
    .describe(
      "For a VIP: what happens to its mailbox when the files no longer declare it, according to lists.vips.onDelete.",
    )
    .exactOptional(),
  actual: jsonArray(
    tenantEntrySchema,
    "The tenant's actual rows; absent if it was not read or did not respond.",
  ).exactOptional(),
  history: jsonArray(eventSchema, "The changes in commits, newest first."),
  isHistoryOfOtherFiles: z
    .boolean()
    .describe(
      "Whether the history comes from other files of the repository, because the requested ones never contained it.",
    ),
  rollouts: jsonArray(
    rolloutSchema,
    "The changes by rollouts at the tenant, newest first; absent if no journal was read.",
  ).exactOptional(),
  mail: jsonObject({ summary: evidenceSummarySchema, items: jsonArray(mailSchema) }).exactOptional(),
  missing: jsonArray(z.string(), "Sources that could not be read, one sentence each."),
}).meta({
  title: "Email security history of a value",
  description: "The declarations, state and history of an entry or VIP, as `email-security why` writes it as JSON.",
});

export type WhyReport = z.infer<typeof whySchema>;

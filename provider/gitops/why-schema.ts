import { z } from "zod";
import { declaredFieldsShape } from "../files/element-fields";
import {
  entryRemovalEstimateSchema,
  evidenceSchema,
  evidenceSummarySchema,
  kindSchema,
  placeSchema,
} from "../plan/plan-schema";
import { ENTRY_LISTS } from "../settings/assumptions";
import { sentFieldsShape } from "../settings/entry-fields";
import { jsonTextField } from "../settings/json-fields";

/** The version of the `why` format. */
export const WHY_FORMAT = 1;

const subjectFields = {
  kind: kindSchema,
  key: jsonTextField("As in a keyed list."),
  list: z.string().exactOptional(),
  verdictScope: jsonTextField("Of entries.").exactOptional(),
};

const declaredSchema = z
  .strictObject({
    ...subjectFields,
    state: z
      .enum(["declared", "expired", "removed"])
      .describe("expired: its last day is past. removed: an included file has it, and another one removes it."),
    list: z.enum(ENTRY_LISTS).exactOptional(),
    place: placeSchema,
    chain: z.array(z.string()).readonly().describe("Over which files it is included, from the one that was asked for."),
    overrides: z
      .array(placeSchema)
      .readonly()
      .describe("The entries of included files that it replaces, nearest first."),
    removedAt: placeSchema.describe("Where it is removed.").exactOptional(),
    ...declaredFieldsShape,
    daysLeft: z.int().describe("Days until its last one; below 0 when that is past.").exactOptional(),
  })
  .readonly();

export type FileDeclaration = z.infer<typeof declaredSchema>;

const parentSchema = z
  .strictObject({
    list: z.string(),
    value: z.string(),
    verdictScope: z.string(),
    place: placeSchema.describe("Where a file declares it; absent where only the tenant has it.").exactOptional(),
  })
  .readonly();

export type CoveringEntry = z.infer<typeof parentSchema>;

const heldSchema = z
  .strictObject({
    ...subjectFields,
    ...sentFieldsShape,
    list: subjectFields.list,
    by: z.string().exactOptional(),
    at: z.string().exactOptional(),
    source: jsonTextField("Of a VIP: how it came to be one.").exactOptional(),
    isDeclared: z.boolean(),
  })
  .readonly();

export type WhyTenantEntry = z.infer<typeof heldSchema>;

const elementSchema = z
  .strictObject({
    section: z
      .enum(["allow", "deny", "vips", "remove allow", "remove deny", "remove vips"])
      .describe("The section of the file; with remove before it, what removes the value."),
    scope: jsonTextField("The verdict scope."),
    fields: z.record(z.string(), z.string()).readonly().describe("What else it says: ticket, owner, expires, ..."),
    path: jsonTextField("The file, relative to the repository's top directory."),
  })
  .readonly()
  .meta({ id: "Element", description: "A file's declaration of the value at some time." });

export type FileElement = z.infer<typeof elementSchema>;
export type ElementContent = Omit<FileElement, "path">;

const committerShape = {
  committer: jsonTextField(
    "The committer; absent where author and committer are the same, at the same time.",
  ).exactOptional(),
  committedAt: jsonTextField("When it was committed, as of a rebase; absent as committer is.").exactOptional(),
};

const mergeSchema = z.strictObject({ id: z.string(), at: z.string(), ...committerShape }).readonly();

export type CommitterFields = Omit<z.infer<typeof mergeSchema>, "id" | "at">;

const commitSchema = z
  .strictObject({
    id: z.string(),
    author: z.string(),
    at: jsonTextField("When it was written, as its author says."),
    ...committerShape,
    coAuthors: z.array(z.string()).readonly().describe("Whom the message names as co-authors.").exactOptional(),
    cherryPickedFrom: jsonTextField("The commit that the message names as its origin.").exactOptional(),
    subject: z.string(),
  })
  .readonly();

export type CommitTrailers = Pick<z.infer<typeof commitSchema>, "coAuthors" | "cherryPickedFrom">;

const requestSchema = z
  .strictObject({
    name: jsonTextField("#12, or !34; of another project, group/project!34."),
    url: z.string().exactOptional(),
    isClaimed: z
      .literal(true)
      .describe("Only a message says so, in a form that the remote's host would not have written.")
      .exactOptional(),
  })
  .readonly();

export type ChangeRequest = z.infer<typeof requestSchema>;

const eventSchema = z
  .strictObject({
    commit: commitSchema.describe("Absent of what is not committed.").exactOptional(),
    requests: z
      .array(requestSchema)
      .readonly()
      .describe(
        "The requests that brought the commit, the nearest first, by its message or a merge's; last, those that only a message claims.",
      ),
    merges: z.array(mergeSchema).readonly().describe("The merges that brought it, the nearest first."),
    before: elementSchema.exactOptional(),
    after: elementSchema.exactOptional(),
    include: z
      .strictObject({
        by: jsonTextField("The file that includes, or did."),
        file: jsonTextField("The included file."),
      })
      .readonly()
      .describe("By which line of include it came or went, where it stayed as it was itself.")
      .exactOptional(),
    isUndoneByMerge: z
      .literal(true)
      .describe("A merge dropped what a branch had brought, as -s ours does.")
      .exactOptional(),
    isCutHere: z
      .literal(true)
      .describe("A shallow clone's history ends here, so who brought it is not known.")
      .exactOptional(),
  })
  .readonly();

export type HistoryEvent = z.infer<typeof eventSchema>;

const rolloutSchema = z
  .strictObject({
    rollout: z.string(),
    wave: z.string(),
    did: jsonTextField("add, change or remove."),
    kind: kindSchema,
    lists: z.array(z.enum(ENTRY_LISTS)).readonly().describe("Of an entry: both where it went from one to the other."),
    verdictScope: jsonTextField("Of entries.").exactOptional(),
    state: jsonTextField("Its result: done, failed, running."),
    digest: jsonTextField("Of the rollout: what was reviewed."),
    planDigest: jsonTextField("Of this tenant's plan."),
    rollsBack: z.string().exactOptional(),
    at: jsonTextField("ISO 8601, UTC.").exactOptional(),
  })
  .readonly();

export type WhyRolloutChange = z.infer<typeof rolloutSchema>;

const mailSchema = z
  .strictObject({
    ...subjectFields,
    evidence: evidenceSchema,
    without: entryRemovalEstimateSchema.exactOptional(),
  })
  .readonly();

export type WhyMailEvidence = z.infer<typeof mailSchema>;

/** Everything known about one value. Texts of commits and of the tenant are untrusted. */
export const whySchema = z
  .strictObject({
    format: z.literal(WHY_FORMAT),
    value: jsonTextField("In canonical form."),
    unicode: jsonTextField("The same in its own script, where that is punycode.").exactOptional(),
    file: jsonTextField("The settings file that was asked for."),
    tenant: z.strictObject({ host: z.string(), name: z.string().exactOptional() }).readonly().exactOptional(),
    at: jsonTextField("When it was asked, ISO 8601, UTC."),
    files: z.array(declaredSchema).readonly().describe("The current declarations in the settings files."),
    above: z.array(parentSchema).readonly().describe("Domains above it that have an entry."),
    vipEnd: z
      .enum(["excluded", "kept"])
      .describe("Of a VIP: what its mailbox becomes when the files declare it no more, by their lists.vips.onDelete.")
      .exactOptional(),
    held: z
      .array(heldSchema)
      .readonly()
      .describe("The tenant's actual rows; absent where it was not read or did not answer.")
      .exactOptional(),
    history: z.array(eventSchema).readonly().describe("The changes by commits, newest first."),
    isHistoryOfOtherFiles: z
      .boolean()
      .describe("Whether the history is of other files of the repository: those that are asked for never had it."),
    rollouts: z
      .array(rolloutSchema)
      .readonly()
      .describe("The changes by rollouts at the tenant, newest first; absent where no journal was read.")
      .exactOptional(),
    mail: z
      .strictObject({ summary: evidenceSummarySchema, of: z.array(mailSchema).readonly() })
      .readonly()
      .exactOptional(),
    missing: z.array(z.string()).readonly().describe("Sources that could not be read, a sentence each."),
  })
  .readonly()
  .meta({
    title: "Email security story of a value",
    description: "All that is known of one entry or VIP, as `email-security why` writes it as JSON.",
  });

export type WhyStory = z.infer<typeof whySchema>;

import { z } from "zod";
import { WHY_FORMAT } from "./story";

const text = (what: string) => z.string().describe(what);
const count = (what: string) => z.int().min(0).describe(what);

const place = z
  .strictObject({
    file: text("The file, relative to the working folder."),
    line: z.int().min(1),
    column: z.int().min(1),
    endLine: z.int().min(1).optional(),
    endColumn: z.int().min(1).optional(),
  })
  .meta({ id: "Place", description: "Where something stands in a file." });

const kind = z.enum(["entry", "vip"]);

const element = z
  .strictObject({
    section: text("allow, deny or vips; with `remove ` before it, what takes it out."),
    scope: text("The verdict scope."),
    fields: z.record(z.string(), z.string()).describe("What else it says: ticket, owner, expires, ..."),
    path: text("The file, relative to the repository's top folder."),
  })
  .meta({ id: "Element", description: "What a file says of the value at some time." });

const counts = z.array(z.strictObject({ name: z.string(), count: count("How often.") }));
const people = {
  recipients: z.array(z.strictObject({ email: z.string(), isVip: z.boolean(), count: count("How often.") })),
  recipientCount: count("How many there are in all."),
  vipCount: count("How many of them are VIPs."),
};

const committed = {
  committer: text(
    "Who committed it; absent where author and committer are the same, at the same time.",
  ).optional(),
  committedAt: text("When it was committed, as of a rebase; absent as committer is.").optional(),
};

/** A story as JSON. */
export const whySchema = z.strictObject({
  format: z.literal(WHY_FORMAT),
  value: text("In canonical form."),
  unicode: text("The same in its own script, where that is punycode.").optional(),
  file: text("The settings file that was asked for."),
  tenant: z.strictObject({ host: z.string(), name: z.string().optional() }).optional(),
  at: text("When it was asked, ISO 8601, UTC."),
  files: z
    .array(
      z.strictObject({
        state: z.enum(["declared", "expired", "removed"]),
        kind,
        key: text("As in a keyed list."),
        list: z.enum(["allow", "deny"]).optional(),
        verdictScope: z.string().optional(),
        place,
        chain: z.array(z.string()).describe("Over which files it is included."),
        overrides: z.array(place),
        removedAt: place.optional(),
        comment: z.string().optional(),
        ticket: z.string().optional(),
        owner: z.string().optional(),
        approvedBy: z.string().optional(),
        acceptRisk: z.string().optional(),
        expires: z.string().optional(),
        daysLeft: z.int().optional(),
      }),
    )
    .describe("What the settings files say of it now."),
  above: z
    .array(
      z.strictObject({
        list: z.string(),
        value: z.string(),
        verdictScope: z.string(),
        place: place.optional(),
      }),
    )
    .describe("Domains above it that have an entry."),
  vipEnd: z
    .enum(["excluded", "kept"])
    .optional()
    .describe("Of a VIP: what its mailbox becomes when the files declare it no more."),
  held: z
    .array(
      z.strictObject({
        kind,
        key: z.string(),
        list: z.string().optional(),
        verdictScope: z.string().optional(),
        comment: z.string().optional(),
        by: z.string().optional(),
        at: z.string().optional(),
        source: z.string().optional(),
        isDeclared: z.boolean(),
      }),
    )
    .optional()
    .describe("What the tenant holds of it; absent where it was not asked or did not answer."),
  history: z
    .array(
      z.strictObject({
        commit: z
          .strictObject({
            id: z.string(),
            author: z.string(),
            at: text("When it was written, as its author says."),
            ...committed,
            coAuthors: z.array(z.string()).optional().describe("Whom the message names as co-authors."),
            cherryPickedFrom: text("The commit that the message names as its origin.").optional(),
            subject: z.string(),
          })
          .optional()
          .describe("Absent of what is not committed."),
        requests: z.array(
          z.strictObject({
            name: text("#12, or !34; of another project, group/project!34."),
            url: z.string().optional(),
            isClaimed: z
              .literal(true)
              .optional()
              .describe("Only a message says so, in a form that the remote's host would not have written."),
          }),
        ),
        merges: z.array(z.strictObject({ id: z.string(), at: z.string(), ...committed })),
        before: element.optional(),
        after: element.optional(),
        include: z
          .strictObject({ by: text("The file that includes, or did."), file: text("What it includes.") })
          .optional()
          .describe("By which line of `include` it came or went, where it stayed as it was itself."),
        isUndoneByMerge: z
          .literal(true)
          .optional()
          .describe("A merge took what a branch had brought for nothing."),
        isCutHere: z.literal(true).optional().describe("A shallow clone's history ends here."),
      }),
    )
    .describe("What commits changed, newest first."),
  isHistoryOfOtherFiles: z.boolean(),
  rollouts: z
    .array(
      z.strictObject({
        rollout: z.string(),
        wave: z.string(),
        did: text("add, change or remove."),
        kind,
        lists: z
          .array(z.enum(["allow", "deny"]))
          .describe("Of an entry: both where it went from one to the other."),
        verdictScope: z.string().optional(),
        state: z.string(),
        digest: text("Of the rollout: what was reviewed."),
        planDigest: text("Of this tenant's plan."),
        rollsBack: z.string().optional(),
        at: z.string().optional(),
      }),
    )
    .optional()
    .describe("What rollouts did of it at the tenant, newest first; absent where no journal was read."),
  mail: z
    .strictObject({
      summary: z.strictObject({
        days: count("The window."),
        threats: count("All that were read."),
        reports: count("All that were read."),
        from: z.string().optional(),
        until: z.string(),
        complete: z.boolean(),
        missing: z.array(z.string()),
      }),
      of: z.array(
        z.strictObject({
          kind,
          key: z.string(),
          list: z.string().optional(),
          verdictScope: z.string().optional(),
          evidence: z.strictObject({
            applies: z.boolean(),
            threats: count("From it, or to a VIP."),
            verdicts: counts,
            actions: counts,
            last: z.string().optional(),
            ...people,
            reports: count("Of users."),
            reportVerdicts: counts,
            lastReport: z.string().optional(),
            senders: counts,
            senderCount: count("How many there are in all."),
          }),
          without: z
            .strictObject({
              decided: count("Threats that the entry decides."),
              otherwise: count("Of a deny, what another entry would let through; of an allow, stop."),
              notKnown: count("What the service alone would judge."),
              ...people,
            })
            .optional()
            .describe("What would have become of the threats without the entry, by estimate."),
        }),
      ),
    })
    .optional(),
  missing: z.array(z.string()).describe("What could not be asked or told."),
});

/** The JSON Schema (draft 2020-12) of a story as JSON. */
export function whyJsonSchema(): Record<string, unknown> {
  return {
    $id: `urn:pulumi-email-security:why:${WHY_FORMAT}`,
    title: "Email security story of a value",
    description: "All that is known of one entry or VIP, as `email-security why --format json` writes it.",
    ...(z.toJSONSchema(whySchema) as Record<string, unknown>),
  };
}

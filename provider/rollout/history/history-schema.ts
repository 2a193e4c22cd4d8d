import { z } from "zod";
import type { IsSame } from "../../settings/is-same";
import { printableJson } from "../../settings/text";
import { counts, reportSchema, rolloutState, task, tenantState } from "../report/rollout-report";
import { DIFFERENCE_FORMAT, type RolloutDifference } from "./difference";
import { HISTORY_FORMAT, type RolloutHistory } from "./history";
import { SHOWN_FORMAT, type ShownRollout } from "./shown";

/** A history, a rollout as it is shown, or a difference as JSON. Printed, nothing from outside does anything in it. */
export function historyJson(value: RolloutHistory | ShownRollout | RolloutDifference): string {
  return `${printableJson(JSON.stringify(value, null, 2))}\n`;
}

/** The JSON Schemas (draft 2020-12) of what `rollout history`, `show` and `diff` print, by the name of their file. */
export function historySchemas(): Readonly<Record<string, Record<string, unknown>>> {
  return {
    "rollout-history.schema.json": jsonSchema(
      `rollout-history:${HISTORY_FORMAT}`,
      "Email security rollouts that were",
      "Which rollouts were, as `email-security rollout history --json` prints it.",
      historySchema,
    ),
    "rollout-show.schema.json": jsonSchema(
      `rollout-show:${SHOWN_FORMAT}`,
      "Email security rollout, all that is known of it",
      "A rollout's whole record, as `email-security rollout show --json` prints it.",
      shownSchema,
    ),
    "rollout-diff.schema.json": jsonSchema(
      `rollout-diff:${DIFFERENCE_FORMAT}`,
      "Email security difference of two rollouts",
      "What two rollouts declared differently, as `email-security rollout diff --json` prints it.",
      differenceSchema,
    ),
  };
}

function jsonSchema(
  name: string,
  title: string,
  description: string,
  of: z.ZodType,
): Record<string, unknown> {
  return {
    $id: `urn:pulumi-email-security:${name}`,
    title,
    description,
    ...(z.toJSONSchema(of) as Record<string, unknown>),
  };
}

const text = (what: string) => z.string().describe(what);
const count = (what: string) => z.int().min(0).describe(what);
const time = (what: string) => z.string().describe(`${what} (ISO 8601, UTC).`);
const sign = z.enum(["add", "change", "remove"]);
const kind = z.enum(["entry", "vip"]);
const isChanged = z
  .literal(true)
  .exactOptional()
  .describe("That something beside that commit was not committed.");

const past = z
  .strictObject({
    id: text("The rollout's id."),
    state: rolloutState,
    isHeld: z.boolean().describe("Whether somebody is at it now."),
    reason: text("Why it stopped or waits, a sentence.").exactOptional(),
    source: text("The targets file, as it was named."),
    digest: text("What was reviewed: over the plans of all tenants."),
    startedAt: time("When it began"),
    finishedAt: time("When it ended").exactOptional(),
    by: text("Who planned it: dana@build-7.").exactOptional(),
    revision: text("The commit of git that it was planned at.").exactOptional(),
    isChanged,
    rollsBack: text("The id of the rollout that this one takes back.").exactOptional(),
    rollsBackTo: text("What it goes back to.").exactOptional(),
    rolledBackBy: text(
      "The newest rollback of it, where all that it changed was rolled back.",
    ).exactOptional(),
    task,
    prunedAt: time("When its files and whole plans were taken out of the journal").exactOptional(),
    counts,
    planned: z
      .strictObject({ added: count("Added."), changed: count("Changed."), removed: count("Removed.") })
      .readonly()
      .describe("What the plans of the tenants that it began change; or of the one that was asked for."),
    changes: z
      .array(
        z
          .strictObject({
            sign,
            kind,
            list: text("deny, or allow → deny where it moves; absent for VIPs.").exactOptional(),
            value: text("The value or mailbox."),
            tenants: count("In how many tenants."),
          })
          .readonly(),
      )
      .readonly()
      .describe("The first of these changes, at most 10."),
    tenantState: tenantState.exactOptional(),
  })
  .readonly();

const history = z
  .strictObject({
    format: z.literal(HISTORY_FORMAT).describe("The version of this format."),
    rollouts: z.array(past).readonly().describe("The newest first."),
    older: count("How many more there are, that --limit leaves out."),
  })
  .readonly();

const standing = z
  .strictObject({
    list: z.enum(["allow", "deny"]).exactOptional(),
    comment: z.string().exactOptional(),
    acceptRisk: z.string().exactOptional(),
    by: z.string().exactOptional(),
    at: z.string().exactOptional(),
  })
  .readonly();

const keptChange = z
  .strictObject({
    sign,
    kind,
    key: text("What tells it from other entries of the tenant."),
    value: text("The value or mailbox."),
    before: standing.exactOptional(),
    after: standing.exactOptional(),
    why: text("Why, where the files do not say it in their place.").exactOptional(),
    ticket: z.string().exactOptional(),
    owner: z.string().exactOptional(),
    approvedBy: z.string().exactOptional(),
    expires: z.string().exactOptional(),
    accepted: text("Why its risk is accepted.").exactOptional(),
  })
  .readonly();

const shown = z
  .strictObject({
    format: z.literal(SHOWN_FORMAT).describe("The version of this format."),
    report: reportSchema,
    project: text("The Pulumi project of its stacks."),
    today: text("The day (UTC) by which expires was judged."),
    origin: z
      .strictObject({
        user: text("The pipeline's account, or the machine's.").exactOptional(),
        host: z.string(),
        revision: text("The commit that the working folder was at.").exactOptional(),
        isChanged,
      })
      .readonly()
      .exactOptional(),
    prunedAt: time("When its files and whole plans were taken out of the journal").exactOptional(),
    happened: z
      .array(
        z
          .strictObject({
            at: time("When"),
            kind: text("started, resumed, wave-finished, waiting, …"),
            wave: z.string().exactOptional(),
            tenant: text("Who was skipped.").exactOptional(),
            by: text(
              "Who began it, went on with it, or said that somebody is to be skipped.",
            ).exactOptional(),
            told: text("Why, or what was found.").exactOptional(),
          })
          .readonly(),
      )
      .readonly(),
    tenants: z
      .array(
        z
          .strictObject({
            name: z.string(),
            settings: text("The settings file."),
            digest: text("Of its plan; empty where it has none."),
            changes: z.array(keptChange).readonly().describe("All changes of its plan."),
          })
          .readonly(),
      )
      .readonly(),
  })
  .readonly();

const declaredAs = z
  .strictObject({
    list: z.string().exactOptional(),
    comment: z.string().exactOptional(),
    ticket: z.string().exactOptional(),
    owner: z.string().exactOptional(),
    approvedBy: z.string().exactOptional(),
    expires: z.string().exactOptional(),
    acceptRisk: z.string().exactOptional(),
  })
  .readonly();

const compared = z
  .strictObject({
    id: z.string(),
    digest: z.string(),
    today: text("The day (UTC) by which expires was judged."),
  })
  .readonly();

const difference = z
  .strictObject({
    format: z.literal(DIFFERENCE_FORMAT).describe("The version of this format."),
    from: compared,
    to: compared,
    tenants: z
      .array(
        z
          .strictObject({
            name: z.string(),
            only: z.enum(["from", "to"]).exactOptional().describe("Which rollout alone had it."),
            states: z
              .strictObject({ from: tenantState.exactOptional(), to: tenantState.exactOptional() })
              .readonly()
              .exactOptional()
              .describe("What became of it where it was not brought to what was declared."),
            unreadable: text("Why it can't be compared.").exactOptional(),
            changes: z
              .array(
                z
                  .strictObject({
                    sign,
                    kind,
                    key: z.string(),
                    value: z.string(),
                    before: declaredAs.exactOptional(),
                    after: declaredAs.exactOptional(),
                  })
                  .readonly(),
              )
              .readonly(),
          })
          .readonly(),
      )
      .readonly(),
    same: count("How many tenants of both declare the same."),
  })
  .readonly();

/** A {@link RolloutHistory} as JSON holds it; this and the next two compile only when both are the same. */
export const historySchema: IsSame<z.output<typeof history>, RolloutHistory> extends true
  ? typeof history
  : never = history;

/** A {@link ShownRollout} as JSON holds it. */
export const shownSchema: IsSame<z.output<typeof shown>, ShownRollout> extends true ? typeof shown : never =
  shown;

/** A {@link RolloutDifference} as JSON holds it. */
export const differenceSchema: IsSame<z.output<typeof difference>, RolloutDifference> extends true
  ? typeof difference
  : never = difference;

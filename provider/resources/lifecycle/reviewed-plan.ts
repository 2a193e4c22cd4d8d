import { readFileSync } from "node:fs";
import { z } from "zod";
import { ConfigurationError } from "../../client";
import { type EntryState, entryStateShape, isSameEntryState } from "../../model/entry-fields";
import { formatEntryState } from "../../model/entry-state-text";
import { hashChanges, hashTenant, isLegacyDigest, parsePlanDigest } from "../../model/plan-digest";
import { quote } from "../../model/text";

export const PLAN_FILE_VARIABLE = "EMAIL_SECURITY_PLAN";
export const PLAN_DIGEST_VARIABLE = "EMAIL_SECURITY_PLAN_DIGEST";

/** The environment variable for a settings file that precedes those of the plan, set during a rollback. */
export const PRECEDING_FILE_VARIABLE = "EMAIL_SECURITY_PLAN_FIRST";

export interface IntendedChange {
  readonly kind: string;
  readonly key: string;
  readonly before: EntryState | undefined;
  readonly after: EntryState | undefined;
}

/** A reviewed plan. The run may not make any other change. */
export interface ReviewedPlan {
  /** Returns why a change is refused, as the predicate of a sentence. Undefined if the review covers exactly this change. */
  readonly describeDeviation: (change: IntendedChange) => string | undefined;
  /** Set if the run only removes: selects what it removes. All other differences stay in place. */
  readonly onlyRemoves?: RemovalFilter;
}

/** Whether a run that only removes may remove an item, by its kind in the plan and its key in the list. */
export type RemovalFilter = (kind: string, key: string) => boolean;

const entryStateSchema = z.object({
  ...entryStateShape,
  createdBy: z.string().exactOptional(),
  createdAt: z.string().exactOptional(),
});

const planFileSchema = z.object({
  digest: z.string(),
  tenant: z.object({ host: z.string() }),
  source: z.object({
    kind: z.string(),
    stack: z.string().optional(),
    resource: z.string().optional(),
    files: z.array(z.string()).optional(),
  }),
  changes: z.array(
    z.object({
      kind: z.string(),
      key: z.string(),
      before: entryStateSchema.exactOptional(),
      after: entryStateSchema.exactOptional(),
      mayReplace: z.array(z.object({ key: z.string(), before: entryStateSchema })).exactOptional(),
    }),
  ),
  only: z
    .object({
      reason: z.literal("expired"),
      removes: z.array(z.object({ kind: z.string(), key: z.string() })),
    })
    .exactOptional(),
});

export type PlanFile = z.infer<typeof planFileSchema>;

/**
 * Reads the reviewed plan that the environment names. Undefined if it names none.
 *
 * @param host the host of the service, which must match the plan.
 * @throws {ConfigurationError} if the plan can't be read, doesn't match the digest, or is for another tenant.
 */
export function readReviewedPlan(environment: NodeJS.ProcessEnv, host: string): ReviewedPlan | undefined {
  const plan = readPlanFile(environment);
  if (plan === undefined) return undefined;
  if (plan.tenant.host !== host) {
    throw new ConfigurationError(
      `The plan in ${PLAN_FILE_VARIABLE} is for the tenant at ${quote(plan.tenant.host)}, but this run is for one at ${quote(host)}. Nothing was changed.`,
    );
  }
  return buildReviewedPlan(plan);
}

/**
 * Reads the plan file that the environment names. Undefined if it names none.
 *
 * @throws {ConfigurationError} if the file can't be read or doesn't match the digest.
 */
export function readPlanFile(environment: NodeJS.ProcessEnv): PlanFile | undefined {
  const file = environment[PLAN_FILE_VARIABLE];
  const digest = environment[PLAN_DIGEST_VARIABLE];
  if (!file && !digest) return undefined;
  if (!file) {
    throw new ConfigurationError(
      `${PLAN_DIGEST_VARIABLE} is set, but ${PLAN_FILE_VARIABLE} is not: set it to the plan's JSON file, or run \`email-security apply --plan-digest\`, which creates the plan again and compares it.`,
    );
  }
  const plan = parsePlanFile(file);
  const { digest: fileDigest, changes, tenant, source } = plan;
  if (isLegacyDigest(fileDigest)) {
    throw new ConfigurationError(
      `The plan in ${PLAN_FILE_VARIABLE} (${quote(file, 300)}) was created by an earlier release, and its digest doesn't cover everything that a plan shows. Nothing was changed at the tenant. Create the plan again, and have it reviewed.`,
    );
  }
  const digestParts = parsePlanDigest(fileDigest);
  const isIntact =
    digestParts?.observed === hashChanges(changes) && digestParts.tenant === hashTenant(tenant.host, source.stack);
  if (!isIntact || (digest !== undefined && digest !== "" && digest.trim() !== fileDigest)) {
    throw new ConfigurationError(
      `The plan in ${PLAN_FILE_VARIABLE} (${quote(file, 300)}) doesn't have the digest${digest ? ` ${quote(digest)}` : ""}: it belongs to another review, or was changed. Nothing was changed at the tenant.`,
    );
  }
  return plan;
}

/** Returns the filter for a plan that only removes. Undefined if the plan makes all declared changes. */
export function buildRemovalFilter({ only }: Pick<PlanFile, "only">): RemovalFilter | undefined {
  if (only === undefined) return undefined;
  const removedKeys = new Set(only.removes.map(({ kind, key }) => `${kind} ${key}`));
  return (kind, key) => removedKeys.has(`${kind} ${key}`);
}

function buildReviewedPlan(plan: PlanFile): ReviewedPlan {
  const { changes } = plan;
  const removalFilter = buildRemovalFilter(plan);
  // An item that a change replaces disappears from its own key, so its removal counts as reviewed too.
  const replacedChanges = changes.flatMap(({ kind, mayReplace = [] }) =>
    mayReplace.map((replacement) => ({ kind, ...replacement })),
  );
  const allChanges: readonly Omit<PlanFile["changes"][number], "mayReplace">[] = [...replacedChanges, ...changes];
  const reviewedByKey = new Map(allChanges.map((change) => [`${change.kind} ${change.key}`, change]));
  return {
    ...(removalFilter === undefined ? {} : { onlyRemoves: removalFilter }),
    describeDeviation({ kind, key, before, after }) {
      const change = reviewedByKey.get(`${kind} ${key}`);
      if (change === undefined)
        return `is ${describeEntryState(before)}, but the review didn't show that it would be ${describeEntryState(after)}`;
      if (!isSameEntryState(change.before, before)) {
        return `was ${describeEntryState(change.before)} at the review, but is now ${describeEntryState(before)}`;
      }
      if (!isSameEntryState(change.after, after)) {
        return `was to be ${describeEntryState(change.after)} at the review, but is now declared as ${describeEntryState(after)}`;
      }
      return undefined;
    },
  };
}

function parsePlanFile(file: string): PlanFile {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    throw new ConfigurationError(
      `The plan in ${PLAN_FILE_VARIABLE} (${quote(file, 300)}) can't be read: ${(cause as Error).message}`,
      { cause },
    );
  }
  try {
    return planFileSchema.parse(JSON.parse(text));
  } catch (cause) {
    throw new ConfigurationError(
      `${PLAN_FILE_VARIABLE} (${quote(file, 300)}) doesn't contain a plan from \`email-security plan --format json\`.`,
      { cause },
    );
  }
}

function describeEntryState(entryState: EntryState | undefined): string {
  return entryState === undefined ? "missing" : formatEntryState(entryState);
}

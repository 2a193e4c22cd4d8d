import { readFileSync } from "node:fs";
import { z } from "zod";
import { ConfigurationError } from "../client";
import { hashOfTouched, partsOfDigest } from "../settings/plan-digest";
import { canonicalComment, printable, quote } from "../settings/text";

/** The environment's variables that name a plan that was reviewed: its JSON file, and its digest. */
export const PLAN_FILE = "EMAIL_SECURITY_PLAN";
export const PLAN_DIGEST = "EMAIL_SECURITY_PLAN_DIGEST";

/** An entry or VIP as it is or will be; undefined where it is not there. */
export type ReviewedStanding = { readonly list?: string; readonly comment?: string } | undefined;

/** What a list is about to do to one of its own. */
export interface Intent {
  readonly kind: string;
  readonly key: string;
  readonly before: ReviewedStanding;
  readonly after: ReviewedStanding;
}

/** A plan that was reviewed: nothing else may be done. */
export interface ReviewedPlan {
  /** Why something may not be done, in a sentence; undefined when it was reviewed just so. */
  readonly refusal: (intent: Intent) => string | undefined;
}

const standing = z.object({ list: z.string().optional(), comment: z.string().optional() });

const planFile = z.object({
  digest: z.string(),
  changes: z.array(
    z.object({
      kind: z.string(),
      key: z.string(),
      before: standing.optional(),
      after: standing.optional(),
    }),
  ),
});

/**
 * The plan that the environment names; undefined where it names none.
 *
 * @throws {ConfigurationError} when it can't be read, or is not the one of the digest.
 */
export function readReviewedPlan(environment: NodeJS.ProcessEnv): ReviewedPlan | undefined {
  const file = environment[PLAN_FILE];
  const digest = environment[PLAN_DIGEST];
  if (!file && !digest) return undefined;
  if (!file) {
    throw new ConfigurationError(
      `${PLAN_DIGEST} is set and ${PLAN_FILE} is not: name the plan's JSON file too, or run \`email-security apply --plan-digest\`, which makes the plan anew and compares.`,
    );
  }
  const { digest: own, changes } = read(file);
  const isWhole = partsOfDigest(own)?.observed === hashOfTouched(changes);
  if (!isWhole || (digest !== undefined && digest !== "" && digest.trim() !== own)) {
    throw new ConfigurationError(
      `The plan in ${PLAN_FILE} (${quote(file, 300)}) is not the one of the digest${digest ? ` ${quote(digest)}` : ""}: it is of another review, or was changed. Nothing was changed at the tenant.`,
    );
  }
  const reviewed = new Map(changes.map((change) => [`${change.kind} ${change.key}`, change]));
  return {
    refusal({ kind, key, before, after }) {
      const change = reviewed.get(`${kind} ${key}`);
      if (change === undefined)
        return `is ${told(before)}, and the review did not show that it would be ${told(after)}`;
      if (told(change.before as ReviewedStanding) !== told(before)) {
        return `was ${told(change.before as ReviewedStanding)} at the review, and is ${told(before)} now`;
      }
      if (told(change.after as ReviewedStanding) !== told(after)) {
        return `was to be ${told(change.after as ReviewedStanding)} at the review, and is declared as ${told(after)} now`;
      }
      return undefined;
    },
  };
}

function read(file: string): z.infer<typeof planFile> {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    throw new ConfigurationError(
      `The plan in ${PLAN_FILE} (${quote(file, 300)}) can't be read: ${(cause as Error).message}`,
      { cause },
    );
  }
  try {
    return planFile.parse(JSON.parse(text));
  } catch (cause) {
    throw new ConfigurationError(
      `${PLAN_FILE} (${quote(file, 300)}) holds no plan as \`email-security plan --json\` writes it.`,
      { cause },
    );
  }
}

function told(one: ReviewedStanding): string {
  if (one === undefined) return "not there";
  const comment = canonicalComment(one.comment);
  const list = one.list ?? "a VIP";
  return printable(comment === "" ? `${list} without a comment` : `${list}: "${comment}"`);
}

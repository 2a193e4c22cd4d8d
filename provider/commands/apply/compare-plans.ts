import { SAID_FIELD_NAMES, saidOf } from "../../files/element-fields";
import type { Change, Plan, Standing } from "../../plan/plan";
import { hashOfTouched, isOldDigest, partsOfDigest } from "../../settings/plan-digest";
import { standingText } from "../../settings/standing-text";
import { printable } from "../../settings/text";

/** What is told of the digest of an earlier release. */
export const OLD_DIGEST =
  "The digest is that of a plan which an earlier release made: it does not hold for all that a plan shows. Make the plan anew, and have it reviewed.";

/** The service keeps who made what is there: by a key that many use that is its label, and of a later change it is nobody. */
const CHANGER_UNTOLD = "who changed it since, the service does not tell";

/** What moved between a plan that was reviewed and one that was made now. */
export interface Moved {
  /** The tenant, what is declared, or what the tenant holds. */
  readonly what: "digest" | "tenant" | "desired" | "observed";
  /** A sentence that says so. */
  readonly message: string;
  /** What moved, a line each, where the reviewed plan is there to tell. */
  readonly details: readonly string[];
}

/**
 * Whether what was reviewed is what would be applied now. What the reviewed plan changes and is done already, as by a run
 * that was interrupted, has not moved: that takes the reviewed plan itself, and not only its digest.
 *
 * @param digest of the plan that was reviewed.
 * @param now the plan made anew, of the same files, stack and tenant.
 * @param reviewed the plan that was reviewed, where it is at hand.
 * @returns undefined when nothing moved.
 */
export function movedSince(digest: string, now: Plan, reviewed?: Plan): Moved | undefined {
  const given = partsOfDigest(digest);
  const current = partsOfDigest(now.digest);
  if (isOldDigest(digest)) return { what: "digest", message: OLD_DIGEST, details: [] };
  if (given === undefined || current === undefined) {
    return {
      what: "digest",
      message: `"${printable(digest.slice(0, 120))}" is no digest of a plan; it begins with v2- and stands at the end of the plan.`,
      details: [],
    };
  }
  if (reviewed !== undefined && !isItsDigest(digest, reviewed)) {
    return {
      what: "digest",
      message:
        "The digest is not that of the plan that was given with it: one of the two is of another review.",
      details: [`  given  ${printable(digest)}`, `  plan   ${printable(reviewed.digest)}`],
    };
  }
  if (given.tenant !== current.tenant) {
    const was = reviewed === undefined ? "" : `, and not ${where(reviewed)}`;
    return {
      what: "tenant",
      message: `This is another tenant or stack than was reviewed: ${where(now)}${was}.`,
      details: [],
    };
  }
  if (given.desired !== current.desired) {
    return {
      what: "desired",
      message:
        "What is declared is not what was reviewed: the files changed since, or something in them has expired.",
      details: reviewed === undefined ? [] : declaredOtherwise(reviewed, now),
    };
  }
  if (given.observed === current.observed) return undefined;
  const details = reviewed === undefined ? [] : differences(reviewed, now);
  // All that is left to do was reviewed; the rest is done.
  if (reviewed !== undefined && details.length === 0) return undefined;
  return {
    what: "observed",
    message: "The tenant is not as it was when this was reviewed.",
    details,
  };
}

/** Of what is declared: the rules and options that differ, and what is said of each change. */
function declaredOtherwise(reviewed: Plan, now: Plan): string[] {
  const [were, are] = [reviewed.rules ?? {}, now.rules ?? {}];
  const rules = [...new Set([...Object.keys(were), ...Object.keys(are)])]
    .filter((path) => were[path] !== are[path])
    .map((path) => `  ${path}: was ${were[path] ?? "not said"}, is ${are[path] ?? "not said"}`);
  const before = new Map(reviewed.changes.map((change) => [`${change.kind} ${change.key}`, change]));
  const said = now.changes.flatMap((change) => {
    const was = before.get(`${change.kind} ${change.key}`);
    if (was === undefined) return [];
    const [old, current] = [saidOfChange(was), saidOfChange(change)];
    return SAID_OF_CHANGE.flatMap((field) =>
      old[field] === current[field]
        ? []
        : [
            `  ${calledOf(change)}: ${field} was ${old[field] ?? "not said"}, is ${current[field] ?? "not said"}`,
          ],
    );
  });
  const details = [...rules.map(printable), ...said.map(printable), ...differences(reviewed, now)];
  if (details.length > 0) return details;
  return [
    "  of something that is there as declared: its end, ticket, owner, approval or acceptRisk; `git diff` shows which",
  ];
}

const SAID_OF_CHANGE = [...SAID_FIELD_NAMES, "acceptRisk"] as const;

function saidOfChange(change: Change) {
  return { ...saidOf(change), acceptRisk: change.after?.acceptRisk ?? change.accepted };
}

function calledOf({ kind, key, before, after }: Change): string {
  return printable(`${kind === "vip" ? "VIP" : (after ?? before)?.list} ${key}`);
}

/** Whether a digest is that of a plan: its changes, too, have to be those that the digest is of. */
function isItsDigest(digest: string, plan: Plan): boolean {
  return digest.trim() === plan.digest && partsOfDigest(digest)?.observed === hashOfTouched(plan.changes);
}

function where({ tenant, source }: Plan): string {
  return printable(`${tenant.host}${source.stack === undefined ? "" : `, stack ${source.stack}`}`);
}

/** What would be done now and was not reviewed so, a line each. */
function differences(reviewed: Plan, now: Plan): string[] {
  const name = ({ kind, key }: Change): string => `${kind} ${key}`;
  const before = new Map(reviewed.changes.map((change) => [name(change), change]));
  const evaded = removalsEvaded(reviewed, now);
  const differing = now.changes.flatMap((change) => {
    const was = before.get(name(change));
    const called = calledOf(change);
    if (was === undefined) {
      const there = change.before === undefined ? "is not there" : `is ${told(change.before)} now`;
      return [`  ${called}: ${there}, and would be ${becomes(change)}; the review did not show it`];
    }
    const foreseen = new Map((was.mayReplace ?? []).map((one) => [one.key, one.before]));
    for (const { key, before: there } of change.mayReplace ?? []) {
      const known = foreseen.get(key);
      if (known !== undefined && told(known) === told(there)) continue;
      const was_ = known === undefined ? "the review did not show it" : `it was ${told(known)} at the review`;
      return [`  ${called}: may take the place of ${printable(key)}, which is ${told(there)} now; ${was_}`];
    }
    if (told(was.before) !== told(change.before)) {
      // One that was made anew since has its changer told by that.
      const isSame = was.before !== undefined && madeBy(was.before) === madeBy(change.before);
      const maker = change.before?.by === undefined ? "" : `, made by ${printable(change.before.by)}`;
      const by = change.before !== undefined && isSame ? `${maker}; ${CHANGER_UNTOLD}` : maker;
      return [`  ${called}: was ${told(was.before)} at the review, is ${told(change.before)} now${by}`];
    }
    if (madeBy(was.before) !== madeBy(change.before)) {
      return [
        `  ${called}: was made${madeBy(was.before)} at the review, and is another one now, made${madeBy(change.before)}`,
      ];
    }
    if (told(was.after) !== told(change.after)) {
      return [`  ${called}: was to be ${told(was.after)}, would be ${told(change.after)} now`];
    }
    return [];
  });
  return [...evaded, ...differing];
}

/** Of removals that are no longer to be done, the entries of the same value that are there under another scope or list. */
function removalsEvaded(reviewed: Plan, now: Plan): string[] {
  const name = ({ kind, key }: { readonly kind: string; readonly key: string }): string => `${kind} ${key}`;
  const toGo = new Set(now.changes.filter(({ sign }) => sign === "remove").map(name));
  const shown = new Set(reviewed.unmanaged.map(name));
  const others = Map.groupBy(
    now.unmanaged.filter((one) => !shown.has(name(one))),
    ({ kind, value }) => `${kind} ${value}`,
  );
  return reviewed.changes
    .filter((change) => change.sign === "remove" && !toGo.has(name(change)))
    .flatMap(({ kind, key, value, before }) =>
      (others.get(`${kind} ${value}`) ?? []).map((other) =>
        printable(
          `  ${before?.list ?? "VIP"} ${key}: was to be removed, and is there as ${other.key} now, ${told(other.before)}`,
        ),
      ),
    );
}

function madeBy(standing: Standing | undefined): string {
  const { by, at } = standing ?? {};
  return printable(`${by === undefined ? "" : ` by ${by}`}${at === undefined ? "" : ` on ${at}`}`);
}

function becomes({ sign, after }: Change): string {
  return sign === "remove" ? "removed" : told(after);
}

function told(standing: Standing | undefined): string {
  return standing === undefined ? "nothing" : standingText(standing);
}

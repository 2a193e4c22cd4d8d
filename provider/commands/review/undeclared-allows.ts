import type { AllowDenyEntryRow } from "../../client";
import { DEFAULT_VERDICT_SCOPE } from "../../model/assumptions";
import { canonicalizeValue } from "../../model/entry-value";
import { type PatternTarget, parseListPattern } from "../../model/list-pattern";
import { excerpt } from "../../model/text";
import { collectEvidence } from "../../plan/evidence";
import { formatLineLocation } from "../../settings-files/finding";
import type { DeclaredEntry, DeclaredVip } from "../../settings-files/settings-model";
import { describeMail, joinSentences } from "../suggest/mail-descriptions";
import type { SuggestContext } from "../suggest/suggest-context";
import { addReasons } from "./review-items";
import type { ReviewItem, ReviewReason } from "./review-schema";
import { buildReportedReason } from "./tenant-review-reasons";

/**
 * Returns allows that exist only at the tenant: no file declares them, or a file declares them on the other list. Leaves out entries that
 * the files `ignore`, and expired ones that are reported as such.
 */
export function findUndeclaredAllows(context: SuggestContext): ReviewItem[] {
  const { settings, observed } = context;
  const declared = new Map(settings.entries.map((entry) => [entry.key, entry]));
  const expiredKeys = new Set(settings.expired.filter(isAllow).map(({ key }) => key));
  const isIgnored = createIgnoreMatcher(settings.lists.entries?.ignore);
  return [...observed.entries].flatMap(([key, rows]) => {
    const row = rows.find(({ list }) => list === "allow");
    const declaredEntry = declared.get(key);
    if (row === undefined || declaredEntry?.list === "allow" || expiredKeys.has(key)) return [];
    const target = { value: canonicalizeValue(row.value), list: "allow" } as const;
    if (declaredEntry === undefined && isIgnored(target)) return [];
    const scope = row.verdict_scope ?? DEFAULT_VERDICT_SCOPE;
    const advice =
      declaredEntry === undefined
        ? "none of these files declares it. Adopt it into the files with `email-security drift --adopt added` (`--dry-run` shows what that writes, and the policy's findings), or remove it in the console."
        : `the files declare it on the ${declaredEntry.list} list (${formatLineLocation(declaredEntry.location)}): \`email-security drift\` shows the difference.`;
    const evidence = `It exists at the tenant${formatCreatedBy(row)}, and ${advice}`;
    return [
      addReasons({ list: "allow", value: target.value, scope, ...(row.comment && { comment: row.comment }) }, [
        ...findMailReasons(row, context),
        { kind: "undeclared", evidence },
      ]),
    ];
  });
}

/** Returns the reasons from mail for an allow that expired in the files but still exists at the tenant. */
export function findExpiredAllowReasons(
  declaration: DeclaredEntry | DeclaredVip,
  context: SuggestContext,
): readonly ReviewReason[] {
  if (!isAllow(declaration) || !isStillAtTenant(declaration, context)) return [];
  const row = context.observed.entries.get(declaration.key)?.find(({ list }) => list === "allow");
  return row === undefined ? [] : findMailReasons(row, context);
}

/**
 * Returns whether an expired entry is still on its list at the tenant and no file declares it again. False for VIPs,
 * because an option may keep them.
 */
export function isStillAtTenant(
  declaration: DeclaredEntry | DeclaredVip,
  { settings, observed }: Pick<SuggestContext, "settings" | "observed">,
): boolean {
  if (declaration.kind === "vip" || settings.entries.some(({ key }) => key === declaration.key)) return false;
  return observed.entries.get(declaration.key)?.some(({ list }) => list === declaration.list) === true;
}

function isAllow(declaration: DeclaredEntry | DeclaredVip): boolean {
  return declaration.kind === "entry" && declaration.list === "allow";
}

/** Returns a predicate for the targets that the files ignore. */
export function createIgnoreMatcher(ignore: readonly string[] = []): (target: PatternTarget) => boolean {
  const patterns = ignore.flatMap((text) => {
    const pattern = parseListPattern(text);
    return pattern.ok ? [pattern.value] : [];
  });
  return (target) => patterns.some((pattern) => pattern.matches(target));
}

function findMailReasons({ value, entry_type: entryType }: AllowDenyEntryRow, context: SuggestContext): ReviewReason[] {
  const evidence = collectEvidence(context.base, { kind: "entry", value, entryType });
  const { verdicts = [], reportVerdicts = [], reports = 0 } = evidence ?? {};
  const isMalicious = [...verdicts, ...reportVerdicts].some(({ name }) => name === "malicious");
  return [
    ...(isMalicious ? [{ kind: "malicious", evidence: joinSentences(describeMail(context, evidence)) } as const] : []),
    ...(reports > 0 ? [buildReportedReason(reports, context.window)] : []),
  ];
}

function formatCreatedBy({ created_by: by, created_at: at }: AllowDenyEntryRow): string {
  if (!by && !at) return "";
  return `, created${by ? ` by ${excerpt(by)}` : ""}${at ? ` on ${excerpt(at, 40)}` : ""}`;
}

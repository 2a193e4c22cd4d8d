import type { AllowDenyEntryRow } from "../../client";
import { lineText } from "../../files/finding";
import type { DeclaredEntry, DeclaredVip } from "../../files/settings";
import { evidenceOf } from "../../plan/evidence";
import { DEFAULT_VERDICT_SCOPE } from "../../settings/assumptions";
import { canonicalValue } from "../../settings/entry-value";
import { type PatternTarget, parsePattern } from "../../settings/pattern";
import { excerpt } from "../../settings/text";
import type { Context } from "../suggest/suggest-context";
import { mailTold, sentences } from "../suggest/suggest-words";
import { reportedTold } from "./found-at-tenant";
import type { Reason, ReviewItem } from "./review-schema";
import { withReasons } from "./worklist";

/**
 * Returns allows that exist only at the tenant: no file declares them, or a file declares them on the other list. Leaves out entries that
 * the files `ignore`, and expired ones that are reported as such.
 */
export function undeclaredAllows(context: Context): ReviewItem[] {
  const { settings, observed } = context;
  const declared = new Map(settings.entries.map((entry) => [entry.key, entry]));
  const expiredKeys = new Set(settings.expired.filter(isAllow).map(({ key }) => key));
  const isIgnored = ignoredBy(settings.lists.entries?.ignore);
  return [...observed.entries].flatMap(([key, rows]) => {
    const row = rows.find(({ list }) => list === "allow");
    const declaredEntry = declared.get(key);
    if (row === undefined || declaredEntry?.list === "allow" || expiredKeys.has(key)) return [];
    const target = { value: canonicalValue(row.value), list: "allow" } as const;
    if (declaredEntry === undefined && isIgnored(target)) return [];
    const scope = row.verdict_scope ?? DEFAULT_VERDICT_SCOPE;
    const advice =
      declaredEntry === undefined
        ? "none of these files declares it. Take it into the files by `email-security drift --adopt added` (`--dry-run` shows what that writes, and what the policy says of it), or remove it in the console."
        : `the files declare it on the ${declaredEntry.list} list (${lineText(declaredEntry.place)}): \`email-security drift\` tells more.`;
    const evidence = `It stands at the tenant${formatCreatedBy(row)}, and ${advice}`;
    return [
      withReasons({ list: "allow", value: target.value, scope, ...(row.comment && { comment: row.comment }) }, [
        ...findMailReasons(row, context),
        { kind: "undeclared", evidence },
      ]),
    ];
  });
}

/** Returns what the mail says of an allow that expired in the files but still exists at the tenant. */
export function foundOfEnded(declaration: DeclaredEntry | DeclaredVip, context: Context): readonly Reason[] {
  if (!isAllow(declaration) || !staysAtTenant(declaration, context)) return [];
  const row = context.observed.entries.get(declaration.key)?.find(({ list }) => list === "allow");
  return row === undefined ? [] : findMailReasons(row, context);
}

/** Whether an expired entry is still on its list at the tenant and no file declares it again. False for VIPs: an option may keep them. */
export function staysAtTenant(
  declaration: DeclaredEntry | DeclaredVip,
  { settings, observed }: Pick<Context, "settings" | "observed">,
): boolean {
  if (declaration.kind === "vip" || settings.entries.some(({ key }) => key === declaration.key)) return false;
  return observed.entries.get(declaration.key)?.some(({ list }) => list === declaration.list) === true;
}

function isAllow(declaration: DeclaredEntry | DeclaredVip): boolean {
  return declaration.kind === "entry" && declaration.list === "allow";
}

/** Returns a predicate for the targets that the files ignore. */
export function ignoredBy(ignore: readonly string[] = []): (target: PatternTarget) => boolean {
  const patterns = ignore.flatMap((text) => {
    const pattern = parsePattern(text);
    return pattern.ok ? [pattern.value] : [];
  });
  return (target) => patterns.some((pattern) => pattern.matches(target));
}

function findMailReasons({ value, entry_type: entryType }: AllowDenyEntryRow, context: Context): Reason[] {
  const evidence = evidenceOf(context.base, { kind: "entry", value, entryType });
  const { verdicts = [], reportVerdicts = [], reports = 0 } = evidence ?? {};
  const isMalicious = [...verdicts, ...reportVerdicts].some(({ name }) => name === "malicious");
  return [
    ...(isMalicious ? [{ kind: "malicious", evidence: sentences(mailTold(context, evidence)) } as const] : []),
    ...(reports > 0 ? [reportedTold(reports, context.window)] : []),
  ];
}

/** Formats who created the entry and when, if the service reports it. */
function formatCreatedBy({ created_by: by, created_at: at }: AllowDenyEntryRow): string {
  if (!by && !at) return "";
  return `, made${by ? ` by ${excerpt(by)}` : ""}${at ? ` on ${excerpt(at, 40)}` : ""}`;
}

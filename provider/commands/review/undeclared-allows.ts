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
 * Allows that stand at the tenant alone: no file declares them, or on the other list. What the files `ignore`, and what has ended in
 * them and is told as such, is left out.
 */
export function undeclaredAllows(context: Context): ReviewItem[] {
  const { settings, observed } = context;
  const declared = new Map(settings.entries.map((entry) => [entry.key, entry]));
  const ended = new Set(settings.expired.filter(isAllow).map(({ key }) => key));
  const isIgnored = ignoredBy(settings.lists.entries?.ignore);
  return [...observed.entries].flatMap(([key, rows]) => {
    const row = rows.find(({ list }) => list === "allow");
    const there = declared.get(key);
    if (row === undefined || there?.list === "allow" || ended.has(key)) return [];
    const target = { value: canonicalValue(row.value), list: "allow" } as const;
    if (there === undefined && isIgnored(target)) return [];
    const scope = row.verdict_scope ?? DEFAULT_VERDICT_SCOPE;
    const wanted =
      there === undefined
        ? "none of these files declares it. Take it into the files by `email-security drift --adopt added` (`--dry-run` shows what that writes, and what the policy says of it), or remove it in the console."
        : `the files declare it on the ${there.list} list (${lineText(there.place)}): \`email-security drift\` tells more.`;
    const evidence = `It stands at the tenant${madeText(row)}, and ${wanted}`;
    return [
      withReasons(
        { list: "allow", value: target.value, scope, ...(row.comment && { comment: row.comment }) },
        [...mailReasons(row, context), { kind: "undeclared", evidence }],
      ),
    ];
  });
}

/** What the mail says of an allow that has ended in the files and stands at the tenant all the same. */
export function foundOfEnded(one: DeclaredEntry | DeclaredVip, context: Context): readonly Reason[] {
  if (!isAllow(one) || !staysAtTenant(one, context)) return [];
  const row = context.observed.entries.get(one.key)?.find(({ list }) => list === "allow");
  return row === undefined ? [] : mailReasons(row, context);
}

/** Whether the tenant has an entry that has ended, on its list, and no file declares it anew. VIPs may be kept by their list's options. */
export function staysAtTenant(
  one: DeclaredEntry | DeclaredVip,
  { settings, observed }: Pick<Context, "settings" | "observed">,
): boolean {
  if (one.kind === "vip" || settings.entries.some(({ key }) => key === one.key)) return false;
  return observed.entries.get(one.key)?.some(({ list }) => list === one.list) === true;
}

function isAllow(one: DeclaredEntry | DeclaredVip): boolean {
  return one.kind === "entry" && one.list === "allow";
}

/** Whether the files leave something alone. */
export function ignoredBy(ignore: readonly string[] = []): (target: PatternTarget) => boolean {
  const patterns = ignore.flatMap((text) => {
    const pattern = parsePattern(text);
    return pattern.ok ? [pattern.value] : [];
  });
  return (target) => patterns.some((pattern) => pattern.matches(target));
}

function mailReasons({ value, entry_type: entryType }: AllowDenyEntryRow, context: Context): Reason[] {
  const evidence = evidenceOf(context.base, { kind: "entry", value, entryType });
  const { verdicts = [], reportVerdicts = [], reports = 0 } = evidence ?? {};
  const isBad = [...verdicts, ...reportVerdicts].some(({ name }) => name === "malicious");
  return [
    ...(isBad ? [{ kind: "malicious", evidence: sentences(mailTold(context, evidence)) } as const] : []),
    ...(reports > 0 ? [reportedTold(reports, context.window)] : []),
  ];
}

/** Who made it, and when, as far as the service tells that. */
function madeText({ created_by: by, created_at: at }: AllowDenyEntryRow): string {
  if (!by && !at) return "";
  return `, made${by ? ` by ${excerpt(by)}` : ""}${at ? ` on ${excerpt(at, 40)}` : ""}`;
}

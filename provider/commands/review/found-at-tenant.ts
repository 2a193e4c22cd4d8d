import { isOwnFile } from "../../files/own-file";
import { dueFrom, holds } from "../../files/reviews";
import type { DeclaredEntry, DeclaredVip, Settings } from "../../files/settings";
import { evidenceOf, mailOf } from "../../plan/evidence";
import type { Observed } from "../../plan/observed";
import { instantOf } from "../../plan/seen-mail";
import { counted } from "../../render/words";
import { type Context, DAY_MS } from "../suggest/suggest-context";
import { leftVip } from "./outsiders";
import type { Reason } from "./review-schema";
import type { Asked } from "./worklist";

type One = DeclaredEntry | DeclaredVip;

/** What only the tenant can tell of something that is declared, beside what is suggested. */
export function foundAtTenant(one: One, { settings, observed, base, window }: Context): Reason[] {
  const reasons = [dueByAge(one, settings, observed)];
  const isSettled = holds(one.reviewed, settings);
  if (one.kind === "vip") return found([...reasons, isSettled ? undefined : leftVip(one, observed)]);
  const evidence = evidenceOf(base, { kind: "entry", value: one.value, entryType: one.entryType });
  if (one.list === "allow" && hasMailSince(one, settings, { observed, base }, "reported")) {
    reasons.push(reportedTold(evidence?.reports ?? 0, window));
  }
  const { days, complete, until } = base.summary;
  const since = standsSince(one, observed);
  // Of a part of the window it can't be said, and of an address the service does not tell.
  const isUnused =
    complete &&
    one.entryType !== "ip" &&
    since !== undefined &&
    since <= (instantOf(until) ?? 0) - days * DAY_MS &&
    evidence?.threats === 0 &&
    evidence.reports === 0;
  if (isUnused && !isSettled) {
    const told = `No mail that the service detected came from it ${window}, and nobody reported any; whether other mail did is not told.`;
    reasons.push({ kind: "unused", evidence: told });
  }
  return found(reasons);
}

/** Users reported mail from an allowed sender. */
export function reportedTold(reports: number, window: string): Reason {
  return { kind: "reported", evidence: `Users reported mail from it ${counted(reports, "time")} ${window}.` };
}

/** Whether there is such mail that the last decision about it can't have known. */
export function hasMailSince(
  one: One,
  settings: Settings,
  asked: Asked | undefined,
  what: "malicious" | "reported",
): boolean {
  if (one.kind === "vip" || asked === undefined) return false;
  const { threats, reports } = mailOf(asked.base, {
    kind: "entry",
    value: one.value,
    entryType: one.entryType,
  });
  const isBad = ({ verdict }: { readonly verdict: string }): boolean => verdict === "malicious";
  const times = [
    ...(what === "malicious" ? threats.filter(isBad).map(({ detected }) => detected) : []),
    ...(what === "malicious" ? reports.filter(isBad) : reports).map(({ time }) => time),
  ];
  const { reviewed } = one;
  // Files that others share were decided upon for all of them.
  const isOwn = isOwnFile(one.place.file, settings);
  if (!isOwn || !holds(reviewed, settings)) return times.length > 0;
  return times.some((time) => {
    const instant = instantOf(time);
    return instant === undefined || new Date(instant).toISOString().slice(0, 10) > reviewed.on;
  });
}

/** What nobody has reviewed is due by the day on which the tenant got it. */
function dueByAge(one: One, { policy, today }: Settings, observed: Observed): Reason | undefined {
  const { reviewEvery } = policy;
  if (one.reviewed !== undefined || reviewEvery === undefined) return undefined;
  if (!(one.kind === "vip" ? observed.vips : observed.entries).has(one.key)) return undefined;
  const since = standsSince(one, observed);
  const due =
    since === undefined ? undefined : dueFrom(new Date(since).toISOString().slice(0, 10), reviewEvery);
  if (due !== undefined && due > today) return undefined;
  const told =
    due === undefined ? "since when it stands the service does not tell" : `it is due since ${due}`;
  const evidence = `Nobody has said that it was reviewed, and ${told} (reviewEvery: ${reviewEvery}).`;
  return { kind: "due", evidence };
}

/** Since when the tenant has it, as the service tells it. */
function standsSince(one: One, { entries, vips }: Observed): number | undefined {
  if (one.kind === "vip") return instantOf(vips.get(one.key)?.date_added);
  return instantOf(entries.get(one.key)?.find(({ list }) => list === one.list)?.created_at);
}

function found(reasons: readonly (Reason | undefined)[]): Reason[] {
  return reasons.filter((reason) => reason !== undefined);
}

import { ENTRIES, MEMBERS } from "../settings/list-arguments";
import { readPatterns } from "../settings/list-safeguards";
import type { Pattern } from "../settings/pattern";
import { quote } from "../settings/text";
import { nameOf } from "./declared-in-file";
import { type Finding, lineText, type Place } from "./finding";
import { type Demand, loosening } from "./loosening";
import type { Declared, DeclaredEntry, DeclaredVip } from "./settings";
import type { OptionPath } from "./settings-schema";

/** Reports an included declaration that this file removes; an error if it is protected. */
export function endLoosened(
  one: DeclaredEntry | DeclaredVip,
  place: Place,
  asked: readonly Demand[],
): readonly Finding[] {
  const protecting = protectionOf(one, asked);
  // Removing an allow doesn't weaken anything.
  if (protecting.demands.length === 0 && one.kind === "entry" && one.list === "allow") return [];
  const what = `${nameTold(one)}, as ${lineText(one.place)} declares it, is declared no more here`;
  return [loosened(what, one, place, protecting)];
}

/** Reports weaker settings in an override of an included declaration. */
export function overrideLoosened(
  one: DeclaredEntry | DeclaredVip,
  below: DeclaredEntry | DeclaredVip,
  asked: readonly Demand[],
): readonly Finding[] {
  const findings: Finding[] = [];
  const protecting = protectionOf(below, asked);
  const isAllow = one.kind === "entry" && one.list === "allow";
  const [end, before] = [endOf(one), endOf(below)];
  const said = (day: string): string => (day === NO_END ? "without end" : `until ${day}`);
  if (isAllow ? end > before : end < before) {
    const what = `${nameTold(one)} is declared ${said(end)} here, and ${said(before)} at ${lineText(below.place)}`;
    findings.push(loosened(what, one, one.place, isAllow ? { ...protecting, demands: [] } : protecting));
  }
  if (
    one.kind === "entry" &&
    below.kind === "entry" &&
    one.acceptRisk !== undefined &&
    below.acceptRisk === undefined
  ) {
    const what = `${nameTold(one)} has an \`acceptRisk\` here, and none at ${lineText(below.place)}`;
    findings.push(loosened(what, one, one.place, { ...protecting, demands: [] }));
  }
  return findings;
}

function loosened(
  what: string,
  { kind, key }: DeclaredEntry | DeclaredVip,
  place: Place,
  { path, demands }: ReturnType<typeof protectionOf>,
): Finding {
  const [demand] = demands;
  const told = demand === undefined ? what : `${what}, and is protected at ${lineText(demand.place)}`;
  return loosening(told, path, place, demands, { kind, key });
}

/** Returns the `protect` demands of included files that match a declaration. */
function protectionOf(
  one: DeclaredEntry | DeclaredVip,
  asked: readonly Demand[],
): { readonly path: OptionPath; readonly demands: readonly Demand[] } {
  const [kind, path] =
    one.kind === "entry"
      ? ([ENTRIES, "lists.entries.protect"] as const)
      : ([MEMBERS, "lists.vips.protect"] as const);
  const names = (demand: Demand): boolean =>
    patternsOf(demand).some((pattern) => pattern.matches(kind.target(one.key, one.text)));
  return { path, demands: asked.filter((demand) => demand.path === path && names(demand)) };
}

const patterns = new WeakMap<Demand, readonly Pattern[]>();

/** Returns the protect patterns of a demand, parsed once. */
function patternsOf(demand: Demand): readonly Pattern[] {
  const read = patterns.get(demand) ?? readPatterns(demand.value as readonly string[]);
  patterns.set(demand, read);
  return read;
}

const NO_END = "9999-12-31";

function endOf({ expires }: Declared): string {
  return expires === undefined || expires === "never" ? NO_END : expires;
}

function nameTold(one: DeclaredEntry | DeclaredVip): string {
  return one.kind === "vip" ? `the VIP ${quote(one.email)}` : `the ${one.list} of ${quote(nameOf(one))}`;
}

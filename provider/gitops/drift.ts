import { dirname } from "node:path";
import type { List } from "../settings/assumptions";
import { OwnDomains } from "../settings/own-domains";
import { RISKS, risksOf } from "../settings/risk";
import { isPrintable, printable } from "../settings/text";
import { withoutUndefined } from "../settings/without-undefined";
import { type Edit, editSettings, type Section } from "./files/edit";
import type { Place } from "./files/finding";
import { readSettings } from "./files/read-settings";
import type { Settings } from "./files/settings";
import { readYaml } from "./files/yaml-source";
import { desiredOf } from "./plan/desired";
import { makePlan } from "./plan/make-plan";
import { withoutEvidence } from "./plan/mail-evidence";
import type { Observed } from "./plan/observed";
import type { Change, Standing } from "./plan/plan";

/**
 * How the tenant differs from the files. `added`: there, and nobody declares it. `changed`: there, and otherwise than
 * declared. `missing`: declared, and not there. `expired`: there still, though its last day is past.
 */
export type DriftWhat = "added" | "changed" | "missing" | "expired";

/** One entry or VIP that is not as the files declare it. */
export interface DriftItem extends Pick<Change, "kind" | "key" | "value" | "entryType" | "verdictScope"> {
  readonly what: DriftWhat;
  /** As the tenant holds it: with who made it and when, as the service tells it. */
  readonly there?: Standing;
  readonly declared?: Standing;
  /** Which line declares it. */
  readonly place?: Place;
  /** The last day, of what has expired. */
  readonly expires?: string;
  /** The service's id of an entry that is there. */
  readonly id?: string;
}

/** How a tenant differs from its files. Plain data. */
export interface Drift {
  /** When the tenant was read: ISO 8601, UTC. */
  readonly at: string;
  /** The service's host. */
  readonly host: string;
  readonly file: string;
  /** In the order of what, then of keys. */
  readonly items: readonly DriftItem[];
  /** How many entries and VIPs are as declared. */
  readonly unchanged: number;
}

const WHAT: readonly DriftWhat[] = ["added", "changed", "missing", "expired"];

/**
 * Compares a tenant with its files: what the console changed since they were applied. What `ignore` names, and VIPs that
 * only automatic detection holds, are none.
 */
export function driftOf(settings: Settings, observed: Observed, host: string): Drift {
  const plan = makePlan({
    desired: desiredOf(settings, undefined),
    observed,
    tenant: { host, name: settings.file },
    source: { kind: "files", files: settings.files },
    mail: withoutEvidence(observed.at, "not asked"),
  });
  const idOf = (kind: string, key: string, list: string | undefined): string | undefined =>
    kind === "vip" ? undefined : observed.entries.get(key)?.find((row) => row.list === list)?.id;
  const item = (
    what: DriftWhat,
    one: Pick<Change, "kind" | "key" | "value" | "entryType" | "verdictScope">,
    rest: Partial<DriftItem>,
  ): DriftItem => {
    const { kind, key, value, entryType, verdictScope } = one;
    const id = idOf(kind, key, rest.there?.list);
    return { what, kind, key, value, ...withoutUndefined({ entryType, verdictScope, id, ...rest }) };
  };
  const items = [
    ...plan.unmanaged.map((one) => item("added", one, { there: one.before })),
    ...plan.changes.map((change) => {
      const { sign, before, after, place } = change;
      // In exclusive mode, what nobody declares would be removed.
      if (sign === "remove") return item("added", change, withoutUndefined({ there: before }));
      const rest = withoutUndefined({ there: before, declared: after, place });
      return item(sign === "add" ? "missing" : "changed", change, rest);
    }),
  ];
  const late = plan.expired.filter(({ isThere }) => isThere);
  // Until the next run removes it, what has expired is there though nobody declares it.
  const isLate = ({ kind, key }: DriftItem): boolean =>
    late.some((one) => one.kind === kind && one.key === key);
  const all = items.map((one) => {
    if (one.what !== "added" || !isLate(one)) return one;
    const expired = late.find(({ kind, key }) => kind === one.kind && key === one.key);
    return {
      ...one,
      what: "expired" as const,
      ...withoutUndefined({ expires: expired?.expires, place: expired?.place }),
    };
  });
  return {
    at: observed.at,
    host,
    file: settings.file,
    items: all.sort(
      (one, other) =>
        WHAT.indexOf(one.what) - WHAT.indexOf(other.what) ||
        (`${one.kind} ${one.key}` < `${other.kind} ${other.key}` ? -1 : 1),
    ),
    unchanged: plan.counts.unchanged,
  };
}

/** A file with what was adopted into it. */
export interface AdoptedFile {
  readonly file: string;
  readonly before: string;
  readonly after: string;
}

/** What adopting comes to. */
export interface Adoption {
  readonly files: readonly AdoptedFile[];
  readonly adopted: readonly DriftItem[];
  /** What a person has to decide, with the reason in a sentence. */
  readonly left: readonly { readonly item: DriftItem; readonly why: string }[];
}

/**
 * Writes what was added in the console into the settings files, as an edit that keeps comments and order. Nothing is
 * written to the disk. What would be refused as risky, or can't stand in a file, is left.
 *
 * @param readFile reads a file as text.
 * @throws {EmailSecurityError} (`ERR_SETTINGS_EDIT`) when a file is written in a way that can't be edited.
 */
export function adopt(drift: Drift, settings: Settings, readFile: (path: string) => string): Adoption {
  const own = new OwnDomains(settings.ownDomains);
  const texts = new Map(settings.files.map((file) => [file, readFile(file)]));
  const edits = new Map<string, Edit[]>();
  const adopted: DriftItem[] = [];
  const left: { item: DriftItem; why: string }[] = [];
  for (const item of drift.items) {
    if (item.what !== "added") continue;
    const why = whyLeft(item, settings, own);
    if (why !== undefined) {
      left.push({ item, why });
      continue;
    }
    const section = sectionOf(item);
    const file = fileFor(section, settings, texts);
    edits.set(file, [...(edits.get(file) ?? []), additionOf(item, section)]);
    adopted.push(item);
  }
  const files = [...edits].map(([file, some]): AdoptedFile => {
    const before = texts.get(file) ?? "";
    return { file, before, after: editSettings(before, some) };
  });
  // What is written must be what was meant: all files together are read again, as they would be.
  const after = new Map(files.map((one) => [one.file, one.after]));
  readSettings(settings.file, {
    today: settings.today,
    readFile: (path) => after.get(path) ?? readFile(path),
  });
  return { files, adopted, left };
}

function whyLeft(
  { kind, key, value, entryType, there }: DriftItem,
  settings: Settings,
  own: OwnDomains,
): string | undefined {
  if (kind === "vip") return undefined;
  const declared = settings.entries.find((entry) => entry.value === value);
  if (declared !== undefined && declared.list !== there?.list) {
    return `it is declared on the ${declared.list} list, in ${declared.place.file}:${declared.place.line}`;
  }
  if (entryType === undefined || there?.list === undefined || key.includes("(also "))
    return "no file can say it";
  const [risk] = risksOf({ list: there.list as List, value, entryType }, own);
  if (risk === undefined) return undefined;
  return `it ${RISKS[risk.code].title} (${risk.code}); write it yourself, with acceptRisk, if it is meant`;
}

function sectionOf({ kind, there }: DriftItem): Section {
  return kind === "vip" ? "vips" : (there?.list as List);
}

function additionOf({ kind, value, verdictScope, there = {} }: DriftItem, section: Section): Edit {
  const { comment, by, at } = there;
  const scope = verdictScope === "global" ? undefined : verdictScope;
  const who = by === undefined ? "" : ` by ${printable(by)}`;
  const when = at === undefined ? "" : ` on ${printable(at.slice(0, 10))}`;
  const element = kind === "vip" ? { email: value, comment } : { value, comment, scope };
  return {
    do: "add",
    section,
    element: withoutUndefined(element),
    note: `added in the console${who}${when}`,
  };
}

/** The file that has the section: the tenant's own, else one beside it, as `export` splits them; never a baseline elsewhere. */
function fileFor(
  section: Section,
  { file: top, files }: Settings,
  texts: ReadonlyMap<string, string>,
): string {
  const beside = files.filter((file) => file !== files[0] && dirname(file) === dirname(files[0] ?? top));
  const candidates = [files[0] ?? top, ...beside];
  const has = (file: string): boolean => {
    const { value } = readYaml(texts.get(file) ?? "", file);
    return typeof value === "object" && value !== null && Object.hasOwn(value, section);
  };
  return candidates.find(has) ?? files[0] ?? top;
}

/** How drift is undone by hand: lines of shell, each with what it does above it. Nothing is run. */
export function revertCommands({ items }: Drift, up: string): string[] {
  const lines: string[] = [];
  const mended = items.filter(({ what }) => what !== "added");
  if (mended.length > 0) {
    lines.push(`# mends what was changed, is missing or has expired (${mended.length})`, up);
  }
  const key = '-H "X-Api-Key: $EMAIL_SECURITY_API_KEY"';
  for (const { what, kind, value, there, id } of items) {
    if (what !== "added") continue;
    const by = there?.by === undefined ? "" : `, by ${printable(there.by)}`;
    if (kind === "entry" && id !== undefined) {
      lines.push(
        `# removes ${there?.list} ${printable(value)}${by}`,
        `curl -fsS -X DELETE ${key} ${quoted(`/api/v1/settings/allow_deny_entries/${encodeURIComponent(id)}`)}`,
      );
    } else if (kind === "vip" && isPrintable(value)) {
      lines.push(
        `# removes the VIP ${printable(value)}${by}; the exclusion that the service writes lasts`,
        `curl -fsS -X POST ${key} -H "Content-Type: application/json" -d ${shell(JSON.stringify({ emails: [value] }))} ${quoted("/api/v1/settings/vip_employees/remove")}`,
      );
    }
  }
  return lines;
}

/** An address of the service, for a shell; the path holds nothing that a shell reads. */
function quoted(path: string): string {
  return `"$EMAIL_SECURITY_BASE_URL"${shell(path)}`;
}

function shell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

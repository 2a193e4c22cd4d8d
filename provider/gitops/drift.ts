import { type ChangedFile, changeFiles, type FileEdit } from "../files/change-files";
import type { Section } from "../files/edit";
import { type Place, SettingsFileError } from "../files/finding";
import { ownFileFor } from "../files/own-file";
import type { Settings } from "../files/settings";
import { readYaml } from "../files/yaml-source";
import { desiredOf, type KnownLists } from "../plan/desired";
import { withoutEvidence } from "../plan/mail-evidence";
import { makePlan, type PlanInput } from "../plan/make-plan";
import type { Observed } from "../plan/observed";
import type { Change, Standing } from "../plan/plan";
import { OTHER_TENANT } from "../plan/same-tenant";
import { OtherTenantError } from "../resources/lifecycle/errors";
import type { EntryType, List } from "../settings/assumptions";
import { EmailSecurityError } from "../settings/email-security-error";
import { keyOfEntry, readEntry } from "../settings/keyed-list";
import { OwnDomains } from "../settings/own-domains";
import { RISKS, risksOf } from "../settings/risk";
import { ENOUGH } from "../settings/tenant-people";
import { excerpt, isPrintable, printable, quote } from "../settings/text";
import { withoutUndefined } from "../settings/without-undefined";

/**
 * How the tenant differs from the files. `added`: there, and nobody declares it. `changed`: there, and otherwise than
 * declared. `missing`: declared, and not there. `leaving`: there still, though its last day is past, or the files no longer
 * declare it; the next run removes it, as far as the stack has declared it.
 */
export type DriftWhat = "added" | "changed" | "missing" | "leaving";

/** One entry or VIP that is not as the files declare it. */
export interface DriftItem extends Pick<Change, "kind" | "key" | "value" | "entryType" | "verdictScope"> {
  readonly what: DriftWhat;
  /** As the tenant holds it: with who made it and when, as the service tells it. */
  readonly there?: Standing;
  readonly declared?: Standing;
  /** Which line declares it. */
  readonly place?: Place;
  /** Why it is leaving: "expired on 2026-10-31", "no longer declared". */
  readonly why?: string;
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

const WHAT: readonly DriftWhat[] = ["added", "changed", "missing", "leaving"];

/**
 * Compares a tenant with its files: what the console changed since they were applied. What `ignore` names, and VIPs that
 * only automatic detection holds, are none.
 *
 * @param known what the stack's state holds; without it, what the files declared before the last run is taken for added.
 * @throws {OtherTenantError} when the tenant is another than the files and the stack are of, as it seems.
 */
export function driftOf(
  settings: Settings,
  observed: Observed,
  host: string,
  known?: KnownLists,
  tenant: Pick<PlanInput, "ownDomains" | "accepting"> = {},
): Drift {
  const plan = makePlan({
    ...tenant,
    desired: desiredOf(settings, known),
    observed,
    tenant: { host, name: settings.file },
    source: { kind: "files", files: settings.files },
    mail: withoutEvidence(observed.at, "not asked"),
  });
  const other = plan.guards.find(({ code }) => code === OTHER_TENANT);
  if (other !== undefined) throw new OtherTenantError(other.message);
  const idOf = (kind: string, key: string, list: string | undefined): string | undefined =>
    kind === "vip" || list === undefined
      ? undefined
      : observed.entries.get(keyOfEntryKey(key, list))?.find((row) => row.list === list)?.id;
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
      const { sign, before, after, place, why } = change;
      if (sign === "remove") {
        // In exclusive mode, a run would remove what nobody ever declared, too.
        const isOwn = Object.hasOwn(
          (change.kind === "vip" ? known?.vips : known?.entries)?.content ?? {},
          change.key,
        );
        const rest = withoutUndefined({ there: before, why, place });
        return isOwn
          ? item("leaving", change, rest)
          : item("added", change, withoutUndefined({ there: before }));
      }
      const rest = withoutUndefined({ there: before, declared: after, place });
      return item(sign === "add" ? "missing" : "changed", change, rest);
    }),
  ];
  // Without the stack's state, what has expired is known by the files, and not whether the stack has ever declared it.
  const all = items.map((one): DriftItem => {
    const late = plan.expired.find(
      ({ kind, key, isThere }) => isThere && kind === one.kind && key === one.key,
    );
    if (one.what !== "added" || late === undefined) return one;
    const where = withoutUndefined({ place: late.place });
    return known === undefined
      ? {
          ...one,
          what: "leaving",
          why: `expired on ${late.expires}; the next run removes it if the stack has declared it, which --stack tells`,
          ...where,
        }
      : {
          ...one,
          why: `declared until ${late.expires}, which is past; this stack has never declared it, so the next run leaves it`,
          ...where,
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

/** The key that rows have: without what tells an entry from one of the same value on the other list. */
function keyOfEntryKey(key: string, list: string): string {
  const entry = readEntry(key, list);
  return entry === undefined ? key : keyOfEntry(entry);
}

function refuseStrange({ items, unchanged, host }: Drift): void {
  const missing = items.filter(({ what }) => what === "missing").length;
  if (missing < ENOUGH || unchanged > 0 || items.some(({ what }) => what === "changed")) return;
  throw new OtherTenantError(
    `Of the ${missing} that the files declare, the tenant at ${quote(host)} holds none, so that what it holds is another tenant's, as it seems. No file was changed. Check whose key it is; where the files were never applied to this tenant, apply them first, or begin with \`email-security export\`.`,
  );
}

/** What adopting comes to. */
export interface Adoption {
  readonly files: readonly ChangedFile[];
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
 * @throws {OtherTenantError} when nothing of much that the files declare is there: what is, is another tenant's.
 */
export function adopt(drift: Drift, settings: Settings, readFile: (path: string) => string): Adoption {
  refuseStrange(drift);
  const own = new OwnDomains(settings.ownDomains);
  const candidates: DriftItem[] = [];
  const left: { item: DriftItem; why: string }[] = [];
  for (const item of drift.items) {
    if (item.what !== "added") continue;
    const why = whyLeft(item, settings, own);
    if (why === undefined) candidates.push(item);
    else left.push({ item, why });
  }
  const fileFor = homes(settings, readFile);
  const changed = (items: readonly DriftItem[]): ChangedFile[] =>
    changeFiles(
      settings,
      items.map((item) => additionOf(item, fileFor)),
      readFile,
    );
  try {
    return { files: changed(candidates), adopted: candidates, left };
  } catch (error) {
    if (!(error instanceof EmailSecurityError)) throw error;
  }
  // Together they make a mistake: it is some of them, and the others need not wait.
  const good: DriftItem[] = [];
  let files: readonly ChangedFile[] = [];
  for (const item of candidates) {
    try {
      files = changed([...good, item]);
      good.push(item);
    } catch (error) {
      if (!(error instanceof EmailSecurityError)) throw error;
      const findings = error instanceof SettingsFileError ? error.findings : [];
      const mistake = findings.find(({ level }) => level === "error");
      left.push({ item, why: mistake?.message ?? error.message });
    }
  }
  return { files, adopted: good, left };
}

function whyLeft(
  { kind, key, value, entryType, there }: DriftItem,
  settings: Settings,
  own: OwnDomains,
): string | undefined {
  if (kind === "vip") {
    const gone = settings.expired.find((one) => one.kind === "vip" && one.email === value);
    return gone === undefined
      ? undefined
      : `it is declared until ${gone.expires}, which is past, in ${gone.place.file}:${gone.place.line}; give it another end`;
  }
  const declared = settings.entries.find((entry) => entry.value === value);
  if (declared !== undefined && declared.list !== there?.list) {
    return `it is declared on the ${declared.list} list, in ${declared.place.file}:${declared.place.line}`;
  }
  const past = settings.expired.find((one) => one.kind === "entry" && one.value === value);
  if (past !== undefined) {
    return `it is declared until ${past.expires}, which is past, in ${past.place.file}:${past.place.line}; take that away, or give it another end`;
  }
  if (entryType === undefined || there?.list === undefined || key.includes("(also "))
    return "no file can say it";
  const [risk] = risksOf({ list: there.list as List, value, entryType: entryType as EntryType }, own);
  if (risk === undefined) return undefined;
  return `it ${RISKS[risk.code].title} (${risk.code}); write it yourself, with acceptRisk, if it is meant`;
}

function additionOf(
  { kind, value, verdictScope, there = {} }: DriftItem,
  fileFor: (section: Section) => string,
): FileEdit {
  const { comment, by, at } = there;
  const section = kind === "vip" ? "vips" : (there.list as List);
  const scope = verdictScope === "global" ? undefined : verdictScope;
  const who = by === undefined ? "" : ` by ${printable(by)}`;
  const when = at === undefined ? "" : ` on ${printable(at.slice(0, 10))}`;
  const element = withoutUndefined(kind === "vip" ? { email: value, comment } : { value, comment, scope });
  const note = `added in the console${who}${when}`;
  return { file: fileFor(section), edit: { do: "add", section, element, note } };
}

/** Tells the file that an addition goes into; each file is looked through once. */
function homes(settings: Settings, readFile: (path: string) => string): (section: Section) => string {
  const contents = new Map(settings.files.map((file) => [file, readYaml(readFile(file), file).value]));
  return (section) =>
    ownFileFor(section, settings, (file) => {
      const content = contents.get(file);
      return typeof content === "object" && content !== null && Object.hasOwn(content, section);
    });
}

/** How drift is undone by hand: lines of shell, each with what it does above it. Nothing is run. */
export function revertCommands({ items }: Drift, up: string): string[] {
  const lines: string[] = [];
  const mended = items.filter(({ what }) => what !== "added");
  if (mended.length > 0)
    lines.push(`# mends what was changed, is missing or is leaving (${mended.length})`, up);
  const removals = items.filter(({ what }) => what === "added").flatMap(removalCommand);
  return removals.length === 0 ? lines : [...lines, ...SERVICE, ...removals];
}

/** The key goes to curl over a pipe: among its arguments, every user of the machine could see it. */
const SERVICE = [
  "# what was added: one request each, by the key of the environment",
  "service() { method=$1 path=$2; shift 2",
  `  printf 'X-Api-Key: %s' "$EMAIL_SECURITY_API_KEY" | curl -fsS -H @- -X "$method" "$@" "$EMAIL_SECURITY_BASE_URL$path"; echo; }`,
];

function removalCommand({ kind, value, there, id }: DriftItem): string[] {
  const by = there?.by === undefined ? "" : `, by ${excerpt(there.by)}`;
  if (kind === "entry" && id !== undefined) {
    const path = `/api/v1/settings/allow_deny_entries/${encodeURIComponent(id.toWellFormed())}`;
    return [`# ${there?.list} ${excerpt(value)}${by}`, `service DELETE ${shell(path)}`];
  }
  if (kind !== "vip" || !isPrintable(value)) return [];
  const body = shell(JSON.stringify({ emails: [value] }));
  return [
    `# VIP ${excerpt(value)}${by}; the exclusion that the service writes lasts`,
    `service POST /api/v1/settings/vip_employees/remove -H "Content-Type: application/json" -d ${body}`,
  ];
}

function shell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

import { dirname, join, normalize, resolve } from "node:path";
import type { z } from "zod";
import { NO_STACK, readOwnDomainNames } from "../resources/configuration";
import { allowDenyEntryArguments, checkEntryArguments } from "../settings/arguments";
import { nameOfKey } from "../settings/keyed-list";
import { checkList, ENTRIES, type ListKind, MEMBERS, readPatterns } from "../settings/list-arguments";
import { OwnDomains } from "../settings/own-domains";
import type { Pattern } from "../settings/pattern";
import { quote } from "../settings/text";
import { canonical, declaredEntry, declaredVip, entryArguments, mailbox, memberArguments } from "./declared";
import { type Finding, hasErrors, inOrder, lineText, type Place, SettingsFileError } from "./finding";
import { type Demand, demandsOf, impliedBy, loosening, loosenings, Options } from "./loosening";
import { includeRefusal, isFinding, readerFrom, readSource } from "./read-source";
import { type FileFormat, schemaFindings } from "./schema-findings";
import type { Declared, DeclaredEntry, DeclaredVip, Excluded, Settings } from "./settings";
import {
  type OptionPath,
  POLICY_SUBJECTS,
  type PolicySubject,
  type SettingsFile,
  settingsFile,
} from "./settings-schema";
import type { YamlSource } from "./yaml-source";

/** How settings files are read. */
export interface ReadOptions {
  /** The day (UTC) by which `expires` is judged, `2026-11-21`. Default: today. */
  readonly today?: string;
  /** Own domains beside those of the files, in canonical form. Default: those of EMAIL_SECURITY_OWN_DOMAINS. */
  readonly ownDomains?: readonly string[];
  /** Reads a file as text; throws when it can't. Default: from the disk, as UTF-8. */
  readonly readFile?: (path: string) => string;
  /** Keeps what is included by several, where more than one tenant's files are read: a file is read once. */
  readonly cache?: ReadCache;
}

/** Included files that were read, by their absolute paths. Make one with `new Map()`. */
export type ReadCache = Map<string, ParsedFile>;

/** A file that was read by itself, whoever includes it. */
interface ParsedFile {
  readonly source: YamlSource;
  /** Undefined when there is a mistake in it, but for one in elements of the lists: those are left out. */
  readonly content: SettingsFile | undefined;
  /** Where the elements that are not left out stand in the file, for the lists that have others. Default: as in the content. */
  readonly kept?: Kept;
  readonly findings: readonly Finding[];
}

/** The settings, where the files can be used, and all that was found in them. */
export interface ReadResult {
  readonly settings: Settings | undefined;
  /** The settings as far as they go, where every file could be read and yet not all of it be used: to find more in them. */
  readonly draft: Settings | undefined;
  /** Errors, warnings and notes, in the order of files and lines. */
  readonly findings: readonly Finding[];
  /** All files that were read or should have been, the one asked for first, as in {@link Place.file}. */
  readonly files: readonly string[];
}

/** More files than any tenant's settings have. */
const MAX_FILES = 1_000;

/**
 * Reads a tenant's settings file with all that it includes.
 *
 * @param file its path, relative to the working folder.
 * @throws {SettingsFileError} (`ERR_SETTINGS_FILE`) with every mistake at its place.
 */
export function readSettings(file: string, options: ReadOptions = {}): Settings {
  const { settings, findings } = inspectSettings(file, options);
  if (settings === undefined) throw new SettingsFileError(file, findings);
  return settings;
}

/** The same for tools that tell findings: it does not throw. */
export function inspectSettings(
  file: string,
  {
    today = new Date().toISOString().slice(0, 10),
    readFile = readerFrom(file),
    ownDomains = readOwnDomainNames(NO_STACK, process.env),
    cache,
  }: ReadOptions = {},
): ReadResult {
  const reading = new Reading(today, readFile, cache);
  const read = reading.file(file);
  const top = read && { ...read, ownDomains: new Set([...read.ownDomains, ...ownDomains]) };
  const files = [...reading.files];
  if (top === undefined || !reading.isWhole) {
    return { settings: undefined, draft: undefined, findings: inOrder(reading.findings), files };
  }
  const entries = sorted(top.entries.values());
  const vips = sorted(top.vips.values());
  const together = wrongTogether(entries, vips, top);
  // Options that name what is declared can be judged only when all of it was understood.
  const judged = hasErrors(reading.findings)
    ? together.filter(({ code }) => code !== "list-options")
    : together;
  const findings = inOrder([...reading.findings, ...judged]);
  const draft: Settings = {
    file,
    files,
    today,
    ownDomains: [...top.ownDomains],
    policy: top.options.under("policy"),
    rules: {
      ...Object.fromEntries(top.options.demands.map(({ path, value }) => [path, value])),
      // Those of the environment are no part of what is declared.
      ownDomains: [...(read?.ownDomains ?? [])].sort(),
    },
    lists: { entries: top.options.under("lists.entries"), vips: top.options.under("lists.vips") },
    entries,
    vips,
    expired: reading.expired,
    excluded: reading.excluded,
    findings,
  };
  return { settings: hasErrors(findings) ? undefined : draft, draft, findings, files };
}

/** What one file comes to, with what it includes. */
interface Effective {
  readonly file: string;
  readonly entries: ReadonlyMap<string, DeclaredEntry>;
  readonly vips: ReadonlyMap<string, DeclaredVip>;
  readonly ownDomains: ReadonlySet<string>;
  /** The rules and the options of the lists. */
  readonly options: Options;
  /** What it asks for itself, and all files that it includes. */
  readonly demands: readonly Demand[];
}

class Reading {
  readonly findings: Finding[] = [];
  readonly files = new Set<string>();
  readonly expired: (DeclaredEntry | DeclaredVip)[] = [];
  readonly excluded: Excluded[] = [];
  /** Whether every file could be read: what one of them says could be undone by another. */
  isWhole = true;
  /** Whether something that a file declares has a mistake, and was left out. */
  hasGaps = false;
  readonly #today: string;
  readonly #readFile: (path: string) => string;
  readonly #cache: ReadCache | undefined;
  readonly #told = new Set<string>();
  readonly #done = new Map<string, Effective | undefined>();
  /** The files that are being read: one that includes itself is found here. */
  readonly #open: string[] = [];

  constructor(today: string, readFile: (path: string) => string, cache: ReadCache | undefined) {
    this.#today = today;
    this.#readFile = readFile;
    this.#cache = cache;
  }

  /** @param from where it is included. */
  file(path: string, from?: Place): Effective | undefined {
    const name = normalize(path);
    const identity = resolve(name);
    if (this.#open.includes(identity)) {
      const circle = [...this.#open.slice(this.#open.indexOf(identity)), identity];
      this.#refuse(
        "include-circle",
        `includes itself, over ${circle.length - 1} file${circle.length > 2 ? "s" : ""}; take one \`include\` away`,
        from,
      );
      this.isWhole = false;
      return undefined;
    }
    // Included on two ways, it is the same file.
    if (this.#done.has(identity)) return this.#done.get(identity);
    if (this.files.size >= MAX_FILES) {
      this.#refuse("include-too-many", `more than ${MAX_FILES} files are included`, from);
      this.isWhole = false;
      return undefined;
    }
    this.files.add(name);
    this.#open.push(identity);
    const effective = this.#effective(name, from);
    if (effective === undefined) this.isWhole = false;
    this.#open.pop();
    this.#done.set(identity, effective);
    return effective;
  }

  #effective(file: string, from: Place | undefined): Effective | undefined {
    const parsed = this.#parsed(file, from);
    if (parsed === undefined) return undefined;
    const { source, content, kept } = parsed;
    if (kept !== undefined) this.hasGaps = true;
    for (const finding of parsed.findings) this.findings.push(finding);
    if (content === undefined) return undefined;

    const included = (content.include ?? []).map((path, index) => {
      const place = source.placeOf(["include", index]);
      const refusal = includeRefusal(path);
      if (refusal === undefined) return this.file(join(dirname(file), path), place);
      this.#refuse(...refusal, place);
      this.isWhole = false;
      return undefined;
    });
    const below = included.filter((one) => one !== undefined);
    return this.#merged(parsed, content, below);
  }

  /** A file by itself; undefined when it can't be read. */
  #parsed(file: string, from: Place | undefined): ParsedFile | undefined {
    const path = resolve(file);
    const before = this.#cache?.get(path);
    // Another name for it would be told as its place.
    if (before?.source.file === file) return before;
    const source = readSource(file, this.#readFile, from);
    if (isFinding(source)) {
      this.findings.push(source);
      return undefined;
    }
    const parsed = parsedFile(source);
    if (from !== undefined) this.#cache?.set(path, parsed);
    return parsed;
  }

  #merged(parsed: ParsedFile, content: SettingsFile, below: readonly Effective[]): Effective | undefined {
    const entries = new Map<string, DeclaredEntry>();
    const vips = new Map<string, DeclaredVip>();
    const { source } = parsed;
    const { own, expired } = this.#declaredIn(parsed, content);
    for (const one of expired) this.expired.push(one);
    const ownSubjects = new Set(own.map(subjectOf));
    // What a file says anew with an end has that end, whatever is said of it below.
    const ended = new Map(
      expired.filter((one) => !ownSubjects.has(subjectOf(one))).map((one) => [subjectOf(one), one]),
    );

    const asked = demandsBelow(below);
    const removals = this.#removalsIn(source, content);
    const takeIn = <One extends DeclaredEntry | DeclaredVip>(into: Map<string, One>, one: One): void => {
      const removal = removals.get(removalKey(one.kind === "vip" ? "vips" : one.list, nameIn(one)));
      if (removal !== undefined) {
        removal.count += 1;
        this.#tellEnd(one, removal.place, asked);
        this.excluded.push({ declared: one, place: removal.place });
        return;
      }
      const end = ended.get(subjectOf(one));
      if (end !== undefined) {
        this.#tellEnd(one, end.place, asked);
        this.excluded.push({ declared: one, place: end.place });
        return;
      }
      const other = into.get(one.key);
      if (other === undefined) into.set(one.key, one);
      else if (
        other.place !== one.place &&
        (other.text !== one.text || other.expires !== one.expires) &&
        !ownSubjects.has(subjectOf(one))
      ) {
        this.#refuse(
          "declared-twice",
          `${quote(nameOf(one))} is declared differently at ${lineText(other.place)} and ${lineText(one.place)}, and both are included here; declare it in this file too, to decide`,
          source.placeOf(["include"]),
        );
      }
    };
    for (const one of below) {
      for (const entry of one.entries.values()) takeIn(entries, entry);
      for (const vip of one.vips.values()) takeIn(vips, vip);
    }
    for (const { place, written, count, section } of removals.values()) {
      // It may be of what was left out.
      if (count > 0 || this.hasGaps) continue;
      this.findings.push({
        code: "remove-nothing",
        level: "warning",
        message: `${quote(written)} is in no ${section === "vips" ? "VIP list" : `${section} list`} of an included file, so there is nothing to remove; take the line away, or mend it`,
        place,
      });
    }
    for (const one of own) {
      const into = (one.kind === "entry" ? entries : vips) as Map<string, DeclaredEntry | DeclaredVip>;
      const below = into.get(one.key);
      if (below !== undefined && one.kind === "entry" && (below as DeclaredEntry).list !== one.list) {
        this.#refuse(
          "list-overridden",
          `${quote(one.written)} is on the ${(below as DeclaredEntry).list} list at ${lineText(below.place)}, which is included; to put it on the ${one.list} list here, also write it under \`remove: ${(below as DeclaredEntry).list}:\``,
          one.place,
        );
        continue;
      }
      if (below !== undefined) this.#tellOverride(one, below, asked);
      into.set(one.key, below === undefined ? one : { ...one, overrides: [below.place, ...below.overrides] });
    }
    return {
      file: source.file,
      entries,
      vips,
      ownDomains: new Set([
        ...below.flatMap(({ ownDomains }) => [...ownDomains]),
        ...(content.ownDomains ?? []).map(canonical),
      ]),
      ...this.#options(source, content, below),
    };
  }

  /** Tells that something which an included file declares is not declared any more; refuses it of what is protected. */
  #tellEnd(one: DeclaredEntry | DeclaredVip, place: Place, asked: readonly Demand[]): void {
    const protecting = protectionOf(one, asked);
    // An allow less is no loosening.
    if (protecting.demands.length === 0 && one.kind === "entry" && one.list === "allow") return;
    const what = `${nameTold(one)}, as ${lineText(one.place)} declares it, is declared no more here`;
    this.#tellLoosened(what, one, place, protecting);
  }

  /** Tells what is looser in what is said anew of something that an included file declares. */
  #tellOverride(
    one: DeclaredEntry | DeclaredVip,
    below: DeclaredEntry | DeclaredVip,
    asked: readonly Demand[],
  ): void {
    const protecting = protectionOf(below, asked);
    const isAllow = one.kind === "entry" && one.list === "allow";
    const [end, before] = [endOf(one), endOf(below)];
    const said = (day: string): string => (day === NO_END ? "without end" : `until ${day}`);
    if (isAllow ? end > before : end < before) {
      const what = `${nameTold(one)} is declared ${said(end)} here, and ${said(before)} at ${lineText(below.place)}`;
      this.#tellLoosened(what, one, one.place, isAllow ? { ...protecting, demands: [] } : protecting);
    }
    if (
      one.kind === "entry" &&
      below.kind === "entry" &&
      one.acceptRisk !== undefined &&
      below.acceptRisk === undefined
    ) {
      const what = `${nameTold(one)} has an \`acceptRisk\` here, and none at ${lineText(below.place)}`;
      this.#tellLoosened(what, one, one.place, { ...protecting, demands: [] });
    }
  }

  #tellLoosened(
    what: string,
    { kind, key }: DeclaredEntry | DeclaredVip,
    place: Place,
    { path, demands }: ReturnType<typeof protectionOf>,
  ): void {
    const [demand] = demands;
    const told = demand === undefined ? what : `${what}, and is protected at ${lineText(demand.place)}`;
    this.findings.push(loosening(told, path, place, demands, { kind, key }));
  }

  /** The options, and all that is asked for; what loosens what an included file asks for is told, or refused. */
  #options(
    source: YamlSource,
    content: SettingsFile,
    below: readonly Effective[],
  ): Pick<Effective, "options" | "demands"> {
    const own = demandsOf(content, source.placeOf);
    const asked = demandsBelow(below);
    const options = new Options(
      own,
      below.map((one) => one.options),
    );
    for (const [one, other] of options.conflicts) {
      this.#refuse(
        "declared-twice",
        `\`${one.path}\` differs at ${lineText(one.place)} and ${lineText(other.place)}, and both are included here; write it in this file too, to decide`,
        source.placeOf(["include"]),
      );
    }
    // What one included file says can be looser than what another one asks for, too.
    for (const finding of loosenings(options.demands, asked)) this.#tell(finding);
    return { options, demands: [...asked, ...own, ...impliedBy(own, content)] };
  }

  /** What a file declares itself; what is declared twice in it is a mistake. */
  #declaredIn(
    { source, kept = {} }: ParsedFile,
    content: SettingsFile,
  ): { own: readonly (DeclaredEntry | DeclaredVip)[]; expired: readonly (DeclaredEntry | DeclaredVip)[] } {
    const own: (DeclaredEntry | DeclaredVip)[] = [];
    const expired: (DeclaredEntry | DeclaredVip)[] = [];
    const bySubject = new Map<string, DeclaredEntry | DeclaredVip>();
    const take = (one: DeclaredEntry | DeclaredVip): void => {
      // A value that is on both lists, be it in different scopes, is told with all files together.
      const subject = subjectOf(one);
      const other = bySubject.get(subject);
      bySubject.set(subject, one);
      if (other !== undefined) {
        const lists = one.kind === "entry" && (other as DeclaredEntry).list !== one.list;
        const what = lists ? "on both lists" : "declared twice";
        this.#refuse(
          "declared-twice",
          `${quote(one.written)} is ${what}, here and at ${lineText(other.place)}; keep one of the two`,
          one.place,
        );
        return;
      }
      const isPast = one.expires !== undefined && one.expires !== "never" && one.expires < this.#today;
      (isPast ? expired : own).push(one);
    };
    const isShort = (section: string, index: number): true | undefined =>
      typeof (source.value as Record<string, unknown[]>)[section]?.[index] === "string" ? true : undefined;
    for (const list of ["allow", "deny"] as const) {
      for (const [at, raw] of (content[list] ?? []).entries()) {
        const index = kept[list]?.[at] ?? at;
        const place = source.placeOf([list, index, "value"]);
        // The schema has judged the value by itself, and not whether it is what it is said to be.
        const { failures } =
          raw.type === undefined
            ? NO_FAILURES
            : checkEntryArguments({ list, value: raw.value, entryType: raw.type }, allowDenyEntryArguments);
        for (const { reason } of failures) {
          this.#refuse("invalid-value", `type ${reason}`, source.placeOf([list, index, "type"]));
        }
        if (failures.length === 0) take(declaredEntry(list, raw, place, isShort(list, index)));
      }
    }
    for (const [at, raw] of (content.vips ?? []).entries()) {
      const index = kept.vips?.[at] ?? at;
      take(declaredVip(raw, source.placeOf(["vips", index, "email"]), isShort("vips", index)));
    }
    return { own, expired };
  }

  /** By section and value: what each line takes out. */
  #removalsIn(source: YamlSource, { remove = {} }: SettingsFile): ReadonlyMap<string, Removal> {
    const removals = new Map<string, Removal>();
    for (const section of POLICY_SUBJECTS) {
      for (const [index, written] of (remove[section] ?? []).entries()) {
        const key = removalKey(section, section === "vips" ? mailbox(written) : canonical(written));
        const place = source.placeOf(["remove", section, index]);
        const other = removals.get(key);
        if (other === undefined) removals.set(key, { section, written, place, count: 0 });
        else {
          const message = `${quote(written)} is removed twice, here and at ${lineText(other.place)}; keep one of the two`;
          this.findings.push({ code: "removed-twice", level: "warning", message, place });
        }
      }
    }
    return removals;
  }

  /** The same is told once, on however many ways it comes. */
  #tell(finding: Finding): void {
    const identity = JSON.stringify([finding.code, finding.message, finding.place]);
    if (this.#told.has(identity)) return;
    this.#told.add(identity);
    this.findings.push(finding);
  }

  #refuse(code: string, message: string, place: Place | undefined): void {
    this.findings.push({ code, level: "error", message, ...(place === undefined ? {} : { place }) });
  }
}

/** What all these files ask for, each once, on however many ways it is included. */
function demandsBelow(below: readonly Effective[]): readonly Demand[] {
  return [...new Set(below.flatMap(({ demands }) => demands))];
}

/** What included files say of it under `protect`. */
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

/** What is protected; read once, whatever is held against it. */
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

function parsedFile(source: YamlSource): ParsedFile {
  if (source.value === undefined) return { source, content: undefined, findings: source.findings };
  const result = settingsFile.safeParse(writtenOut(source.value));
  if (result.success) {
    const content = source.findings.length > 0 ? undefined : (result.data as SettingsFile);
    return { source, content, findings: source.findings };
  }
  const findings = [...source.findings, ...schemaFindings(result.error, source, FORMAT)];
  return { source, content: undefined, ...withoutRefused(source, result.error), findings };
}

type Kept = { readonly [Section in PolicySubject]?: readonly number[] };

/** A file without the elements that are refused, so that lint finds more than one kind of mistake at once. */
function withoutRefused(
  source: YamlSource,
  { issues }: z.ZodError,
): Pick<ParsedFile, "content" | "kept"> | undefined {
  if (source.findings.length > 0) return undefined;
  const value = writtenOut(source.value) as Readonly<Record<string, unknown>> | null;
  if (value === null) return undefined;
  const content = { ...value };
  const kept: { -readonly [Section in keyof Kept]: Kept[Section] } = {};
  for (const section of POLICY_SUBJECTS) {
    const refused = new Set(issues.filter(({ path }) => path[0] === section).map(({ path }) => path[1]));
    const list = value[section];
    if (refused.size === 0 || !Array.isArray(list)) continue;
    const left = [...list.keys()].filter((index) => !refused.has(index));
    kept[section] = left;
    content[section] = left.map((index) => list[index] as unknown);
  }
  const result = settingsFile.safeParse(content);
  return result.success ? { content: result.data as SettingsFile, kept } : undefined;
}

const FORMAT: FileFormat = {
  schema: settingsFile,
  aliases: {
    verdictscope: "scope",
    entrytype: "type",
    includes: "include",
    expiry: "expires",
    expiresat: "expires",
    reason: "comment",
    vip: "vips",
    allowlist: "allow",
    denylist: "deny",
    block: "deny",
  },
};

interface Removal {
  readonly section: "allow" | "deny" | "vips";
  readonly written: string;
  readonly place: Place;
  count: number;
}

function removalKey(section: Removal["section"], value: string): string {
  return `${section} ${value}`;
}

/** What a list holds of it. */
function nameIn(one: DeclaredEntry | DeclaredVip): string {
  return one.kind === "vip" ? one.email : one.value;
}

function subjectOf({ kind, key }: DeclaredEntry | DeclaredVip): string {
  return `${kind} ${key}`;
}

const NO_FAILURES = { failures: [] } as const;

/** Elements that are a text alone, as the mapping that they stand for. */
function writtenOut(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const elements = (list: unknown, key: string): unknown =>
    Array.isArray(list)
      ? list.map((one: unknown) => (typeof one === "object" && one !== null ? one : { [key]: one }))
      : list;
  const keys: Record<string, string> = { allow: "value", deny: "value", vips: "email" };
  return Object.fromEntries(
    Object.entries(value).map(([name, list]) => {
      const key = Object.hasOwn(keys, name) ? keys[name] : undefined;
      return [name, key === undefined ? list : elements(list, key)];
    }),
  );
}

/**
 * What is wrong with all files together: what is risky, a value on both lists, options that contradict what is declared.
 * The lists' own check says it, so that files and programs can't disagree.
 */
function wrongTogether(
  entries: readonly DeclaredEntry[],
  vips: readonly DeclaredVip[],
  top: Effective,
): Finding[] {
  const own = new OwnDomains([...top.ownDomains]);
  const check = (
    kind: ListKind,
    list: "entries" | "vips",
    declared: readonly (DeclaredEntry | DeclaredVip)[],
    content: readonly unknown[],
  ): Finding[] => {
    const raw = { [kind.property]: content, ...top.options.under(`lists.${list}`) };
    return checkList(kind, raw, {}, own, Number.POSITIVE_INFINITY).failures.map(
      ({ property, reason }): Finding => {
        const [, index] = new RegExp(`^${kind.property}\\[(\\d+)\\]`).exec(property) ?? [];
        const one = index === undefined ? undefined : declared[Number(index)];
        if (one === undefined) {
          const place = top.options.placeOf(`lists.${list}.${property}`) ?? {
            file: top.file,
            line: 1,
            column: 1,
          };
          return { code: "list-options", level: "error", message: `${property} ${reason}`, place };
        }
        const subject = { kind: one.kind, key: one.key };
        return { ...wrong(one, reason, declared), level: "error", place: one.place, subject };
      },
    );
  };
  return [
    ...check(ENTRIES, "entries", entries, entries.map(entryArguments)),
    ...check(MEMBERS, "vips", vips, vips.map(memberArguments)),
  ];
}

/** What the list's check says of one that is declared, with its place in the files where it says the element's. */
function wrong(
  one: DeclaredEntry | DeclaredVip,
  reason: string,
  declared: readonly (DeclaredEntry | DeclaredVip)[],
): Pick<Finding, "code" | "message"> {
  const placed = reason.replace(/(?:entries|members)\[(\d+)\](?:\.\w+)?/g, (_all, at: string) =>
    lineText(declared[Number(at)]?.place ?? one.place),
  );
  const [, code, rest = ""] = /^is ".*?", which is refused \(([a-z-]+)(.*)$/s.exec(placed) ?? [];
  if (code === undefined) return { code: "declared-twice", message: placed };
  const because = rest.replace(/^(, [^)]*)?\): /, (_all, own: string = "") => ` (${code}${own}): `);
  return { code, message: `${quote(one.written)} is refused${because}` };
}

function nameOf(one: DeclaredEntry | DeclaredVip): string {
  return one.kind === "vip" ? one.email : nameOfKey(one.key);
}

function sorted<One extends Declared>(declared: Iterable<One>): One[] {
  return [...declared].sort((one, other) => (one.key < other.key ? -1 : 1));
}

import { dirname, join, normalize, resolve } from "node:path";
import { NO_STACK, readOwnDomainNames } from "../resources/configuration";
import { quote } from "../settings/text";
import { canonical } from "./declared";
import { type DeclaredInFile, declaredIn, nameIn, nameOf, removalKey, removalsIn, subjectOf } from "./declared-in-file";
import { type Finding, hasErrors, inOrder, lineText, type Place, SettingsFileError } from "./finding";
import type { Part } from "./judged-part";
import { endLoosened, overrideLoosened } from "./loosened-declaration";
import { type Demand, demandsOf, impliedBy, loosenings, Options } from "./loosening";
import { type ParsedFile, parsedFile } from "./parse-settings";
import { includeRefusal, isFinding, readerFrom, readSource } from "./read-source";
import type { Declared, DeclaredEntry, DeclaredVip, Excluded, Settings } from "./settings";
import type { SettingsFile } from "./settings-schema";
import { wrongTogether } from "./wrong-together";
import { type ReadYaml, readYaml, type YamlSource } from "./yaml-source";

export interface ReadOptions {
  /** The day (UTC) to which `expires` is compared, `2026-11-21`. Default: today. */
  readonly today?: string;
  /** Own domains in addition to those of the files, in canonical form. Default: those of EMAIL_SECURITY_OWN_DOMAINS. */
  readonly ownDomains?: readonly string[];
  /** Reads a file as text; throws if it can't. Default: from disk, as UTF-8. */
  readonly readFile?: (path: string) => string;
  /** Parses a file. Default: {@link readYaml}; use `readingOnce` if the same texts are read repeatedly. */
  readonly readYaml?: ReadYaml;
  /** Caches included files when reading the files of several tenants. */
  readonly cache?: ReadCache;
  /** Whether to check all files together, for example for risky entries. Default: true. */
  readonly together?: boolean;
}

/** Parsed included files by absolute path. Create one with `new Map()`. */
export type ReadCache = Map<string, ParsedFile>;

/** The settings, if they are valid, and all findings. */
export interface ReadResult {
  readonly settings: Settings | undefined;
  /** The incomplete settings; present if every file could be read. Used for finding more mistakes. */
  readonly draft: Settings | undefined;
  /** Errors, warnings and notes, in the order of files and lines. */
  readonly findings: readonly Finding[];
  /** All files that were read or failed to be read, the requested one first; see {@link Place.file}. */
  readonly files: readonly string[];
  /** The location of the first `include` of each file. */
  readonly includedAt: ReadonlyMap<string, Place>;
}

/** More files than any tenant has. */
const MAX_FILES = 1_000;

/**
 * Reads a tenant's settings file with all includes.
 *
 * @param file the path relative to the working directory.
 * @throws {SettingsFileError} (`ERR_SETTINGS_FILE`) with all mistakes and their locations.
 */
export function readSettings(file: string, options: ReadOptions = {}): Settings {
  const { settings, findings } = inspectSettings(file, options);
  if (settings === undefined) throw new SettingsFileError(file, findings);
  return settings;
}

/** Reads settings like {@link readSettings}, but returns findings instead of throwing. */
export function inspectSettings(
  file: string,
  {
    today = new Date().toISOString().slice(0, 10),
    readFile = readerFrom(file),
    readYaml: read = readYaml,
    ownDomains = readOwnDomainNames(NO_STACK, process.env),
    cache,
    together: isJudged = true,
  }: ReadOptions = {},
): ReadResult {
  const reading = new Reading(today, { readFile, readYaml: read }, cache);
  const own = reading.file(file);
  const top = own && { ...own, ownDomains: new Set([...own.ownDomains, ...ownDomains]) };
  const files = [...reading.files];
  const { includedAt } = reading;
  if (top === undefined || !reading.isWhole) {
    return { settings: undefined, draft: undefined, findings: inOrder(reading.findings), files, includedAt };
  }
  const entries = sorted(top.entries.values());
  const vips = sorted(top.vips.values());
  const together = isJudged ? wrongTogether(entries, vips, top) : [];
  // Options that refer to declarations can be checked only if all declarations are valid.
  const judged = hasErrors(reading.findings) ? together.filter(({ code }) => code !== "list-options") : together;
  const findings = inOrder([...reading.findings, ...judged]);
  const onDrift = top.options.value("onDrift") as Settings["onDrift"];
  const draft: Settings = {
    file,
    files,
    today,
    ownDomains: [...top.ownDomains],
    // Several tenants may share one environment.
    tenantDomains: own === undefined || own.ownDomains.size === 0 ? ownDomains : [...own.ownDomains],
    policy: top.options.under("policy"),
    rules: {
      ...Object.fromEntries(top.options.demands.map(({ path, value }) => [path, value])),
      // Own domains of the environment aren't declared.
      ownDomains: [...(own?.ownDomains ?? [])].sort(),
    },
    ...(onDrift === undefined ? {} : { onDrift }),
    lists: { entries: top.options.under("lists.entries"), vips: top.options.under("lists.vips") },
    entries,
    vips,
    expired: reading.expired,
    excluded: reading.excluded,
    findings,
  };
  return { settings: hasErrors(findings) ? undefined : draft, draft, findings, files, includedAt };
}

/** The effective content of a file with its includes. */
interface Effective {
  readonly file: string;
  readonly entries: ReadonlyMap<string, DeclaredEntry>;
  readonly vips: ReadonlyMap<string, DeclaredVip>;
  /** The declarations of the file and of each included file. */
  readonly parts: readonly Part[];
  readonly ownDomains: ReadonlySet<string>;
  /** The policy rules and list options. */
  readonly options: Options;
  /** The demands of the file and of all included files. */
  readonly demands: readonly Demand[];
}

type Readers = Required<Pick<ReadOptions, "readFile" | "readYaml">>;

class Reading {
  readonly findings: Finding[] = [];
  readonly files = new Set<string>();
  readonly includedAt = new Map<string, Place>();
  readonly expired: (DeclaredEntry | DeclaredVip)[] = [];
  readonly excluded: Excluded[] = [];
  /** Whether every file could be read. An unread file might override others. */
  isWhole = true;
  /** Whether invalid declarations were left out. */
  hasGaps = false;
  readonly #today: string;
  readonly #read: Readers;
  readonly #cache: ReadCache | undefined;
  readonly #told = new Set<string>();
  readonly #done = new Map<string, Effective | undefined>();
  /** The stack of files being read, for detecting include cycles. */
  readonly #open: string[] = [];

  constructor(today: string, read: Readers, cache: ReadCache | undefined) {
    this.#today = today;
    this.#read = read;
    this.#cache = cache;
  }

  /** @param from the location of the include. */
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
    // A file that is included twice is read once.
    if (this.#done.has(identity)) return this.#done.get(identity);
    if (this.files.size >= MAX_FILES) {
      this.#refuse("include-too-many", `more than ${MAX_FILES} files are included`, from);
      this.isWhole = false;
      return undefined;
    }
    this.files.add(name);
    if (from !== undefined) this.includedAt.set(name, from);
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

  /** Parses a file; undefined if it can't be read. */
  #parsed(file: string, from: Place | undefined): ParsedFile | undefined {
    const path = resolve(file);
    const before = this.#cache?.get(path);
    // A cached file with another name would have wrong locations.
    if (before?.source.file === file) return before;
    const source = readSource(file, this.#read, from);
    if (isFinding(source)) {
      this.findings.push(source);
      return undefined;
    }
    const parsed = parsedFile(source);
    if (from !== undefined) this.#cache?.set(path, parsed);
    return parsed;
  }

  #merged(parsed: ParsedFile, content: SettingsFile, below: readonly Effective[]): Effective | undefined {
    const { source } = parsed;
    const { own, expired, findings } = declaredIn(parsed, content, this.#today);
    for (const one of findings) this.findings.push(one);
    for (const one of expired) this.expired.push(one);
    if (below.length === 0 && content.remove === undefined) return this.#alone(parsed, content, own);
    const ownSubjects = new Set(own.map(subjectOf));
    // An expired override still replaces the included declaration.
    const ended = new Map(
      expired.filter((one) => !ownSubjects.has(subjectOf(one))).map((one) => [subjectOf(one), one]),
    );

    const asked = demandsBelow(below);
    const { removals, findings: twice } = removalsIn(source, content);
    for (const one of twice) this.findings.push(one);
    // Most long lists have no removals, so copy them in one step.
    const isAllKept = removals.size === 0 && ended.size === 0;
    const entries = new Map(isAllKept ? below[0]?.entries : []);
    const vips = new Map(isAllKept ? below[0]?.vips : []);
    const takeIn = <One extends DeclaredEntry | DeclaredVip>(into: Map<string, One>, one: One): void => {
      const removal = removals.get(removalKey(one.kind === "vip" ? "vips" : one.list, nameIn(one)));
      if (removal !== undefined) {
        removal.count += 1;
        this.findings.push(...endLoosened(one, removal.place, asked));
        this.excluded.push({ declared: one, place: removal.place });
        return;
      }
      const end = ended.get(subjectOf(one));
      if (end !== undefined) {
        this.findings.push(...endLoosened(one, end.place, asked));
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
    for (const one of isAllKept ? below.slice(1) : below) {
      for (const entry of one.entries.values()) takeIn(entries, entry);
      for (const vip of one.vips.values()) takeIn(vips, vip);
    }
    for (const { place, written, count, section } of removals.values()) {
      // The removal may refer to an invalid declaration that was left out.
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
      if (below !== undefined) this.findings.push(...overrideLoosened(one, below, asked));
      into.set(one.key, below === undefined ? one : { ...one, overrides: [below.place, ...below.overrides] });
    }
    return {
      file: source.file,
      entries,
      vips,
      parts: [...new Set(below.flatMap(({ parts }) => parts)), own],
      ownDomains: new Set([
        ...below.flatMap(({ ownDomains }) => [...ownDomains]),
        ...(content.ownDomains ?? []).map(canonical),
      ]),
      ...this.#options(source, content, below),
    };
  }

  /** Returns the effective content of a file without includes. Cached, because many tenants may share it. */
  #alone(parsed: ParsedFile, content: SettingsFile, own: DeclaredInFile["own"]): Effective {
    const known = ALONE.get(own);
    if (known !== undefined) return known;
    // Already sorted, so that sorting a tenant with few declarations of its own is fast.
    const entries = new Map<string, DeclaredEntry>();
    const vips = new Map<string, DeclaredVip>();
    for (const one of sorted(own)) {
      if (one.kind === "entry") entries.set(one.key, one);
      else vips.set(one.key, one);
    }
    const effective = {
      file: parsed.source.file,
      entries,
      vips,
      parts: [own],
      ownDomains: new Set((content.ownDomains ?? []).map(canonical)),
      ...this.#options(parsed.source, content, []),
    };
    ALONE.set(own, effective);
    return effective;
  }

  /** Returns the effective options and all demands; reports weaker overrides. */
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
    // An included file can also be weaker than another included file.
    for (const finding of loosenings(options.demands, asked)) this.#tell(finding);
    return { options, demands: [...asked, ...own, ...impliedBy(own, content)] };
  }

  /** Reports a finding once, even if several include paths lead to it. */
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

const ALONE = new WeakMap<DeclaredInFile["own"], Effective>();

/** Returns the demands of all files without duplicates. */
function demandsBelow(below: readonly Effective[]): readonly Demand[] {
  return [...new Set(below.flatMap(({ demands }) => demands))];
}

function sorted<One extends Declared>(declared: Iterable<One>): One[] {
  return [...declared].sort((one, other) => (one.key < other.key ? -1 : 1));
}

import { dirname, join, normalize, resolve } from "node:path";
import { quote } from "../model/text";
import { NO_STACK_CONFIG, readOwnDomainNames } from "../resources/configuration";
import { findCrossEntryProblems } from "./cross-entry-checks";
import { normalizeValue } from "./declaration-parser";
import type { FilePart } from "./file-declaration-checks";
import {
  type FileDeclarations,
  formatDeclarationName,
  getDeclarationKey,
  getDeclaredValue,
  getFileDeclarations,
  getRemovalKey,
  parseRemovals,
} from "./file-declarations";
import type { FileLocation, Finding } from "./finding";
import { formatLineLocation, hasErrors, SettingsFileError, sortFindings } from "./finding";
import { checkDeclarationOverride, checkDeclarationRemoval } from "./included-declaration-checks";
import { type ParsedSettingsFile, parseSettingsFile } from "./parsed-settings-file";
import {
  collectInheritedDemands,
  EffectiveOptions,
  findOverrides,
  listDemands,
  listImpliedDemands,
  listImpliedDenials,
  type OptionDemand,
} from "./policy-override";
import type { SettingsReadCache, SettingsReadOptions, SettingsReadResult } from "./read-options";
import { createFileReader, isFinding, readYamlFile, validateIncludePath } from "./read-yaml-file";
import type {
  DeclaredElement,
  DeclaredEntry,
  DeclaredSource,
  DeclaredVip,
  GeneratedFile,
  RemovedDeclaration,
  Settings,
} from "./settings-model";
import type { SettingsFile } from "./settings-schema";
import { setDefaultOnDelete } from "./source-checks";
import { readYaml, type YamlSource } from "./yaml-source";

export type { SettingsReadCache, SettingsReadOptions, SettingsReadResult } from "./read-options";

/** More files than any tenant has. */
const MAX_FILES = 1_000;

/**
 * Reads a tenant's settings file with all includes.
 *
 * @param file the path relative to the working directory.
 * @throws {SettingsFileError} (`ERR_SETTINGS_FILE`) with all mistakes and their locations.
 */
export function readSettings(file: string, options: SettingsReadOptions = {}): Settings {
  const { settings, findings } = inspectSettings(file, options);
  if (settings === undefined) throw new SettingsFileError(file, findings);
  return settings;
}

/** Reads settings like {@link readSettings}, but returns findings instead of throwing. */
export function inspectSettings(
  file: string,
  {
    today = new Date().toISOString().slice(0, 10),
    readFile = createFileReader(file),
    readYaml: read = readYaml,
    ownDomains = readOwnDomainNames(NO_STACK_CONFIG, process.env),
    cache,
    shouldCrossCheck = true,
  }: SettingsReadOptions = {},
): SettingsReadResult {
  const reader = new SettingsReader(today, { readFile, readYaml: read }, cache);
  const own = reader.readFile(file);
  const top = own && { ...own, ownDomains: new Set([...own.ownDomains, ...ownDomains]) };
  const files = [...reader.files];
  const { includedAt } = reader;
  if (top === undefined || !reader.isComplete) {
    const findings = sortFindings(reader.findings);
    return { settings: undefined, draft: undefined, findings, files, includedAt };
  }
  const entries = sortByKey(top.entries.values());
  const vips = sortByKey(top.vips.values());
  const crossEntryFindings = shouldCrossCheck ? findCrossEntryProblems(entries, vips, top) : [];
  // Options that refer to declarations can be checked only if all declarations are valid.
  const relevantFindings = hasErrors(reader.findings)
    ? crossEntryFindings.filter(({ code }) => code !== "list-options")
    : crossEntryFindings;
  const findings = sortFindings([...reader.findings, ...relevantFindings]);
  const onDrift = top.options.getValue("onDrift") as Settings["onDrift"];
  setDefaultOnDelete(top.options, reader.sources, vips);
  const draft: Settings = {
    file,
    files,
    today,
    ownDomains: [...top.ownDomains],
    // Several tenants may share one environment.
    tenantDomains: own === undefined || own.ownDomains.size === 0 ? ownDomains : [...own.ownDomains],
    policy: top.options.getGroup("policy"),
    rules: {
      ...Object.fromEntries(top.options.demands.map(({ path, value }) => [path, value])),
      // Own domains of the environment aren't declared.
      ownDomains: [...(own?.ownDomains ?? [])].sort(),
    },
    ...(onDrift === undefined ? {} : { onDrift }),
    lists: { entries: top.options.getGroup("lists.entries"), vips: top.options.getGroup("lists.vips") },
    sources: reader.sources,
    generatedFiles: reader.generatedFiles,
    entries,
    vips,
    expired: reader.expired,
    excluded: reader.excluded,
    findings,
  };
  return { settings: hasErrors(findings) ? undefined : draft, draft, findings, files, includedAt };
}

/** The effective content of a file with its includes. */
interface EffectiveFile {
  readonly file: string;
  readonly entries: ReadonlyMap<string, DeclaredEntry>;
  readonly vips: ReadonlyMap<string, DeclaredVip>;
  /** The declarations of the file and of each included file. */
  readonly parts: readonly FilePart[];
  readonly ownDomains: ReadonlySet<string>;
  /** The policy rules and list options. */
  readonly options: EffectiveOptions;
  /** The demands of the file and of all included files. */
  readonly demands: readonly OptionDemand[];
}

type Readers = Required<Pick<SettingsReadOptions, "readFile" | "readYaml">>;

class SettingsReader {
  readonly findings: Finding[] = [];
  readonly files = new Set<string>();
  readonly includedAt = new Map<string, FileLocation>();
  readonly expired: (DeclaredEntry | DeclaredVip)[] = [];
  readonly excluded: RemovedDeclaration[] = [];
  readonly sources: DeclaredSource[] = [];
  readonly generatedFiles: GeneratedFile[] = [];
  /** Whether every file could be read. An unread file might override others. */
  isComplete = true;
  /** Whether invalid declarations were left out. */
  hasInvalidDeclarations = false;
  readonly #today: string;
  readonly #readers: Readers;
  readonly #cache: SettingsReadCache | undefined;
  readonly #reportedFindings = new Set<string>();
  readonly #effectiveByPath = new Map<string, EffectiveFile | undefined>();
  /** The stack of files being read, for detecting include cycles. */
  readonly #includeStack: string[] = [];

  constructor(today: string, read: Readers, cache: SettingsReadCache | undefined) {
    this.#today = today;
    this.#readers = read;
    this.#cache = cache;
  }

  /** @param from the location of the include. */
  readFile(path: string, from?: FileLocation): EffectiveFile | undefined {
    const name = normalize(path);
    const identity = resolve(name);
    if (this.#includeStack.includes(identity)) {
      const circle = [...this.#includeStack.slice(this.#includeStack.indexOf(identity)), identity];
      this.#reportError(
        "include-circle",
        `includes itself through ${circle.length - 1} file${circle.length > 2 ? "s" : ""}; remove one \`include\``,
        from,
      );
      this.isComplete = false;
      return undefined;
    }
    // A file that is included twice is read once.
    if (this.#effectiveByPath.has(identity)) return this.#effectiveByPath.get(identity);
    if (this.files.size >= MAX_FILES) {
      this.#reportError("include-too-many", `more than ${MAX_FILES} files are included`, from);
      this.isComplete = false;
      return undefined;
    }
    this.files.add(name);
    if (from !== undefined) this.includedAt.set(name, from);
    this.#includeStack.push(identity);
    const effective = this.#readEffective(name, from);
    if (effective === undefined) this.isComplete = false;
    this.#includeStack.pop();
    this.#effectiveByPath.set(identity, effective);
    return effective;
  }

  #readEffective(file: string, from: FileLocation | undefined): EffectiveFile | undefined {
    const parsed = this.#parseFile(file, from);
    if (parsed === undefined) return undefined;
    const { source, content, validIndexes } = parsed;
    if (validIndexes !== undefined) this.hasInvalidDeclarations = true;
    for (const finding of parsed.findings) this.findings.push(finding);
    if (content === undefined) return undefined;
    const { source: record, sources = {} } = content;
    if (record !== undefined) this.generatedFiles.push({ file, record, location: source.locate(["source"]) });
    for (const [name, declared] of Object.entries(sources)) {
      this.sources.push({ name, source: declared, location: source.locate(["sources", name]) });
    }

    const included = (content.include ?? []).map((path, index) => {
      const location = source.locate(["include", index]);
      const refusal = validateIncludePath(path);
      if (refusal === undefined) return this.readFile(join(dirname(file), path), location);
      this.#reportError(...refusal, location);
      this.isComplete = false;
      return undefined;
    });
    const below = included.filter((effectiveFile) => effectiveFile !== undefined);
    return this.#mergeIncludes(parsed, content, below);
  }

  /** Parses a file; undefined if it can't be read. */
  #parseFile(file: string, from: FileLocation | undefined): ParsedSettingsFile | undefined {
    const path = resolve(file);
    const before = this.#cache?.get(path);
    // A cached file with another name would have wrong locations.
    if (before?.source.file === file) return before;
    const source = readYamlFile(file, this.#readers, from);
    if (isFinding(source)) {
      this.findings.push(source);
      return undefined;
    }
    const parsed = parseSettingsFile(source);
    if (from !== undefined) this.#cache?.set(path, parsed);
    return parsed;
  }

  #mergeIncludes(
    parsed: ParsedSettingsFile,
    content: SettingsFile,
    below: readonly EffectiveFile[],
  ): EffectiveFile | undefined {
    const { source } = parsed;
    const { declarations, expired, findings } = getFileDeclarations(parsed, content, this.#today);
    for (const finding of findings) this.findings.push(finding);
    for (const item of expired) this.expired.push(item);
    if (below.length === 0 && content.remove === undefined) return this.#buildStandalone(parsed, content, declarations);
    const ownSubjects = new Set(declarations.map(getDeclarationKey));
    // An expired override still replaces the included declaration.
    const ended = new Map(
      expired
        .filter((candidate) => !ownSubjects.has(getDeclarationKey(candidate)))
        .map((item) => [getDeclarationKey(item), item]),
    );

    const inheritedDemands = collectInheritedDemands(below);
    const { removals, findings: duplicateFindings } = parseRemovals(source, content);
    for (const finding of duplicateFindings) this.findings.push(finding);
    // Most long lists have no removals, so copy them in one step.
    const isAllKept = removals.size === 0 && ended.size === 0;
    const entries = new Map(isAllKept ? below[0]?.entries : []);
    const vips = new Map(isAllKept ? below[0]?.vips : []);
    const mergeDeclaration = <One extends DeclaredEntry | DeclaredVip>(into: Map<string, One>, item: One): void => {
      const removal = removals.get(getRemovalKey(item.kind === "vip" ? "vips" : item.list, getDeclaredValue(item)));
      if (removal !== undefined) {
        removal.count += 1;
        this.findings.push(...checkDeclarationRemoval(item, removal.location, inheritedDemands));
        this.excluded.push({ declaration: item, location: removal.location });
        return;
      }
      const end = ended.get(getDeclarationKey(item));
      if (end !== undefined) {
        this.findings.push(...checkDeclarationRemoval(item, end.location, inheritedDemands));
        this.excluded.push({ declaration: item, location: end.location });
        return;
      }
      const other = into.get(item.key);
      if (other === undefined) into.set(item.key, item);
      else if (
        other.location !== item.location &&
        (other.text !== item.text || other.expires !== item.expires) &&
        !ownSubjects.has(getDeclarationKey(item))
      ) {
        this.#reportError(
          "duplicate-declaration",
          `${quote(formatDeclarationName(item))} is declared differently at ${formatLineLocation(other.location)} and ${formatLineLocation(item.location)}, and this file includes both; declare it in this file too, to resolve the conflict`,
          source.locate(["include"]),
        );
      }
    };
    for (const file of isAllKept ? below.slice(1) : below) {
      for (const entry of file.entries.values()) mergeDeclaration(entries, entry);
      for (const vip of file.vips.values()) mergeDeclaration(vips, vip);
    }
    for (const { location, value, count, section } of removals.values()) {
      // The removal may refer to an invalid declaration that was left out.
      if (count > 0 || this.hasInvalidDeclarations) continue;
      this.findings.push({
        code: "remove-nothing",
        level: "warning",
        message: `${quote(value)} isn't on the ${section === "vips" ? "VIP list" : `${section} list`} of any included file, so there is nothing to remove; delete or correct the line`,
        place: location,
      });
    }
    for (const declaration of declarations) {
      const into = (declaration.kind === "entry" ? entries : vips) as Map<string, DeclaredEntry | DeclaredVip>;
      const below = into.get(declaration.key);
      if (below !== undefined && declaration.kind === "entry" && (below as DeclaredEntry).list !== declaration.list) {
        this.#reportError(
          "list-overridden",
          `${quote(declaration.rawValue)} is on the ${(below as DeclaredEntry).list} list at ${formatLineLocation(below.location)}, in an included file; to move it to the ${declaration.list} list here, also add it to \`remove: ${(below as DeclaredEntry).list}:\``,
          declaration.location,
        );
        continue;
      }
      if (below !== undefined) this.findings.push(...checkDeclarationOverride(declaration, below, inheritedDemands));
      into.set(
        declaration.key,
        below === undefined ? declaration : { ...declaration, overrides: [below.location, ...below.overrides] },
      );
    }
    return {
      file: source.file,
      entries,
      vips,
      parts: [...new Set(below.flatMap(({ parts }) => parts)), declarations],
      ownDomains: new Set([
        ...below.flatMap(({ ownDomains }) => [...ownDomains]),
        ...(content.ownDomains ?? []).map(normalizeValue),
      ]),
      ...this.#buildOptions(source, content, below),
    };
  }

  /** Returns the effective content of a file without includes. Cached, because many tenants may share it. */
  #buildStandalone(
    parsed: ParsedSettingsFile,
    content: SettingsFile,
    own: FileDeclarations["declarations"],
  ): EffectiveFile {
    const known = STANDALONE_CACHE.get(own);
    if (known !== undefined) return known;
    // Already sorted, so that sorting a tenant with few declarations of its own is fast.
    const entries = new Map<string, DeclaredEntry>();
    const vips = new Map<string, DeclaredVip>();
    for (const item of sortByKey(own)) {
      if (item.kind === "entry") entries.set(item.key, item);
      else vips.set(item.key, item);
    }
    const effective = {
      file: parsed.source.file,
      entries,
      vips,
      parts: [own],
      ownDomains: new Set((content.ownDomains ?? []).map(normalizeValue)),
      ...this.#buildOptions(parsed.source, content, []),
    };
    STANDALONE_CACHE.set(own, effective);
    return effective;
  }

  /** Returns the effective options and all demands; reports weaker overrides. */
  #buildOptions(
    source: YamlSource,
    content: SettingsFile,
    below: readonly EffectiveFile[],
  ): Pick<EffectiveFile, "options" | "demands"> {
    const own = listDemands(content, source.locate);
    const inheritedDemands = collectInheritedDemands(below);
    const inherited = below.map((file) => file.options);
    const options = new EffectiveOptions(own, inherited);
    for (const [a, b] of options.conflicts) {
      this.#reportError(
        "duplicate-declaration",
        `\`${a.path}\` differs at ${formatLineLocation(a.location)} and ${formatLineLocation(b.location)}, and this file includes both; set it in this file too, to resolve the conflict`,
        source.locate(["include"]),
      );
    }
    // An included file can also be weaker than another included file.
    for (const finding of findOverrides(options.demands, inheritedDemands)) this.#reportOnce(finding);
    options.withdrawAllowFrom(inheritedDemands);
    const demands = [...inheritedDemands, ...own, ...listImpliedDemands(own, content)];
    return { options, demands: [...demands, ...listImpliedDenials(content, demands, source.locate)] };
  }

  /** Reports a finding once, even if several include paths lead to it. */
  #reportOnce(finding: Finding): void {
    const identity = JSON.stringify([finding.code, finding.message, finding.place]);
    if (this.#reportedFindings.has(identity)) return;
    this.#reportedFindings.add(identity);
    this.findings.push(finding);
  }

  #reportError(code: string, message: string, location: FileLocation | undefined): void {
    this.findings.push({ code, level: "error", message, ...(location === undefined ? {} : { place: location }) });
  }
}

const STANDALONE_CACHE = new WeakMap<FileDeclarations["declarations"], EffectiveFile>();

function sortByKey<One extends DeclaredElement>(declared: Iterable<One>): One[] {
  return [...declared].sort((a, b) => (a.key < b.key ? -1 : 1));
}

import { resolve } from "node:path";
import { EmailSecurityError } from "../model/email-security-error";
import { addDaysToDate } from "../model/expiry-term";
import { findNearestName } from "../model/nearest-name";
import { omitUndefined } from "../model/omit-undefined";
import { quote } from "../model/text";
import { formatCount } from "../render/safe-text";
import { resolveSettingsFiles } from "../settings-files/lint-files";
import { readTopLevelSettings } from "../settings-files/settings-contexts";
import { DEFAULT_MAX_ITEMS, isFeed } from "../settings-files/source-schema";
import { createCachingYamlReader, type YamlReader } from "../settings-files/yaml-source";
import { type AssessedItems, assessItems, type ParsedItems, parseItems } from "./assess-items";
import { mergeSource } from "./merge-source";
import {
  type GeneratedFileReading,
  listGeneratedValues,
  type PreviousFile,
  readGeneratedFile,
} from "./read-generated-file";
import { readSourceItems } from "./read-source-items";
import { type SkippedItems, type SourceContent, type SourceContext, SourceError } from "./source-content";
import { isListed, parseSourceFile } from "./source-file";
import {
  collectMailboxDomains,
  collectOwnDomains,
  DeclarationLookup,
  listSources,
  type SourceTarget,
} from "./source-targets";
import {
  type AssessedMerge,
  buildEmptySourceReport,
  buildOutcome,
  hashDeclaration,
  type OutcomeParts,
  type SyncedSource,
  type SyncOutcome,
} from "./sync-outcome";
import type { SourceReport } from "./sync-report";

export interface SyncOptions {
  /** Settings files and directories. Default if empty: the directory `settings`, or else `settings.yaml`. */
  readonly files: readonly string[];
  /** The names of the sources to sync. Default: all. */
  readonly names?: readonly string[] | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  /** The day (UTC). */
  readonly today: string;
  /** Returns the texts of generated files that wait for their review, by path. Default: none. */
  readonly readProposedTexts?: (targets: readonly SourceTarget[]) => Promise<ReadonlyMap<string, string>>;
}

/**
 * Reads the declared sources, and returns the changes of their generated files. A source that fails is reported, and doesn't keep others
 * from being synced.
 *
 * @throws {SettingsFileError} (`ERR_SETTINGS_FILE`) if the settings can't be read.
 * @throws {SourceError} (`ERR_SOURCE`) if no source is declared, or an unknown one is named.
 */
export async function syncSources({
  files,
  names,
  readProposedTexts,
  ...options
}: SyncOptions): Promise<SyncedSource[]> {
  const readYaml = createCachingYamlReader();
  const { targets, requestedNames } = readSourceTargets(files, { today: options.today, readYaml });
  assertKnownSources(requestedNames, names);
  const selectedNames = new Set(names ?? requestedNames);
  const isSelected = ({ name }: SourceTarget): boolean => selectedNames.has(name);
  const proposedTexts = (await readProposedTexts?.(targets.filter(isSelected))) ?? new Map<string, string>();
  const runs: SourceRun[] = [];
  for (const target of targets) {
    const reading = readGeneratedFile(target, readYaml);
    const run = { target, reading, heldValues: new Set(listGeneratedValues(target, reading)) };
    runs.push(isSelected(target) ? { ...run, content: await readContent(target, reading, options) } : run);
  }
  const lookup = new DeclarationLookup(
    runs.map(({ target, heldValues, content }) => ({ target, heldValues, listedValues: getListedValues(content) })),
  );
  const results: SyncedSource[] = [];
  for (const run of runs) {
    const { target, heldValues } = run;
    const proposedText = proposedTexts.get(target.file);
    const synced = isSelected(target) ? syncSource(run, lookup, { ...options, readYaml, proposedText }) : undefined;
    lookup.claim(target, synced?.values ?? heldValues);
    if (synced !== undefined) results.push(synced.result);
  }
  return results.sort((a, b) => (a.report.name < b.report.name ? -1 : 1));
}

/** People come before feeds, which must not deny them, and denies before allows. */
const SECTION_ORDER = ["vips", "deny", "allow"];

/**
 * Returns the sources of all tenants that share a declaration with the requested files, in the order of the sync, and the names of those that
 * the requested files declare. The content of a generated file must not depend on which tenant's file is requested.
 */
function readSourceTargets(
  files: readonly string[],
  options: Parameters<typeof readTopLevelSettings>[1],
): { readonly targets: readonly SourceTarget[]; readonly requestedNames: readonly string[] } {
  const requested = readTopLevelSettings(files, options);
  const declared = requested.flatMap(({ sources }) => sources);
  const requestedNames = [...new Set(declared.map(({ name }) => name))].sort();
  const requestedPaths = new Set(resolveSettingsFiles(files).map((file) => resolve(file)));
  const otherFiles = [...new Set(declared.map(({ location }) => location.file))].filter(
    (file) => !requestedPaths.has(resolve(file)),
  );
  const settings = otherFiles.length === 0 ? requested : readTopLevelSettings([...files, ...otherFiles], options);
  const targets = listSources(settings).sort(
    (a, b) => SECTION_ORDER.indexOf(a.source.into) - SECTION_ORDER.indexOf(b.source.into),
  );
  return { targets, requestedNames };
}

interface SourceRun {
  readonly target: SourceTarget;
  readonly reading: GeneratedFileReading;
  readonly heldValues: ReadonlySet<string>;
  /** Undefined for a source that isn't selected. */
  readonly content?: ContentReading;
}

/** The content of a source with its parsed items; or why it can't be read. */
type ContentReading = ParsedContent | EmailSecurityError;

interface ParsedContent {
  readonly content: SourceContent | "not-modified";
  /** For content that wasn't modified: the elements of the file. */
  readonly items: ParsedItems;
}

async function readContent(
  target: SourceTarget,
  { previous, error }: GeneratedFileReading,
  options: ReadOptions,
): Promise<ContentReading> {
  if (error !== undefined) return error;
  try {
    assertAllowFrom(target);
    const { source } = target;
    const content = await readSourceItems(source, buildContext(target, previous, options));
    const items = content === "not-modified" ? (previous?.elements.filter(isListed) ?? []) : content.items;
    return { content, items: parseItems(items, source.into, isFeed(source) && source.hosts === true) };
  } catch (failure) {
    options.signal.throwIfAborted();
    if (failure instanceof EmailSecurityError) return failure;
    throw failure;
  }
}

/** Returns the values that a source lists, also those that it may not declare. Empty if its content wasn't read. */
function getListedValues(reading: ContentReading | undefined): ParsedItems["values"] {
  const isRead =
    reading !== undefined && !(reading instanceof EmailSecurityError) && reading.content !== "not-modified";
  return isRead ? reading.items.values : new Map();
}

function assertKnownSources(known: readonly string[], names: readonly string[] | undefined): void {
  if (known.length === 0) {
    throw new SourceError("No settings file declares a source. Declare one under `sources`.");
  }
  const unknown = names?.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const closest = findNearestName(unknown, known);
  const hint = closest === undefined ? `The sources are ${known.join(", ")}.` : `Did you mean ${closest}?`;
  throw new SourceError(`The source ${quote(unknown)} isn't declared. ${hint}`);
}

type ReadOptions = Pick<SyncOptions, "environment" | "signal" | "today">;

interface RunOptions extends ReadOptions {
  readonly readYaml: YamlReader;
  readonly proposedText: string | undefined;
}

function syncSource(
  { target, reading: { before, previous }, heldValues, content }: SourceRun,
  lookup: DeclarationLookup,
  options: RunOptions,
): SyncOutcome {
  try {
    if (content === undefined || content instanceof EmailSecurityError) throw content;
    const { proposedText, today } = options;
    assertCurrent(target, previous, content.content, today);
    const proposed = parseProposedFile(target, options);
    const merged = mergeContent(target, lookup, { ...content, previous, proposed, today });
    if (merged.blocker !== undefined) throw new SourceError(merged.blocker);
    return buildOutcome(target, { before, previous, proposed, proposedText, content: content.content, merged, today });
  } catch (error) {
    if (!(error instanceof EmailSecurityError)) throw error;
    const { code, message } = error;
    const report: SourceReport = {
      ...buildEmptySourceReport(target),
      outcome: "blocked",
      problem: { code, message },
      elements: heldValues.size,
    };
    return { result: { report }, values: [...heldValues] };
  }
}

/** A file that people broke on its branch is ignored: the host shows the conflict. */
function parseProposedFile(target: SourceTarget, { proposedText, readYaml }: RunOptions): PreviousFile {
  if (proposedText === undefined) return undefined;
  try {
    const proposed = parseSourceFile(proposedText, target, readYaml);
    return proposed.section === target.source.into ? proposed : undefined;
  } catch (error) {
    if (error instanceof SourceError) return undefined;
    throw error;
  }
}

function assertAllowFrom({ name, source, tenants }: SourceTarget): void {
  const tenant = tenants.find(({ policy }) => policy.allowFrom !== true);
  if (source.into !== "allow" || tenant === undefined) return;
  throw new SourceError(
    `The source ${name} adds allow entries, but the policy of ${quote(tenant.file, 300)} doesn't permit that. Write \`allowFrom: true\` under \`policy\` in the baseline if its owners agree, or \`into: deny\`.`,
  );
}

/** A conditional request needs the declaration and the values that the file was made from. A person may have changed either. */
function buildContext(
  { name, source, location }: SourceTarget,
  previous: PreviousFile,
  { environment, signal, today }: ReadOptions,
): SourceContext {
  const { etag, lastModified, declaration } = previous?.record ?? {};
  const isConditional = previous !== undefined && declaration === hashDeclaration(source, previous.elements);
  return {
    name,
    environment,
    signal,
    max: source.max ?? DEFAULT_MAX_ITEMS,
    declaredIn: location.file,
    today,
    ...(isConditional ? { previous: omitUndefined({ etag, lastModified }) } : {}),
  };
}

function assertCurrent(
  { name, file }: SourceTarget,
  previous: PreviousFile,
  content: SourceContent | "not-modified",
  today: string,
): void {
  if (content === "not-modified" || previous === undefined) return;
  const tomorrow = addDaysToDate(today, 1);
  for (const key of ["lastModified", "published"] as const) {
    const [before, now] = [previous.record[key], content[key]];
    // A wrong clock of the server must not block all later answers.
    if (before === undefined || now === undefined || before.slice(0, 10) > tomorrow) continue;
    if (Date.parse(now) < Date.parse(before)) {
      throw new SourceError(
        `The source ${name} is older than at the last sync: ${now}, and before ${before}. It may be a stale copy. Nothing was changed. Sync it again later. If it was reset on purpose, remove \`${key}\` from ${quote(file, 300)}.`,
      );
    }
  }
}

/** An answer without a valid value is rejected, because an error message would look as if all values had left. */
function assertNotEmpty(
  { name, source }: SourceTarget,
  previous: PreviousFile,
  { names, rejectedValues }: AssessedItems,
  skipped: readonly SkippedItems[],
): void {
  const count = previous?.elements.filter(isListed).length;
  if (names.size > 0 || rejectedValues.size > 0 || count === 0) return;
  const [example] = skipped.flatMap(({ examples }) => examples);
  const problem =
    example === undefined ? "lists nothing" : `lists no valid value, only items such as ${quote(example)}`;
  const difference = count === undefined ? "" : `, but its file has ${formatCount(count, "element")}`;
  throw new SourceError(
    `The source ${name} ${problem}${difference}. Nothing was changed. Check its address and its declaration. If the source is discontinued, remove it, its file and its \`include\`.${source.into === "vips" ? " First write `onDelete: keep` under `lists.vips`, unless its VIPs should be excluded permanently." : ""}`,
  );
}

function mergeContent(
  target: SourceTarget,
  lookup: DeclarationLookup,
  {
    previous: previousFile,
    proposed,
    content,
    items,
    today,
  }: Pick<OutcomeParts, "previous" | "proposed" | "today"> & ParsedContent,
): AssessedMerge {
  const { name, source } = target;
  const { elements: previous = [], section: previousSection, record } = previousFile ?? {};
  const isUnmodified = content === "not-modified";
  // The risk of a deny isn't that of an allow.
  const accepted = new Set(
    previous
      .filter(({ fields }) => fields["acceptRisk"] !== undefined && previousSection === source.into)
      .map(({ value }) => value),
  );
  const vips = lookup.listVips(target);
  const assessed = assessItems(items.values, source.into, {
    ownDomains: collectOwnDomains(target),
    vips,
    vipDomains: collectMailboxDomains(vips),
    findDeclaration: lookup.createLookup(target),
    isAccepted: (value) => accepted.has(value),
  });
  const { names, rejectedValues, dependsOnSettings, rejected } = assessed;
  const skipped = [...(isUnmodified ? [] : content.skipped), ...items.skipped];
  if (!isUnmodified) assertNotEmpty(target, previousFile, assessed, skipped);
  const max = source.max ?? DEFAULT_MAX_ITEMS;
  const count = names.size + rejectedValues.size;
  if (count > max) {
    throw new SourceError(
      `The source ${name} lists ${count} items, which is more than its maximum of ${max}. Nothing was changed. If it has grown as expected, set \`max\` in the source.`,
    );
  }
  const merged = mergeSource({
    source,
    name,
    previous,
    previousSection,
    ...(proposed === undefined
      ? {}
      : { proposed: new Map(proposed.elements.map((element) => [element.value, element])) }),
    lastSync: record?.synced,
    present: names,
    hasNames: !isUnmodified,
    isRejected: (value) => rejectedValues.has(value),
    isListedElsewhere: lookup.createListingTest(target),
    today,
  });
  return { ...merged, dependsOnSettings, rejected, skipped };
}

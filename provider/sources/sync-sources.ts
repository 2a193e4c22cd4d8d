import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { EmailSecurityError } from "../model/email-security-error";
import { getMailDomain } from "../model/entry-value";
import { findNearestName } from "../model/nearest-name";
import { omitUndefined } from "../model/omit-undefined";
import { formatFirstItems, isPrintable, quote } from "../model/text";
import { formatCount } from "../render/safe-text";
import type { ChangedFile } from "../settings-files/edit-files";
import { createFileReader } from "../settings-files/read-yaml-file";
import { createOutsideRepositoryTest } from "../settings-files/repository";
import { readTopLevelSettings } from "../settings-files/settings-contexts";
import { DEFAULT_MAX_ITEMS, isFeed, type SourceRecord } from "../settings-files/source-schema";
import { createCachingYamlReader, type YamlReader } from "../settings-files/yaml-source";
import { type AssessedItems, assessItems } from "./assess-items";
import { type MergeResult, mergeSource } from "./merge-source";
import { readSourceItems } from "./read-source-items";
import { type SkippedItems, type SourceContent, type SourceContext, SourceError } from "./source-content";
import { formatSourceFile, parseSourceFile, type SourceElement } from "./source-file";
import {
  collectMailboxDomains,
  collectOwnDomains,
  DeclarationLookup,
  listSources,
  type SourceTarget,
} from "./source-targets";
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

/** The outcome for one source. Nothing is written. */
export interface SyncedSource {
  readonly report: SourceReport;
  /** The text of the generated file; undefined if the source is blocked. */
  readonly text?: string;
  /** The changed file; undefined if nothing changes. */
  readonly change?: ChangedFile;
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
  const targets = listSources(readTopLevelSettings(files, { today: options.today, readYaml }));
  assertKnownSources(targets, names);
  const isSelected = ({ name }: SourceTarget): boolean => names === undefined || names.includes(name);
  const proposedTexts = (await readProposedTexts?.(targets.filter(isSelected))) ?? new Map<string, string>();
  const index = new DeclarationLookup(targets);
  const results: SyncedSource[] = [];
  // A feed must not deny the people that a directory lists in the same sync.
  const ordered = [...targets].sort(
    (one, other) => Number(other.source.into === "vips") - Number(one.source.into === "vips"),
  );
  for (const target of ordered) {
    const proposedText = proposedTexts.get(target.file);
    const synced = isSelected(target)
      ? await syncSource(target, index, { ...options, readYaml, proposedText })
      : undefined;
    index.claim(target, synced?.values ?? listGeneratedValues(target));
    if (synced !== undefined) results.push(synced.result);
  }
  return results.sort((one, other) => (one.report.name < other.report.name ? -1 : 1));
}

function assertKnownSources(targets: readonly SourceTarget[], names: readonly string[] | undefined): void {
  const known = targets.map(({ name }) => name);
  if (known.length === 0) {
    throw new SourceError("No settings file declares a source. Declare one under `sources`.");
  }
  const unknown = names?.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const closest = findNearestName(unknown, known);
  const hint = closest === undefined ? `The sources are ${known.join(", ")}.` : `Did you mean ${closest}?`;
  throw new SourceError(`The source ${quote(unknown)} isn't declared. ${hint}`);
}

function listGeneratedValues({ file, tenants }: SourceTarget): string[] {
  return tenants.flatMap(({ entries, vips }) => [
    ...entries.filter(({ location }) => location.file === file).map(({ value }) => value),
    ...vips.filter(({ location }) => location.file === file).map(({ email }) => email),
  ]);
}

interface SyncOutcome {
  readonly result: SyncedSource;
  /** The values of the file after the sync. */
  readonly values: readonly string[];
}

interface RunOptions extends Omit<SyncOptions, "files" | "names" | "readProposedTexts"> {
  readonly readYaml: YamlReader;
  readonly proposedText: string | undefined;
}

async function syncSource(target: SourceTarget, index: DeclarationLookup, options: RunOptions): Promise<SyncOutcome> {
  let known: readonly SourceElement[] = [];
  try {
    const before = readGeneratedFile(target);
    const previous = before === undefined ? undefined : parseSourceFile(before, target, options.readYaml);
    known = previous?.elements ?? [];
    assertAllowFrom(target);
    const content = await readSourceItems(target.source, buildContext(target, previous?.record, options));
    assertCurrent(target, previous, content);
    const proposed = parseProposedFile(target, options);
    const merged = mergeContent(target, index, { previous, proposed, content, today: options.today });
    if (merged.blocker !== undefined) throw new SourceError(merged.blocker);
    const { proposedText, today } = options;
    return buildOutcome(target, { before, previous, proposed, proposedText, content, merged, today });
  } catch (error) {
    options.signal.throwIfAborted();
    if (!(error instanceof EmailSecurityError)) throw error;
    const { code, message } = error;
    return {
      result: {
        report: {
          ...buildEmptySourceReport(target),
          outcome: "blocked",
          problem: { code, message },
          elements: known.length,
        },
      },
      values: known.map(({ value }) => value),
    };
  }
}

/** A file that people broke on its branch is ignored: the host shows the conflict. */
function parseProposedFile(target: SourceTarget, { proposedText, readYaml }: RunOptions): PreviousFile {
  if (proposedText === undefined) return undefined;
  try {
    return parseSourceFile(proposedText, target, readYaml);
  } catch (error) {
    if (error instanceof SourceError) return undefined;
    throw error;
  }
}

function readGeneratedFile({ name, file, location }: SourceTarget): string | undefined {
  // A link in the repository must not let a sync write elsewhere.
  if (createOutsideRepositoryTest(location.file)(file)) {
    throw new SourceError(
      `The file ${quote(file, 300)} of the source ${name} is outside its repository. Remove the link.`,
    );
  }
  return existsSync(file) ? createFileReader(location.file)(file) : undefined;
}

function assertAllowFrom({ name, source, tenants }: SourceTarget): void {
  const tenant = tenants.find(({ policy }) => policy.allowFrom !== true);
  if (source.into !== "allow" || tenant === undefined) return;
  throw new SourceError(
    `The source ${name} adds allow entries, but the policy of ${quote(tenant.file, 300)} doesn't permit that. Write \`allowFrom: true\` under \`policy\` in the baseline if its owners agree, or \`into: deny\`.`,
  );
}

/** Conditional requests are valid only for the declaration that the file was made from: another one may select other items. */
function buildContext(
  { name, source, location }: SourceTarget,
  record: SourceRecord | undefined,
  { environment, signal, today }: RunOptions,
): SourceContext {
  const { etag, lastModified } = record ?? {};
  const isConditional = record?.declaration === hashDeclaration(source);
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

function hashDeclaration(source: SourceTarget["source"]): string {
  const { confirmRemovals: _confirmation, ...rest } = source;
  const pairs = Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash("sha256").update(JSON.stringify(pairs)).digest("hex").slice(0, 12);
}

type PreviousFile = ReturnType<typeof parseSourceFile> | undefined;

function assertCurrent(
  { name, file }: SourceTarget,
  previous: PreviousFile,
  content: SourceContent | "not-modified",
): void {
  if (content === "not-modified" || previous === undefined) return;
  for (const key of ["lastModified", "published"] as const) {
    const [before, now] = [previous.record[key], content[key]];
    if (before !== undefined && now !== undefined && Date.parse(now) < Date.parse(before)) {
      throw new SourceError(
        `The source ${name} is older than at the last sync: ${now}, and before ${before}. It may be a stale copy. Nothing was changed. Sync it again later. If it was reset on purpose, remove \`${key}\` from ${quote(file, 300)}.`,
      );
    }
  }
}

/** An answer without a valid value is rejected, because an error message would look as if all values had left. */
function assertNotEmpty(
  { name }: SourceTarget,
  previous: PreviousFile,
  { names, rejectedValues, skipped }: AssessedItems,
  skippedByReader: readonly SkippedItems[],
): void {
  const count = previous?.elements.filter(({ seen }) => seen?.last === undefined).length;
  if (names.size > 0 || rejectedValues.size > 0 || count === 0) return;
  const [example] = [...skippedByReader, ...skipped].flatMap(({ examples }) => examples);
  const problem =
    example === undefined ? "lists nothing" : `lists no valid value, only items such as ${quote(example)}`;
  const difference = count === undefined ? "" : `, but its file has ${formatCount(count, "element")}`;
  throw new SourceError(
    `The source ${name} ${problem}${difference}. Nothing was changed. Check its address and its declaration. If the source is discontinued, remove it, its file and its \`include\`.`,
  );
}

type AssessedMerge = MergeResult & Pick<SourceReport, "rejected" | "skipped">;

function mergeContent(
  target: SourceTarget,
  index: DeclarationLookup,
  {
    previous: previousFile,
    proposed,
    content,
    today,
  }: Pick<OutcomeParts, "previous" | "proposed" | "content" | "today">,
): AssessedMerge {
  const { name, source } = target;
  const { elements: previous = [], record } = previousFile ?? {};
  const isUnmodified = content === "not-modified";
  const items = isUnmodified ? previous.filter(({ seen }) => seen?.last === undefined) : content.items;
  const accepted = new Set(
    previous.filter(({ fields }) => fields["acceptRisk"] !== undefined).map(({ value }) => value),
  );
  const hasHosts = isFeed(source) && source.hosts === true;
  const vips = index.listVips(target);
  const assessed = assessItems(items, source.into, hasHosts, {
    ownDomains: collectOwnDomains(target),
    vips,
    vipDomains: collectMailboxDomains(vips),
    findDeclaration: index.createLookup(target),
    isAccepted: (value) => accepted.has(value),
  });
  const { names, rejectedValues, rejected, skipped } = assessed;
  if (!isUnmodified) assertNotEmpty(target, previousFile, assessed, content.skipped);
  const max = source.max ?? DEFAULT_MAX_ITEMS;
  if (names.size > max) {
    throw new SourceError(
      `The source ${name} lists ${names.size} items, which is more than its maximum of ${max}. Nothing was changed. If it has grown as expected, set \`max\` in the source.`,
    );
  }
  const merged = mergeSource({
    source,
    name,
    previous,
    ...(proposed === undefined
      ? {}
      : { proposed: new Map(proposed.elements.map((element) => [element.value, element])) }),
    lastSync: record?.synced,
    present: names,
    hasNames: !isUnmodified,
    isRejected: (value) => rejectedValues.has(value),
    today,
  });
  return { ...merged, rejected, skipped: [...(isUnmodified ? [] : content.skipped), ...skipped] };
}

interface OutcomeParts {
  readonly before: string | undefined;
  readonly previous: PreviousFile;
  readonly proposed: PreviousFile;
  readonly proposedText: string | undefined;
  readonly content: SourceContent | "not-modified";
  readonly merged: AssessedMerge;
  readonly today: string;
}

function buildOutcome(target: SourceTarget, parts: OutcomeParts): SyncOutcome {
  const { before, previous, proposed, proposedText, content, merged, today } = parts;
  const { source, name } = target;
  const { elements, blocker: _blocker, ...changes } = merged;
  const keepsVips = source.into === "vips" && !isExcluding(target);
  const format = (record: SourceRecord): string =>
    formatSourceFile({ record, section: source.into, elements, keepsVips });
  const versions = content === "not-modified" ? (previous?.record ?? {}) : content;
  const { etag, lastModified, published } = versions as Partial<SourceContent>;
  const record: SourceRecord = {
    name,
    kind: source.kind,
    synced: today,
    declaration: hashDeclaration(source),
    ...omitUndefined({
      etag: etag !== undefined && isPrintable(etag) && etag.length <= 200 ? etag : undefined,
      lastModified,
      published,
    }),
  };
  // Without a change, even the date of the sync stays, so that a quiet source causes no pull request.
  const isUnchanged = previous !== undefined && format({ ...previous.record, name, kind: source.kind }) === before;
  const report: SourceReport = {
    ...buildEmptySourceReport(target),
    ...changes,
    outcome: isUnchanged ? "unchanged" : "changed",
    elements: elements.length,
    notes: listNotes(target, merged, keepsVips),
  };
  const isProposed = proposed !== undefined && format({ ...proposed.record, name, kind: source.kind }) === proposedText;
  const after = isProposed ? proposedText : format(record);
  const change: ChangedFile = {
    file: target.file,
    before: before ?? "",
    after,
    ...(before === undefined ? { action: "create" } : {}),
  };
  const result = isUnchanged ? { report, text: before } : { report, text: after, change };
  return { result, values: elements.map(({ value }) => value) };
}

/** Whether leaving the source excludes a VIP permanently. */
function isExcluding({ source, tenants }: SourceTarget): boolean {
  return "onDelete" in source && source.onDelete !== undefined
    ? source.onDelete === "exclude"
    : tenants.some(({ lists }) => lists.vips?.onDelete === "exclude");
}

function listNotes(target: SourceTarget, { added, removed }: MergeResult, keepsVips: boolean): string[] {
  const { name, source, tenants, file } = target;
  const notes: string[] = [];
  if (source.into === "vips" && removed.length > 0) {
    notes.push(
      keepsVips
        ? "A removed VIP is only forgotten (onDelete: keep): the mailbox stays a VIP at the tenant until somebody removes it there."
        : "A removed VIP is excluded permanently (onDelete: exclude): the service's automatic detection never makes the mailbox a VIP again.",
    );
  }
  const ownDomains = collectOwnDomains(target);
  // The service rejects them, but has no request that only asks.
  const externalMailboxes =
    source.into === "vips" && ownDomains.names.length > 0
      ? added.filter((email) => ownDomains.findOwnDomain(getMailDomain(email)) === undefined)
      : [];
  if (externalMailboxes.length > 0) {
    notes.push(
      `Not a mailbox of your own domains, so the service may reject it as not in the organization: ${formatFirstItems(externalMailboxes, String)}.`,
    );
  }
  if (tenants.some(({ files }) => !files.includes(file))) {
    notes.push(`The file has no effect yet: add sources/${name}.yaml to \`include\` in ${target.location.file}.`);
  }
  return notes;
}

function buildEmptySourceReport({ name, source, file, location }: SourceTarget): SourceReport {
  return {
    name,
    kind: source.kind,
    into: source.into,
    file,
    declaredIn: location.file,
    line: location.line,
    outcome: "unchanged",
    elements: 0,
    added: [],
    departed: [],
    returned: [],
    removed: [],
    renewed: 0,
    rejected: [],
    skipped: [],
    notes: [],
  };
}

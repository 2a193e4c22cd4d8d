import { createHash } from "node:crypto";
import { EmailSecurityError } from "../model/email-security-error";
import { getMailDomain } from "../model/entry-value";
import { findNearestName } from "../model/nearest-name";
import { omitUndefined } from "../model/omit-undefined";
import { formatFirstItems, isPrintable, quote } from "../model/text";
import { formatCount } from "../render/safe-text";
import type { ChangedFile } from "../settings-files/edit-files";
import { readTopLevelSettings } from "../settings-files/settings-contexts";
import { DEFAULT_MAX_ITEMS, isFeed, type SourceRecord } from "../settings-files/source-schema";
import { createCachingYamlReader, type YamlReader } from "../settings-files/yaml-source";
import { type AssessedItems, assessItems } from "./assess-items";
import { type MergeResult, mergeSource } from "./merge-source";
import {
  type GeneratedFileReading,
  listGeneratedValues,
  type PreviousFile,
  readGeneratedFile,
} from "./read-generated-file";
import { readSourceItems } from "./read-source-items";
import { type SkippedItems, type SourceContent, type SourceContext, SourceError } from "./source-content";
import { formatSourceFile, parseSourceFile } from "./source-file";
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
  const results: SyncedSource[] = [];
  // A feed must not deny the people that a directory lists in the same sync.
  const ordered = [...targets].sort((a, b) => Number(b.source.into === "vips") - Number(a.source.into === "vips"));
  const readings = new Map(ordered.map((target) => [target, readGeneratedFile(target, readYaml)]));
  const index = new DeclarationLookup(
    new Map([...readings].map(([target, reading]) => [target, listGeneratedValues(target, reading)])),
  );
  for (const [target, reading] of readings) {
    const proposedText = proposedTexts.get(target.file);
    const synced = isSelected(target)
      ? await syncSource(target, reading, index, { ...options, readYaml, proposedText })
      : undefined;
    index.claim(target, synced?.values ?? listGeneratedValues(target, reading));
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

interface SyncOutcome {
  readonly result: SyncedSource;
  /** The values of the file after the sync. */
  readonly values: readonly string[];
}

interface RunOptions extends Omit<SyncOptions, "files" | "names" | "readProposedTexts"> {
  readonly readYaml: YamlReader;
  readonly proposedText: string | undefined;
}

async function syncSource(
  target: SourceTarget,
  reading: GeneratedFileReading,
  index: DeclarationLookup,
  options: RunOptions,
): Promise<SyncOutcome> {
  try {
    if (reading.error !== undefined) throw reading.error;
    const { before, previous } = reading;
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
    const values = listGeneratedValues(target, reading);
    return {
      result: {
        report: {
          ...buildEmptySourceReport(target),
          outcome: "blocked",
          problem: { code, message },
          elements: values.length,
        },
      },
      values,
    };
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

type AssessedMerge = MergeResult &
  Pick<SourceReport, "rejected" | "skipped"> &
  Pick<AssessedItems, "dependsOnSettings">;

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
  const { elements: previous = [], section: previousSection, record } = previousFile ?? {};
  const isUnmodified = content === "not-modified";
  const items = isUnmodified ? previous.filter(({ seen }) => seen?.last === undefined) : content.items;
  // The risk of a deny isn't that of an allow.
  const accepted = new Set(
    previous
      .filter(({ fields }) => fields["acceptRisk"] !== undefined && previousSection === source.into)
      .map(({ value }) => value),
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
  const { names, rejectedValues, dependsOnSettings, rejected, skipped } = assessed;
  if (!isUnmodified) assertNotEmpty(target, previousFile, assessed, content.skipped);
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
    today,
  });
  return { ...merged, dependsOnSettings, rejected, skipped: [...(isUnmodified ? [] : content.skipped), ...skipped] };
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
  const { elements, blocker: _blocker, dependsOnSettings, ...changes } = merged;
  const format = (record: SourceRecord): string => formatSourceFile({ record, section: source.into, elements });
  const isRepeatable = !dependsOnSettings && (content === "not-modified" || content.dependsOnDay !== true);
  const versions = content === "not-modified" ? (previous?.record ?? {}) : content;
  const { etag, lastModified, published } = versions as Partial<SourceContent>;
  const record: SourceRecord = {
    name,
    kind: source.kind,
    synced: today,
    ...omitUndefined({
      // Without it, the next sync reads the source in full, even if its content is the same.
      declaration: isRepeatable ? hashDeclaration(source) : undefined,
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
    notes: listNotes(target, merged),
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

function listNotes(target: SourceTarget, { added, removed }: MergeResult): string[] {
  const { name, source, tenants, file } = target;
  const notes: string[] = [];
  const excludingTenants = tenants.filter(({ lists }) => lists.vips?.onDelete !== "keep");
  const isExcluding = excludingTenants.length > 0;
  if (source.into === "vips" && removed.length > 0) {
    notes.push(
      isExcluding
        ? "A removed VIP is excluded permanently (onDelete: exclude): the service's automatic detection never makes the mailbox a VIP again."
        : "A removed VIP is only forgotten (onDelete: keep): the mailbox stays a VIP at the tenant until somebody removes it there.",
    );
  }
  if ("onDelete" in source && source.onDelete !== undefined) {
    const effective = isExcluding ? "exclude" : "keep";
    const [tenant = tenants[0]] = excludingTenants;
    if (source.onDelete !== effective) {
      notes.push(
        `\`onDelete: ${source.onDelete}\` of the source has no effect: all VIPs of ${quote(tenant?.file, 300)} have ${effective}, by \`lists.vips\`, its mode, or another source.`,
      );
    }
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

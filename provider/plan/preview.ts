import { z } from "zod";
import { completeAllowDenyEntry } from "../model/arguments";
import { type EncodedList, encodeEntry, encodeEntryKey, encodeVip, encodeVipKey } from "../model/encoded-list";
import { getDetailValues, pickEntryState } from "../model/entry-fields";
import { getDetailTexts } from "../model/entry-state-text";
import { canonicalizeMailbox, canonicalizeValue } from "../model/entry-value";
import { omitUndefined } from "../model/omit-undefined";
import { quote, sanitizeMultiline } from "../model/text";
import { isDefaultProvider } from "../resources/configuration";
import { getUrnName, getUrnType, parseResourceKind, type ResourceKind } from "../resources/resource-type";
import type { FileLocation } from "../settings-files/finding";
import type { DesiredList, DesiredState } from "./desired-state";
import type { PlanBlocker } from "./plan";
import type { PlanBlockerCode } from "./plan-codes";
import { PulumiError, parsePulumiJson, stripAnsi } from "./pulumi-cli";
import { isEncodedList } from "./stack-lists";

const propertiesSchema = z.record(z.string(), z.unknown());

const resourceStateSchema = z.object({
  type: z.string(),
  inputs: propertiesSchema.optional(),
  outputs: propertiesSchema.optional(),
  provider: z.string().optional(),
  sourcePosition: z.string().optional(),
});

const previewSchema = z.object({
  steps: z.array(
    z.object({
      op: z.string(),
      urn: z.string(),
      oldState: resourceStateSchema.optional(),
      newState: resourceStateSchema.optional(),
    }),
  ),
  diagnostics: z.array(z.object({ urn: z.string().optional(), severity: z.string(), message: z.string() })).nullish(),
});

type PreviewResource = z.infer<typeof resourceStateSchema>;

export interface PreviewedProgram {
  readonly desired: DesiredState;
  readonly blockers: readonly PlanBlocker[];
}

/**
 * Reads the JSON of `pulumi preview --json --show-sames`: the desired state of one tenant in any program, and the content of the state.
 *
 * @param provider the name of the tenant's `Provider`. Default: the provider of the environment.
 * @throws {PulumiError} (`ERR_PULUMI`) if the text isn't a valid preview, the program failed, or a value is secret or unknown.
 */
export function readPreview(text: string, ownDomains: readonly string[], provider?: string): PreviewedProgram {
  if (text.trimStart().startsWith('{"sequence"')) {
    throw new PulumiError("The preview is a stream of events. Create it without PULUMI_ENABLE_STREAMING_JSON_PREVIEW.");
  }
  const parsed = previewSchema.safeParse(parsePulumiJson(text, "The preview"));
  if (!parsed.success) {
    throw new PulumiError("The preview has an unknown format. Create it with `pulumi preview --json --show-sames`.");
  }
  const { steps, diagnostics } = parsed.data;
  const blockers: PlanBlocker[] = [];
  for (const { severity, urn, message } of diagnostics ?? []) {
    if (severity !== "error") continue;
    const errorText = sanitizeMultiline(stripAnsi(message))
      .replace(/^error: /, "")
      .trim();
    if (urn === undefined || parseResourceKind(getUrnType(urn)) === undefined)
      throw new PulumiError(`The preview failed: ${errorText}`);
    blockers.push({ code: "preview" satisfies PlanBlockerCode, message: errorText });
  }
  // A refresh precedes the actual step, so the last step of a resource counts.
  const lastSteps = new Map(steps.filter(({ op }) => op !== "refresh").map((step) => [step.urn, step]));
  const lists = [...lastSteps.values()].flatMap(({ urn, oldState, newState }) => {
    const kind = parseResourceKind((newState ?? oldState)?.type ?? "");
    const belongsToProvider = getProviderName(newState ?? oldState) === (provider ?? "default");
    return kind === undefined || !belongsToProvider
      ? []
      : [buildDesiredList(kind, getUrnName(urn), newState, oldState)];
  });
  const nonEmptyLists = lists.filter(({ declared }) => Object.keys(declared).length > 0);
  if (blockers.length === 0 && nonEmptyLists.length === 0 && lists.length === 0 && steps.length > 0) {
    const hasOtherResource = [...lastSteps.values()].some(
      ({ newState, oldState }) => parseResourceKind((newState ?? oldState)?.type ?? "") !== undefined,
    );
    if (hasOtherResource)
      throw new PulumiError(
        `No resource of the preview belongs to ${provider === undefined ? "the tenant of the environment; specify the Provider with --provider" : `the Provider ${quote(provider)}`}.`,
      );
  }
  return {
    desired: {
      lists,
      expired: [],
      findings: [],
      ownDomains,
      tenantDomains: ownDomains,
      rules: collectOptions(lists),
    },
    blockers,
  };
}

function collectOptions(lists: readonly DesiredList[]): Record<string, unknown> {
  return Object.fromEntries(
    lists.flatMap(({ kind, resource, options }) =>
      Object.entries(options).map(([name, value]) => [`${kind} ${resource}.${name}`, value]),
    ),
  );
}

function buildDesiredList(
  kind: ResourceKind,
  resource: string,
  after: PreviewResource | undefined,
  before: PreviewResource | undefined,
): DesiredList {
  const isEntry = kind === "AllowDenyList" || kind === "AllowDenyEntry";
  const isList = kind === "AllowDenyList" || kind === "VipList";
  const property = isEntry ? "entries" : "members";
  const readContent = (item: Record<string, unknown> | undefined): EncodedList => {
    if (item === undefined) return {};
    if (!isList) return isEntry ? buildEntryContent(item, resource) : buildVipContent(item, resource);
    const keyed = item[property] ?? {};
    if (isEncodedList(keyed) && Object.values(keyed).every(isKnownText)) return keyed;
    throw createUnknownValueError(`${property} of ${quote(resource)}`);
  };
  const { entries: _entries, members: _members, __provider, ...options } = after?.inputs ?? {};
  const confirmedRemovals = before?.inputs?.["confirmRemovals"];
  const { people: fingerprint, ...lastOptions } = before?.outputs ?? {};
  const location = parseSourcePosition(after?.sourcePosition ?? before?.sourcePosition);
  return {
    kind: isEntry ? "entry" : "vip",
    resource,
    isWholeList: isList && after !== undefined,
    declared: readContent(after?.inputs),
    stackContent: readContent(before?.outputs ?? before?.inputs),
    isNew: before === undefined,
    ...(before?.outputs === undefined ? {} : { lastOptions }),
    ...(typeof confirmedRemovals === "number" ? { lastConfirmedRemovals: confirmedRemovals } : {}),
    ...(typeof fingerprint === "string" ? { fingerprint } : {}),
    // For a deleted resource, its last arguments determine what the deletion does.
    options: isList
      ? after === undefined
        ? omitUndefined({ onDelete: before?.inputs?.["onDelete"] })
        : options
      : omitUndefined({ adopt: options["adopt"], onDelete: (after ?? before)?.inputs?.["onDelete"] }),
    declarations: new Map(),
    ...omitUndefined({ location }),
  };
}

function buildEntryContent(item: Record<string, unknown>, resource: string): EncodedList {
  const entry = completeAllowDenyEntry(item);
  const { list, value, entryType, verdictScope } = entry;
  if (![list, value, entryType, verdictScope, ...getDetailTexts(entry).map(([, text]) => text)].every(isKnownText))
    throw createUnknownValueError(quote(resource));
  const key = encodeEntryKey({ value: canonicalizeValue(value), entryType, verdictScope });
  return { [key]: encodeEntry(entry) };
}

function buildVipContent(vip: Record<string, unknown>, resource: string): EncodedList {
  const { email } = vip;
  const details = Object.values(getDetailValues(vip)).map((value) => value ?? "");
  if (![email, ...details].every(isKnownText)) throw createUnknownValueError(quote(resource));
  return { [encodeVipKey(canonicalizeMailbox(email as string))]: encodeVip(pickEntryState(vip)) };
}

/** Returns whether a value is known: the engine replaces secret and unknown values by these placeholders. */
function isKnownText(value: unknown): boolean {
  return typeof value === "string" && value !== "[secret]" && value !== "04da6b54-80e4-46f7-96ec-b56ff0331ba9";
}

function createUnknownValueError(label: string): PulumiError {
  return new PulumiError(
    `${label}: it isn't in the preview, because it is secret or comes from a resource that doesn't exist yet, so it can't be reviewed.`,
  );
}

/** Parses `project:///index.ts#3,1`. */
function parseSourcePosition(position: string | undefined): FileLocation | undefined {
  const [, file, line, column] = /^project:\/\/\/([^#]+)#(\d+),(\d+)$/.exec(position ?? "") ?? [];
  return file === undefined ? undefined : { file: decodeURI(file), line: Number(line), column: Number(column) };
}

function getProviderName(item: PreviewResource | undefined): string {
  // A provider reference consists of URN and id.
  const [, reference] = /^(.*)::[^:]*$/s.exec(item?.provider ?? "") ?? [];
  const name = reference === undefined ? "default" : getUrnName(reference);
  return isDefaultProvider(name) ? "default" : name;
}

import { z } from "zod";
import type { Place } from "../files/finding";
import { isDefaultProvider } from "../resources/configuration";
import { nameInUrn, type ResourceKind, resourceKind, typeInUrn } from "../resources/resource-type";
import { completeAllowDenyEntry } from "../settings/arguments";
import { canonicalMailbox, canonicalValue } from "../settings/entry-value";
import { type KeyedList, keyOfEntry, keyOfVip, textOfEntry, textOfVip } from "../settings/keyed-list";
import { detailsOf } from "../settings/standing-text";
import { harmless, quote } from "../settings/text";
import { withoutUndefined } from "../settings/without-undefined";
import type { Desired, DesiredList } from "./desired";
import type { Guard } from "./plan";
import { jsonOf, PulumiError, withoutColour } from "./pulumi";
import { isKeyed } from "./stack-state";

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

type ResourceState = z.infer<typeof resourceStateSchema>;

/** The desired state of a previewed program, and the engine's reasons to refuse it. */
export interface PreviewedProgram {
  readonly desired: Desired;
  readonly guards: readonly Guard[];
}

/**
 * Reads the JSON of `pulumi preview --json --show-sames`: the desired state of one tenant in any program, and the content of the state.
 *
 * @param provider the name of the tenant's `Provider`. Default: the provider of the environment.
 * @throws {PulumiError} (`ERR_PULUMI`) if the text isn't a valid preview, the program failed, or a value is secret or unknown.
 */
export function readPreview(text: string, ownDomains: readonly string[], provider?: string): PreviewedProgram {
  if (text.trimStart().startsWith('{"sequence"')) {
    throw new PulumiError("The preview is a stream of events; make it without PULUMI_ENABLE_STREAMING_JSON_PREVIEW.");
  }
  const parsed = previewSchema.safeParse(jsonOf(text, "The preview"));
  if (!parsed.success) {
    throw new PulumiError(
      "The preview has another form than is known; make it with `pulumi preview --json --show-sames`.",
    );
  }
  const { steps, diagnostics } = parsed.data;
  const blockers: Guard[] = [];
  for (const { severity, urn, message } of diagnostics ?? []) {
    if (severity !== "error") continue;
    const errorText = harmless(withoutColour(message))
      .replace(/^error: /, "")
      .trim();
    if (urn === undefined || resourceKind(typeInUrn(urn)) === undefined)
      throw new PulumiError(`The preview failed: ${errorText}`);
    blockers.push({ code: "preview", message: errorText });
  }
  // A refresh precedes the actual step, so the last step of a resource counts.
  const lastSteps = new Map(steps.filter(({ op }) => op !== "refresh").map((step) => [step.urn, step]));
  const lists = [...lastSteps.values()].flatMap(({ urn, oldState, newState }) => {
    const kind = resourceKind((newState ?? oldState)?.type ?? "");
    const belongsToProvider = getProviderName(newState ?? oldState) === (provider ?? "default");
    return kind === undefined || !belongsToProvider ? [] : [buildDesiredList(kind, nameInUrn(urn), newState, oldState)];
  });
  const nonEmptyLists = lists.filter(({ declared }) => Object.keys(declared).length > 0);
  if (blockers.length === 0 && nonEmptyLists.length === 0 && lists.length === 0 && steps.length > 0) {
    const hasOtherResource = [...lastSteps.values()].some(
      ({ newState, oldState }) => resourceKind((newState ?? oldState)?.type ?? "") !== undefined,
    );
    if (hasOtherResource)
      throw new PulumiError(
        `No resource of the preview belongs to ${provider === undefined ? "the tenant of the environment; say which Provider is meant with --provider" : `the Provider ${quote(provider)}`}.`,
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
    guards: blockers,
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
  after: ResourceState | undefined,
  before: ResourceState | undefined,
): DesiredList {
  const isEntry = kind === "AllowDenyList" || kind === "AllowDenyEntry";
  const isList = kind === "AllowDenyList" || kind === "VipList";
  const property = isEntry ? "entries" : "members";
  const readContent = (one: Record<string, unknown> | undefined): KeyedList => {
    if (one === undefined) return {};
    if (!isList) return isEntry ? buildEntryContent(one, resource) : buildVipContent(one, resource);
    const keyed = one[property] ?? {};
    if (isKeyed(keyed) && Object.values(keyed).every(isKnownText)) return keyed;
    throw createUnknownValueError(`${property} of ${quote(resource)}`);
  };
  const { entries: _entries, members: _members, __provider, ...options } = after?.inputs ?? {};
  const confirmedRemovals = before?.inputs?.["confirmRemovals"];
  const { people: fingerprint, ...optionsBefore } = before?.outputs ?? {};
  const location = parseSourcePosition(after?.sourcePosition ?? before?.sourcePosition);
  return {
    kind: isEntry ? "entry" : "vip",
    resource,
    isWhole: isList && after !== undefined,
    declared: readContent(after?.inputs),
    known: readContent(before?.outputs ?? before?.inputs),
    isNew: before === undefined,
    ...(before?.outputs === undefined ? {} : { optionsBefore }),
    ...(typeof confirmedRemovals === "number" ? { confirmedBefore: confirmedRemovals } : {}),
    ...(typeof fingerprint === "string" ? { fingerprint } : {}),
    // For a deleted resource, its last arguments determine what the deletion does.
    options: isList
      ? after === undefined
        ? withoutUndefined({ onDelete: before?.inputs?.["onDelete"] })
        : options
      : withoutUndefined({ adopt: options["adopt"], onDelete: (after ?? before)?.inputs?.["onDelete"] }),
    about: new Map(),
    ...withoutUndefined({ place: location }),
  };
}

function buildEntryContent(one: Record<string, unknown>, resource: string): KeyedList {
  const entry = completeAllowDenyEntry(one);
  const { list, value, entryType, verdictScope } = entry;
  if (![list, value, entryType, verdictScope, ...detailsOf(entry).map(([, text]) => text)].every(isKnownText))
    throw createUnknownValueError(quote(resource));
  const key = keyOfEntry({ value: canonicalValue(value), entryType, verdictScope });
  return { [key]: textOfEntry(entry) };
}

function buildVipContent({ email, comment }: Record<string, unknown>, resource: string): KeyedList {
  if (!isKnownText(email) || !isKnownText(comment ?? "")) throw createUnknownValueError(quote(resource));
  const text = textOfVip({ comment: (comment ?? "") as string });
  return { [keyOfVip(canonicalMailbox(email as string))]: text };
}

/** Returns whether a value is known: the engine replaces secret and unknown values by these placeholders. */
function isKnownText(value: unknown): boolean {
  return typeof value === "string" && value !== "[secret]" && value !== "04da6b54-80e4-46f7-96ec-b56ff0331ba9";
}

function createUnknownValueError(label: string): PulumiError {
  return new PulumiError(
    `${label}: the preview does not tell it, since it is secret or comes from something that does not exist yet; so it can't be reviewed.`,
  );
}

/** Parses `project:///index.ts#3,1`. */
function parseSourcePosition(position: string | undefined): Place | undefined {
  const [, file, line, column] = /^project:\/\/\/([^#]+)#(\d+),(\d+)$/.exec(position ?? "") ?? [];
  return file === undefined ? undefined : { file: decodeURI(file), line: Number(line), column: Number(column) };
}

/** Returns the name of the provider instance of a resource. */
function getProviderName(one: ResourceState | undefined): string {
  // A provider reference consists of URN and id.
  const [, reference] = /^(.*)::[^:]*$/s.exec(one?.provider ?? "") ?? [];
  const name = reference === undefined ? "default" : nameInUrn(reference);
  return isDefaultProvider(name) ? "default" : name;
}

import type { EncodedList } from "../model/encoded-list";
import type { ListKind } from "../model/list-arguments";
import { ENTRY_LIST_KIND, VIP_LIST_KIND } from "../model/list-arguments";
import { hashJson } from "../model/plan-digest";
import { METADATA_FIELD_NAMES } from "../settings-files/element-fields";
import type { FileLocation, Finding } from "../settings-files/finding";
import type { DeclaredEntry, DeclaredVip, Settings } from "../settings-files/settings-model";

export interface DesiredState
  extends Pick<Settings, "expired" | "findings" | "ownDomains" | "tenantDomains" | "rules"> {
  readonly lists: readonly DesiredList[];
}

export interface DesiredList {
  readonly kind: "entry" | "vip";
  readonly resource: string;
  /** Whether it is a whole list, to which the removal guards apply; otherwise a single resource. */
  readonly isWholeList: boolean;
  readonly declared: EncodedList;
  /** The content in the stack's state; undefined if no state was read. */
  readonly stackContent: EncodedList | undefined;
  /** Whether the stack has no such resource yet. Its first run removes only what a preview has shown. */
  readonly isNew: boolean;
  /** The `confirmRemovals` of the last run, which was valid for that run only. */
  readonly lastConfirmedRemovals?: number;
  /** The options in the state, which a refresh uses. Default: `options`. */
  readonly lastOptions?: Readonly<Record<string, unknown>>;
  /** The fingerprint of the tenant's mailboxes in the state. */
  readonly fingerprint?: string;
  /** The list options: mode, ignore, protect, limits, adopt, onDelete. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly declarations: ReadonlyMap<string, DeclaredEntry | DeclaredVip>;
  /** The section of the settings file that holds its options; only for settings files. */
  readonly section?: "entries" | "vips";
  /** The location of the resource; only for programs. */
  readonly location?: FileLocation;
}

export interface StackLists {
  readonly entries: StackList;
  readonly vips: StackList;
}

export interface StackList {
  readonly content: EncodedList;
  /** The URN in the stack; undefined if it has no such list. */
  readonly urn?: string;
  /** Whether the stack has the list. Default: true. */
  readonly exists?: boolean;
  readonly lastConfirmedRemovals?: number;
  /** The options of the last run: mode, ignore. Default: the current ones. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** A salted fingerprint of the tenant's mailbox domains, taken by the last run. */
  readonly fingerprint?: string;
}

/**
 * Builds the desired state from settings files.
 *
 * @param known the content in the stack's state; undefined if it was not read.
 * @param findings the lint findings. Default: those from reading the files.
 */
export function buildDesiredState(
  settings: Settings,
  known: StackLists | undefined,
  findings: readonly Finding[] = settings.findings,
): DesiredState {
  const buildList = (
    kind: "entry" | "vip",
    name: "entries" | "vips",
    declared: readonly (DeclaredEntry | DeclaredVip)[],
  ): DesiredList => {
    const knownList = known?.[name];
    return {
      kind,
      resource: name,
      isWholeList: true,
      declared: Object.fromEntries(listKeyTexts(declared)),
      stackContent: knownList?.content,
      isNew: knownList?.exists === false,
      ...(knownList?.lastConfirmedRemovals === undefined
        ? {}
        : { lastConfirmedRemovals: knownList.lastConfirmedRemovals }),
      ...(knownList?.options === undefined ? {} : { lastOptions: knownList.options }),
      ...(knownList?.fingerprint === undefined ? {} : { fingerprint: knownList.fingerprint }),
      options: settings.lists[name] ?? {},
      section: name,
      declarations: indexDeclarations(declared),
    };
  };
  return {
    lists: [buildList("entry", "entries", settings.entries), buildList("vip", "vips", settings.vips)],
    expired: settings.expired,
    findings,
    ownDomains: settings.ownDomains,
    tenantDomains: settings.tenantDomains,
    rules: settings.rules,
  };
}

function* listKeyTexts(declared: readonly (DeclaredEntry | DeclaredVip)[]): Generator<readonly [string, string]> {
  for (const { key, text } of declared) yield [key, text];
}

function indexDeclarations(declared: readonly (DeclaredEntry | DeclaredVip)[]): DesiredList["declarations"] {
  const declarations = new Map<string, DeclaredEntry | DeclaredVip>();
  for (const item of declared) declarations.set(item.key, item);
  return declarations;
}

export function getListKind({ kind }: Pick<DesiredList, "kind">): ListKind {
  return kind === "entry" ? ENTRY_LIST_KIND : VIP_LIST_KIND;
}

export function hashDesiredState({ lists, rules, expired }: DesiredState): string {
  // The engine reports the resources of a program in any order.
  const declared = lists.map((list) => JSON.stringify(buildDigestParts(list))).sort();
  const expiredTexts = expired.map((item) =>
    JSON.stringify([item.kind, item.key, item.expires, item.kind === "entry" ? item.acceptRisk : undefined]),
  );
  return hashJson([declared, sortEntries(rules), expiredTexts.sort()]);
}

function buildDigestParts({ kind, resource, options, declared, declarations }: DesiredList): unknown {
  const metadata = Array.from(
    declarations,
    ([key, item]) => [key, METADATA_FIELD_NAMES.map((name) => item[name])] as const,
  );
  return [kind, resource, sortEntries(options), sortEntries(declared), sortPairs(metadata)];
}

function sortEntries(object: object): unknown[] {
  return sortPairs(Object.entries(object));
}

function sortPairs<Pair extends readonly [string, unknown]>(pairs: Pair[]): Pair[] {
  return pairs.sort((a, b) => (a[0] < b[0] ? -1 : 1));
}

import { SAID_FIELD_NAMES } from "../files/element-fields";
import type { Finding, Place } from "../files/finding";
import type { DeclaredEntry, DeclaredVip, Settings } from "../files/settings";
import type { KeyedList } from "../settings/keyed-list";
import type { ListKind } from "../settings/list-arguments";
import { ENTRIES, MEMBERS } from "../settings/list-arguments";
import { hashOf } from "../settings/plan-digest";

/** What a plan compares with the tenant: all lists that files or a program declare. */
export interface Desired {
  readonly lists: readonly DesiredList[];
  readonly expired: readonly (DeclaredEntry | DeclaredVip)[];
  readonly findings: readonly Finding[];
  readonly ownDomains: readonly string[];
  /** By which the tenant is told from another. */
  readonly tenantDomains: readonly string[];
  /** What files say for all that they declare, by its path. */
  readonly rules: Readonly<Record<string, unknown>>;
}

/** One list, or one single resource, as it is declared. */
export interface DesiredList {
  readonly kind: "entry" | "vip";
  /** The name of the resource. */
  readonly resource: string;
  /** Whether it is a whole list, whose guards count; else a single resource. */
  readonly isWhole: boolean;
  readonly declared: KeyedList;
  /** What the stack's state holds of it; undefined where no state was read. */
  readonly known: KeyedList | undefined;
  /** Whether the stack has no such resource yet: its first run removes nothing that no preview has shown. */
  readonly isNew: boolean;
  /** The `confirmRemovals` of the last run: it was good for that run only. */
  readonly confirmedBefore?: number;
  /** The same that the state holds, which a refresh goes by. Default: the options. */
  readonly optionsBefore?: Readonly<Record<string, unknown>>;
  /** The fingerprint of the tenant's people that the state holds. */
  readonly fingerprint?: string;
  /** As the list takes them: mode, ignore, protect, limits, adopt, onDelete. */
  readonly options: Readonly<Record<string, unknown>>;
  /** What the files say of each key. */
  readonly about: ReadonlyMap<string, DeclaredEntry | DeclaredVip>;
  /** What its options stand under in the settings files, of which it is. */
  readonly section?: "entries" | "vips";
  /** Where the resource is declared, of a program. */
  readonly place?: Place;
}

/** What the state of a stack holds of the two lists of its settings files. */
export interface KnownLists {
  readonly entries: KnownList;
  readonly vips: KnownList;
}

export interface KnownList {
  readonly content: KeyedList;
  /** What the stack calls it; undefined where it has no such list. */
  readonly urn?: string;
  /** Whether the stack has the list at all. Default: true. */
  readonly isThere?: boolean;
  readonly confirmedBefore?: number;
  /** The options of the last run: mode, ignore. Default: what they are now. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** A salted fingerprint of the domains of the tenant's people, as the last run saw them. */
  readonly fingerprint?: string;
}

/**
 * The two lists of settings files.
 *
 * @param known what the stack's state holds of them; undefined where it was not read.
 * @param findings what lint says of the files. Default: what reading them found.
 */
export function desiredOf(
  settings: Settings,
  known: KnownLists | undefined,
  findings: readonly Finding[] = settings.findings,
): Desired {
  const list = (
    kind: "entry" | "vip",
    name: "entries" | "vips",
    declared: readonly (DeclaredEntry | DeclaredVip)[],
  ): DesiredList => {
    const before = known?.[name];
    return {
      kind,
      resource: name,
      isWhole: true,
      declared: Object.fromEntries(textsOf(declared)),
      known: before?.content,
      isNew: before?.isThere === false,
      ...(before?.confirmedBefore === undefined ? {} : { confirmedBefore: before.confirmedBefore }),
      ...(before?.options === undefined ? {} : { optionsBefore: before.options }),
      ...(before?.fingerprint === undefined ? {} : { fingerprint: before.fingerprint }),
      options: settings.lists[name] ?? {},
      section: name,
      about: aboutOf(declared),
    };
  };
  return {
    lists: [list("entry", "entries", settings.entries), list("vip", "vips", settings.vips)],
    expired: settings.expired,
    findings,
    ownDomains: settings.ownDomains,
    tenantDomains: settings.tenantDomains,
    rules: settings.rules,
  };
}

function* textsOf(declared: readonly (DeclaredEntry | DeclaredVip)[]): Generator<readonly [string, string]> {
  for (const { key, text } of declared) yield [key, text];
}

function aboutOf(declared: readonly (DeclaredEntry | DeclaredVip)[]): DesiredList["about"] {
  const about = new Map<string, DeclaredEntry | DeclaredVip>();
  for (const one of declared) about.set(one.key, one);
  return about;
}

/** What kind of list it is, for the rules that all lists share. */
export function kindOf({ kind }: Pick<DesiredList, "kind">): ListKind {
  return kind === "entry" ? ENTRIES : MEMBERS;
}

/** The hash of all that is declared and said beside it, as it stands in a plan's digest. */
export function hashOfDesired({ lists, rules, expired }: Desired): string {
  // The engine tells the resources of a program in any order.
  const declared = lists.map((list) => JSON.stringify(declaration(list))).sort();
  const ended = expired.map((one) =>
    JSON.stringify([one.kind, one.key, one.expires, one.kind === "entry" ? one.acceptRisk : undefined]),
  );
  return hashOf([declared, sorted(rules), ended.sort()]);
}

/** All that is declared of a list, for the digest. */
function declaration({ kind, resource, options, declared, about }: DesiredList): unknown {
  const said = Array.from(about, ([key, one]) => [key, SAID_FIELD_NAMES.map((name) => one[name])] as const);
  return [kind, resource, sorted(options), sorted(declared), inOrder(said)];
}

function sorted(object: object): unknown[] {
  return inOrder(Object.entries(object));
}

function inOrder<Pair extends readonly [string, unknown]>(pairs: Pair[]): Pair[] {
  return pairs.sort((one, other) => (one[0] < other[0] ? -1 : 1));
}

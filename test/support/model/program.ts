import fc from "fast-check";
import { LIST_MODES, type ListMode, VIP_LIST_MODES } from "../../../provider/model/list-mode";
import type { HandlerName } from "../../../provider/resources/serialized-provider";
import {
  type EntryListName,
  EXTERNAL_MAILBOX,
  MAILBOXES,
  SCOPES,
  type Scope,
  selectSpelling,
  VALUES,
} from "./sample-values";

/** A declared resource of a program. */
export interface Declaration {
  readonly kind: HandlerName;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** A program: its entries and VIPs by place, and the options of its lists. */
export interface ModelProgram {
  readonly entries: readonly PlacedEntry[];
  readonly vips: readonly PlacedVip[];
  /** A missing list is not declared. */
  readonly lists: Readonly<Partial<Record<ListPlace, ModelListOptions>>>;
  /** The number of times each resource was renamed. */
  readonly renamed: Readonly<Partial<Record<Place, number>>>;
  readonly isReversed: boolean;
}

export type EntryPlace = "s0" | "s1" | "s2" | EntryListPlace;
export type VipPlace = "v0" | "v1" | VipListPlace;
export type EntryListPlace = "A" | "B";
export type VipListPlace = "V" | "W";
export type ListPlace = EntryListPlace | VipListPlace;
type Place = EntryPlace | VipPlace;

export interface PlacedEntry {
  readonly place: EntryPlace;
  readonly value: string;
  readonly scope: Scope;
  readonly list: EntryListName;
  /** Empty for no comment. */
  readonly comment: string;
  readonly adopt: boolean;
  /** Selects the spelling of the value, and whether the comment has trailing whitespace. */
  readonly spelling: number;
}

export interface PlacedVip {
  readonly place: VipPlace;
  readonly email: string;
  readonly comment: string;
  readonly keep: boolean;
  readonly spelling: number;
}

export interface ModelListOptions {
  readonly mode: ListMode;
  /** Values or mailboxes. */
  readonly ignore: readonly string[];
  readonly protect: readonly string[];
  /** Whether the run may empty the list. */
  readonly mayBeEmptied: boolean;
  /** Only for an allow/deny list. */
  readonly adopt: boolean;
  /** Only for a VIP list. */
  readonly keep: boolean;
}

/**
 * Returns whether a list in this mode removes undeclared entries of an allow/deny list, or undeclared VIPs if no list
 * is given.
 */
export function isPruned(mode: ListMode | undefined, list?: string): boolean {
  return mode === "exclusive" || (mode === "exclusive-allows" && list === "allow");
}

export const NOTHING: ModelProgram = { entries: [], vips: [], lists: {}, renamed: {}, isReversed: false };

export const PLAIN: ModelListOptions = {
  mode: "additive",
  ignore: [],
  protect: [],
  mayBeEmptied: true,
  adopt: false,
  keep: false,
};

/** A person's change to the program. */
export type ProgramEdit =
  | { readonly edit: "declare"; readonly entry: PlacedEntry; readonly also: boolean }
  | { readonly edit: "change"; readonly pick: number; readonly to: Partial<PlacedEntry> }
  | { readonly edit: "declare VIP"; readonly vip: PlacedVip; readonly also: boolean }
  | { readonly edit: "change VIP"; readonly pick: number; readonly to: Partial<PlacedVip> }
  | { readonly edit: "remove"; readonly pick: number }
  | { readonly edit: "remove VIP"; readonly pick: number }
  /** An entry is no longer declared but ignored, so that it is left to the console. */
  | { readonly edit: "let go"; readonly pick: number }
  | { readonly edit: "set list"; readonly place: ListPlace; readonly options: ModelListOptions }
  | { readonly edit: "drop list"; readonly place: ListPlace }
  | { readonly edit: "rename"; readonly place: Place }
  | { readonly edit: "reverse" };

export function applyProgramEdit(program: ModelProgram, edit: ProgramEdit): ModelProgram {
  switch (edit.edit) {
    case "declare":
      return addEntry(program, edit.entry, edit.also ? undefined : formatEntryKey(edit.entry));
    case "change": {
      const before = pickElement(program.entries, edit.pick);
      if (before === undefined) return program;
      const rest = { ...program, entries: program.entries.filter((entry) => entry !== before) };
      return addEntry(rest, { ...before, ...edit.to }, undefined);
    }
    case "declare VIP":
      return placeVip(program, edit.vip, edit.also ? undefined : edit.vip.email);
    case "change VIP": {
      const before = pickElement(program.vips, edit.pick);
      if (before === undefined) return program;
      const rest = { ...program, vips: program.vips.filter((vip) => vip !== before) };
      return placeVip(rest, { ...before, ...edit.to }, undefined);
    }
    case "remove": {
      const removedItem = pickElement(program.entries, edit.pick);
      return { ...program, entries: program.entries.filter((entry) => entry !== removedItem) };
    }
    case "remove VIP": {
      const removedItem = pickElement(program.vips, edit.pick);
      return { ...program, vips: program.vips.filter((vip) => vip !== removedItem) };
    }
    case "let go": {
      const { entries, lists } = program;
      const removedItem = pickElement(
        entries.filter(({ place }) => isListPlace(place)),
        edit.pick,
      );
      if (removedItem === undefined || !isListPlace(removedItem.place)) return program;
      const options = lists[removedItem.place] ?? PLAIN;
      const ignore = [...new Set([...options.ignore, removedItem.value])];
      return {
        ...program,
        entries: entries.filter((entry) => entry !== removedItem),
        lists: { ...lists, [removedItem.place]: { ...options, ignore } },
      };
    }
    case "set list":
      return { ...program, lists: { ...program.lists, [edit.place]: edit.options } };
    case "drop list": {
      const { [edit.place]: _removed, ...lists } = program.lists;
      return {
        ...program,
        lists,
        entries: program.entries.filter(({ place }) => place !== edit.place),
        vips: program.vips.filter(({ place }) => place !== edit.place),
      };
    }
    case "rename": {
      const times = (program.renamed[edit.place] ?? 0) + 1;
      return { ...program, renamed: { ...program.renamed, [edit.place]: times } };
    }
    case "reverse":
      return { ...program, isReversed: !program.isReversed };
  }
}

/** Returns the key of a value in a scope; the list is not part of it. */
export function formatEntryKey({ value, scope }: { readonly value: string; readonly scope: string }): string {
  return scope === "global" ? value : `${value} (${scope})`;
}

export function isListPlace(place: string): place is ListPlace {
  return /^[ABVW]$/.test(place);
}

/** Puts the entry into its place: a single resource has one entry, and a list has one per key. */
function addEntry(program: ModelProgram, entry: PlacedEntry, onlyOne: string | undefined): ModelProgram {
  const isInTheWay = (other: PlacedEntry): boolean =>
    formatEntryKey(other) === onlyOne ||
    (other.place === entry.place && (!isListPlace(entry.place) || formatEntryKey(other) === formatEntryKey(entry)));
  const entries = [...program.entries.filter((other) => !isInTheWay(other)), entry];
  return { ...program, entries, lists: ensureList(program, entry.place) };
}

function placeVip(program: ModelProgram, vip: PlacedVip, onlyOne: string | undefined): ModelProgram {
  const isInTheWay = (other: PlacedVip): boolean =>
    other.email === onlyOne || (other.place === vip.place && (!isListPlace(vip.place) || other.email === vip.email));
  const vips = [...program.vips.filter((other) => !isInTheWay(other)), vip];
  return { ...program, vips, lists: ensureList(program, vip.place) };
}

function ensureList(program: ModelProgram, place: string): ModelProgram["lists"] {
  return isListPlace(place) ? { ...program.lists, [place]: program.lists[place] ?? PLAIN } : program.lists;
}

function pickElement<T>(some: readonly T[], pick: number): T | undefined {
  return some[pick % Math.max(1, some.length)];
}

/** Returns the resource's name, which identifies it for the engine. */
export function getResourceName(program: ModelProgram, place: Place): string {
  return `${place}-${program.renamed[place] ?? 0}`;
}

/** Returns the resources that a program declares, in its order. */
export function buildDeclarations(program: ModelProgram): Declaration[] {
  const { entries, vips, lists } = program;
  const all: Declaration[] = [];
  for (const entry of entries) {
    if (isListPlace(entry.place)) continue;
    const args = { ...buildEntryArguments(entry), ...(entry.adopt ? { adopt: true } : {}) };
    all.push({ kind: "allowDenyEntry", name: getResourceName(program, entry.place), args });
  }
  for (const vip of vips) {
    if (isListPlace(vip.place)) continue;
    const args = { ...buildListMember(vip), ...(vip.keep ? { onDelete: "keep" } : {}) };
    all.push({ kind: "vipEmployee", name: getResourceName(program, vip.place), args });
  }
  for (const place of ["A", "B"] as const) {
    const options = lists[place];
    if (options === undefined) continue;
    const own = entries.filter((entry) => entry.place === place).map(buildEntryArguments);
    const args = { ...listArguments(options), entries: own, ...(options.adopt ? { adopt: true } : {}) };
    all.push({ kind: "allowDenyList", name: getResourceName(program, place), args });
  }
  for (const place of ["V", "W"] as const) {
    const options = lists[place];
    if (options === undefined) continue;
    const own = vips.filter((vip) => vip.place === place).map(buildListMember);
    const args = { ...listArguments(options), members: own, ...(options.keep ? { onDelete: "keep" } : {}) };
    all.push({ kind: "vipList", name: getResourceName(program, place), args });
  }
  return program.isReversed ? all.reverse() : all;
}

function buildEntryArguments({ value, scope, list, comment, spelling }: PlacedEntry): Record<string, unknown> {
  const spellings = VALUES.find(([item]) => item === value) ?? [value];
  return {
    list,
    value: selectSpelling(spellings, spelling),
    ...(scope === "global" && spelling < 2 ? {} : { verdictScope: scope }),
    ...(comment === "" ? {} : { comment: spelling === 1 ? `${comment}\r\n` : comment }),
  };
}

function buildListMember({ email, comment, spelling }: PlacedVip): Record<string, unknown> {
  const spellings = MAILBOXES.find(([item]) => item === email) ?? [email];
  return { email: selectSpelling(spellings, spelling), ...(comment === "" ? {} : { comment }) };
}

function listArguments({ mode, ignore, protect, mayBeEmptied }: ModelListOptions): Record<string, unknown> {
  return {
    ...(mode === "additive" ? {} : { mode }),
    ...(ignore.length === 0 ? {} : { ignore }),
    ...(protect.length === 0 ? {} : { protect }),
    ...(mayBeEmptied ? { maxRemovalFraction: 1 } : {}),
  };
}

/** Favors the first three elements, so that independent choices collide often. */
export function favorFirst<T>(some: readonly T[]): fc.Arbitrary<T> {
  return fc.oneof(
    { weight: 2, arbitrary: fc.constantFrom(...some.slice(0, 3)) },
    { weight: 1, arbitrary: fc.constantFrom(...some) },
  );
}

export const aValue = favorFirst(VALUES.map(([value]) => value));
export const aScope: fc.Arbitrary<Scope> = fc.constantFrom(SCOPES[0], SCOPES[0], SCOPES[1]);
export const aList: fc.Arbitrary<EntryListName> = fc.constantFrom("deny", "allow");
export const aComment = fc.constantFrom("", "INC-1", "INC-2");
/** External mailboxes are rare, since they always lead to the same result. */
export const aMailbox = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...MAILBOXES.slice(0, -1).map(([email]) => email)) },
  { weight: 1, arbitrary: fc.constant(EXTERNAL_MAILBOX) },
);
const seldom = fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) });
const anEntryPlace: fc.Arbitrary<EntryPlace> = fc.constantFrom("A", "s0", "s1", "A", "B", "s2");
const aVipPlace: fc.Arbitrary<VipPlace> = fc.constantFrom("V", "v0", "v1", "V", "W");
const aListPlace: fc.Arbitrary<ListPlace> = fc.constantFrom("A", "A", "B", "V", "V", "W");
const aSpelling = fc.nat(2);

const anEntry: fc.Arbitrary<PlacedEntry> = fc.record({
  place: anEntryPlace,
  value: aValue,
  scope: aScope,
  list: aList,
  comment: aComment,
  adopt: seldom,
  spelling: aSpelling,
});

const aVip: fc.Arbitrary<PlacedVip> = fc.record({
  place: aVipPlace,
  email: aMailbox,
  comment: aComment,
  keep: seldom,
  spelling: aSpelling,
});

const generateListOptions = (
  names: fc.Arbitrary<string>,
  keep: fc.Arbitrary<boolean>,
  modes: readonly ListMode[],
): fc.Arbitrary<ModelListOptions> =>
  fc.record({
    mode: fc.constantFrom("additive", ...modes),
    ignore: fc.oneof(
      { weight: 2, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.uniqueArray(names, { maxLength: 3 }) },
    ),
    protect: fc.oneof({ weight: 5, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: names.map((name) => [name]) }),
    mayBeEmptied: seldom.map((isNot) => !isNot),
    adopt: seldom,
    keep,
  });

const to = <T extends object>(some: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<Partial<T>> =>
  fc.oneof(
    ...Object.entries(some).map(([name, item]) => (item as fc.Arbitrary<unknown>).map((x) => ({ [name]: x }))),
  ) as fc.Arbitrary<Partial<T>>;

const aDeclaredEntry: fc.Arbitrary<ProgramEdit> = fc.record({
  edit: fc.constant("declare" as const),
  entry: anEntry,
  also: seldom,
});

const aDeclaredVip: fc.Arbitrary<ProgramEdit> = fc.record({
  edit: fc.constant("declare VIP" as const),
  vip: aVip,
  also: seldom,
});

/** Arbitrary first edits of a program. */
export const aBeginning: fc.Arbitrary<ProgramEdit> = fc.oneof(
  { weight: 2, arbitrary: aDeclaredEntry },
  { weight: 1, arbitrary: aDeclaredVip },
);

/** Arbitrary changes of a declared entry. */
export const entryEdit: fc.Arbitrary<ProgramEdit> = fc.oneof(
  fc.record({
    edit: fc.constant("change" as const),
    pick: fc.nat(5),
    to: anEntryPlace.map((place) => ({ place })),
  }),
  fc.record({ edit: fc.constant("remove" as const), pick: fc.nat(5) }),
  fc.record({
    edit: fc.constant("change" as const),
    pick: fc.nat(5),
    to: to<PlacedEntry>({
      place: anEntryPlace,
      value: aValue,
      scope: aScope,
      list: aList,
      comment: aComment,
      adopt: fc.boolean(),
      spelling: aSpelling,
    }),
  }),
);

export const aProgramEdit: fc.Arbitrary<ProgramEdit> = fc.oneof(
  { weight: 6, arbitrary: aDeclaredEntry },
  { weight: 9, arbitrary: entryEdit },
  { weight: 3, arbitrary: aDeclaredVip },
  {
    weight: 3,
    arbitrary: fc.record({
      edit: fc.constant("change VIP" as const),
      pick: fc.nat(5),
      to: to<PlacedVip>({
        place: aVipPlace,
        email: aMailbox,
        comment: aComment,
        keep: fc.boolean(),
        spelling: aSpelling,
      }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      edit: fc.constant("change VIP" as const),
      pick: fc.nat(5),
      to: aVipPlace.map((place) => ({ place })),
    }),
  },
  { weight: 3, arbitrary: fc.record({ edit: fc.constant("remove VIP" as const), pick: fc.nat(5) }) },
  {
    weight: 2,
    arbitrary: aListPlace.chain((place) =>
      fc.record({
        edit: fc.constant("set list" as const),
        place: fc.constant(place),
        options:
          place === "A" || place === "B"
            ? generateListOptions(aValue, fc.constant(false), ["additive", ...LIST_MODES])
            : generateListOptions(aMailbox, seldom, VIP_LIST_MODES),
      }),
    ),
  },
  { weight: 2, arbitrary: fc.record({ edit: fc.constant("let go" as const), pick: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.record({ edit: fc.constant("drop list" as const), place: aListPlace }) },
  {
    weight: 1,
    arbitrary: fc.record({
      edit: fc.constant("rename" as const),
      place: fc.constantFrom<Place>("s0", "A", "v0", "V"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ edit: fc.constant("reverse" as const) }) },
);

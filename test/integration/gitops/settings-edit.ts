import fc from "fast-check";
import { LIST_MODES, type ListMode } from "../../../provider/model/list-mode";
import { parseListPattern } from "../../../provider/model/list-pattern";
import { aComment, aList, aMailbox, aScope, aValue, favorFirst, formatEntryKey } from "../../support/model/program";
import {
  type EntryListName,
  EXTERNAL_MAILBOX,
  MAILBOXES,
  type Scope,
  selectSpelling,
  VALUES,
} from "../../support/model/sample-values";

/** The declarations of a settings file. */
export interface DeclaredSettings {
  readonly entries: readonly WrittenEntry[];
  readonly vips: readonly WrittenVip[];
  readonly lists: { readonly entries: ListOptions; readonly vips: ListOptions };
}

interface ElementText {
  readonly comment: string;
  readonly expires: string | undefined;
  readonly spelling: number;
}

interface WrittenEntry extends ElementText {
  readonly value: string;
  readonly scope: Scope;
  readonly list: EntryListName;
  readonly acceptRisk: string | undefined;
}

interface WrittenVip extends ElementText {
  readonly email: string;
}

interface ListOptions {
  readonly mode?: ListMode | undefined;
  readonly ignore?: readonly string[];
  readonly protect?: readonly string[];
  readonly maxRemovals?: number | undefined;
  readonly maxRemovalFraction?: number | undefined;
  readonly confirmRemovals?: number | undefined;
  readonly adopt?: boolean;
  readonly onDelete?: "exclude" | "keep" | undefined;
}

export const NOTHING_DECLARED: DeclaredSettings = { entries: [], vips: [], lists: { entries: {}, vips: {} } };

/** A person's change to a settings file. */
export type SettingsEdit =
  | { readonly edit: "entry"; readonly entry: WrittenEntry }
  | { readonly edit: "vip"; readonly vip: WrittenVip }
  | { readonly edit: "remove"; readonly value: string }
  | { readonly edit: "remove vip"; readonly email: string }
  | { readonly edit: "entries options"; readonly options: ListOptions }
  | { readonly edit: "vips options"; readonly options: ListOptions };

export function applyEdit(before: DeclaredSettings, edit: SettingsEdit): DeclaredSettings {
  const { entries, vips, lists } = before;
  switch (edit.edit) {
    case "entry": {
      // A value can't be declared on both lists, whatever the scopes.
      const { entry } = edit;
      const isInTheWay = (other: WrittenEntry): boolean =>
        other.value === entry.value && (other.list !== entry.list || other.scope === entry.scope);
      return { ...before, entries: [...entries.filter((other) => !isInTheWay(other)), entry] };
    }
    case "vip":
      return { ...before, vips: [...vips.filter(({ email }) => email !== edit.vip.email), edit.vip] };
    case "remove":
      return { ...before, entries: entries.filter(({ value }) => value !== edit.value) };
    case "remove vip":
      return { ...before, vips: vips.filter(({ email }) => email !== edit.email) };
    case "entries options":
      return { ...before, lists: { ...lists, entries: edit.options } };
    case "vips options":
      return { ...before, lists: { ...lists, vips: edit.options } };
  }
}

/**
 * Returns the text of the settings file. Omits list options that contradict the declarations, such as ignoring a
 * declared value.
 */
export function formatSettings({ entries, vips, lists }: DeclaredSettings, today: string): string {
  const isCurrent = ({ expires }: ElementText): boolean => expires === undefined || expires >= today;
  const current = [...entries, ...vips].filter(isCurrent);
  const targets = {
    entries: current.flatMap((item) => ("value" in item ? [{ value: item.value, list: item.list }] : [])),
    vips: current.flatMap((item) => ("email" in item ? [{ value: item.email }] : [])),
  };
  const formatListOptions = (name: "entries" | "vips"): ListOptions => {
    const { ignore = [], protect = [], ...rest } = lists[name];
    const matchesDeclared = (text: string): boolean => {
      const pattern = parseListPattern(text);
      return pattern.ok && targets[name].some(pattern.value.matches);
    };
    return {
      ...rest,
      ignore: ignore.filter((text) => !matchesDeclared(text)),
      protect: protect.filter(matchesDeclared),
    };
  };
  const formatMetadata = ({ comment, expires }: ElementText): object => ({
    ...(comment === "" ? {} : { comment }),
    ...(expires === undefined ? {} : { expires }),
  });
  const listEntriesOn = (listName: EntryListName): unknown[] =>
    entries
      .filter(({ list }) => list === listName)
      .map(({ value, scope, acceptRisk, spelling, ...rest }) => ({
        value: selectSpelling(VALUES.find(([item]) => item === value) ?? [value], spelling),
        ...(scope === "global" && spelling < 2 ? {} : { scope }),
        ...(acceptRisk === undefined ? {} : { acceptRisk }),
        ...formatMetadata({ ...rest, spelling }),
      }));
  return JSON.stringify(
    {
      version: 1,
      lists: { entries: formatListOptions("entries"), vips: formatListOptions("vips") },
      allow: listEntriesOn("allow"),
      deny: listEntriesOn("deny"),
      vips: vips.map(({ email, spelling, ...rest }) => ({
        email: selectSpelling(MAILBOXES.find(([item]) => item === email) ?? [email], spelling),
        ...formatMetadata({ ...rest, spelling }),
      })),
    },
    null,
    1,
  );
}

/** Returns the keys declared on the given date, as a plan names them. */
export function listDeclaredKeys({ entries, vips }: DeclaredSettings, today: string): string[] {
  return [
    ...entries.filter((entry) => isCurrentOn(entry, today)).map((entry) => `entry ${formatEntryKey(entry)}`),
    ...vips.filter((vip) => isCurrentOn(vip, today)).map(({ email }) => `vip ${email}`),
  ];
}

function isCurrentOn({ expires }: ElementText, today: string): boolean {
  return expires === undefined || expires >= today;
}

const anExpiry = fc.constantFrom(undefined, undefined, undefined, "never", "2026-12-01");

const ownMailbox = aMailbox.filter((email) => email !== EXTERNAL_MAILBOX);

const aSpelling = fc.nat(2);

const anEntry: fc.Arbitrary<SettingsEdit> = fc.record({
  edit: fc.constant("entry" as const),
  entry: fc.record({
    value: aValue,
    scope: aScope,
    list: aList,
    comment: aComment,
    expires: anExpiry,
    acceptRisk: fc.constantFrom(undefined, undefined, undefined, "they (still) need it"),
    spelling: aSpelling,
  }),
});

const aVip: fc.Arbitrary<SettingsEdit> = fc.record({
  edit: fc.constant("vip" as const),
  vip: fc.record({ email: ownMailbox, comment: aComment, expires: anExpiry, spelling: aSpelling }),
});

const favorUsual = <T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) });

const generateListOptions = (patterns: readonly string[]) => ({
  ignore: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.uniqueArray(favorFirst(patterns), { maxLength: 2 }) },
  ),
  protect: fc.oneof(
    { weight: 5, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.uniqueArray(favorFirst(patterns), { maxLength: 2 }) },
  ),
  maxRemovals: favorUsual<number | undefined>(undefined, 0, 1, 2),
  maxRemovalFraction: favorUsual<number | undefined>(1, undefined, 0.5),
  confirmRemovals: favorUsual<number | undefined>(undefined, 1, 2),
});

const options: fc.Arbitrary<SettingsEdit> = fc.oneof(
  fc.record({
    edit: fc.constant("entries options" as const),
    options: fc.record({
      ...generateListOptions([
        "*evil.example",
        "allow:*",
        "partner.example",
        "*@*",
        "192.0.2.0/24",
        "deny:news.example",
      ]),
      mode: fc.constantFrom(undefined, ...LIST_MODES, "exclusive-allows" as const, "exclusive" as const),
      adopt: fc.boolean(),
    }),
  }),
  fc
    .record({
      ...generateListOptions(["c*", "lena@acme.example", "*@acme.example"]),
      mode: fc.constantFrom(undefined, "additive" as const, "exclusive" as const, "exclusive" as const),
      onDelete: fc.constantFrom(undefined, undefined, "exclude" as const, "keep" as const),
    })
    .map(({ onDelete, ...rest }) => ({
      edit: "vips options" as const,
      options: { ...rest, onDelete: rest.mode === "exclusive" && onDelete === "keep" ? undefined : onDelete },
    })),
);

/** Arbitrary edits that create and change settings files. */
export const aSettingsEdit: fc.Arbitrary<SettingsEdit> = fc.oneof(
  { weight: 6, arbitrary: anEntry },
  { weight: 3, arbitrary: aVip },
  { weight: 2, arbitrary: fc.record({ edit: fc.constant("remove" as const), value: aValue }) },
  { weight: 1, arbitrary: fc.record({ edit: fc.constant("remove vip" as const), email: ownMailbox }) },
  { weight: 3, arbitrary: options },
);

import { allowDenyEntryArguments, checkEntryArguments } from "../settings/arguments";
import { nameOfKey } from "../settings/keyed-list";
import { quote } from "../settings/text";
import { canonical, declaredEntry, declaredVip, mailbox } from "./declared";
import { type Finding, lineText, type Place } from "./finding";
import type { ParsedFile } from "./parse-settings";
import type { DeclaredEntry, DeclaredVip } from "./settings";
import { POLICY_SUBJECTS, type SettingsFile } from "./settings-schema";
import type { YamlSource } from "./yaml-source";

/** The declarations of one file. */
export interface DeclaredInFile {
  readonly own: readonly (DeclaredEntry | DeclaredVip)[];
  readonly expired: readonly (DeclaredEntry | DeclaredVip)[];
  readonly findings: readonly Finding[];
}

/** The removals of a file from included files, by {@link removalKey}. */
interface Removals {
  readonly removals: ReadonlyMap<string, Removal>;
  readonly findings: readonly Finding[];
}

/**
 * Returns the declarations of a file. Duplicates are errors. Caches the result for files that many tenants include, per day.
 *
 * @param today the day (UTC) to which `expires` is compared.
 */
export function declaredIn(file: ParsedFile, content: SettingsFile, today: string): DeclaredInFile {
  const before = KNOWN.get(file);
  if (before?.today === today && before.content === content) return before.declared;
  const declared = readDeclared(file, content, today);
  KNOWN.set(file, { content, today, declared });
  return declared;
}

const KNOWN = new WeakMap<
  ParsedFile,
  { readonly content: SettingsFile; readonly today: string; readonly declared: DeclaredInFile }
>();

function readDeclared(
  { source, kept = {} }: ParsedFile,
  content: SettingsFile,
  today: string,
): DeclaredInFile {
  const findings: Finding[] = [];
  const refuse = (code: string, message: string, place: Place): void => {
    findings.push({ code, level: "error", message, place });
  };
  const own: (DeclaredEntry | DeclaredVip)[] = [];
  const expired: (DeclaredEntry | DeclaredVip)[] = [];
  const byKey = {
    entry: new Map<string, DeclaredEntry | DeclaredVip>(),
    vip: new Map<string, DeclaredEntry | DeclaredVip>(),
  };
  const take = (one: DeclaredEntry | DeclaredVip): void => {
    // A value on both lists in different scopes is reported for all files together.
    const other = byKey[one.kind].get(one.key);
    byKey[one.kind].set(one.key, one);
    if (other !== undefined) {
      const lists = one.kind === "entry" && (other as DeclaredEntry).list !== one.list;
      const what = lists ? "on both lists" : "declared twice";
      refuse(
        "declared-twice",
        `${quote(one.written)} is ${what}, here and at ${lineText(other.place)}; keep one of the two`,
        one.place,
      );
      return;
    }
    const isPast = one.expires !== undefined && one.expires !== "never" && one.expires < today;
    (isPast ? expired : own).push(one);
  };
  const isShort = (section: string, index: number): true | undefined =>
    typeof (source.value as Record<string, unknown[]>)[section]?.[index] === "string" ? true : undefined;
  for (const list of ["allow", "deny"] as const) {
    for (const [at, raw] of (content[list] ?? []).entries()) {
      const index = kept[list]?.[at] ?? at;
      const place = source.placeOf([list, index, "value"]);
      // The schema validates the value, but not whether it has the declared type.
      const { failures } =
        raw.type === undefined
          ? NO_FAILURES
          : checkEntryArguments({ list, value: raw.value, entryType: raw.type }, allowDenyEntryArguments);
      for (const { reason } of failures) {
        refuse("invalid-value", `type ${reason}`, source.placeOf([list, index, "type"]));
      }
      if (failures.length === 0) take(declaredEntry(list, raw, place, isShort(list, index)));
    }
  }
  for (const [at, raw] of (content.vips ?? []).entries()) {
    const index = kept.vips?.[at] ?? at;
    take(declaredVip(raw, source.placeOf(["vips", index, "email"]), isShort("vips", index)));
  }
  return { own, expired, findings };
}

/** Returns the removals of a file by section and value. */
export function removalsIn(source: YamlSource, { remove = {} }: SettingsFile): Removals {
  const findings: Finding[] = [];
  const removals = new Map<string, Removal>();
  for (const section of POLICY_SUBJECTS) {
    for (const [index, written] of (remove[section] ?? []).entries()) {
      const key = removalKey(section, section === "vips" ? mailbox(written) : canonical(written));
      const place = source.placeOf(["remove", section, index]);
      const other = removals.get(key);
      if (other === undefined) removals.set(key, { section, written, place, count: 0 });
      else {
        const message = `${quote(written)} is removed twice, here and at ${lineText(other.place)}; keep one of the two`;
        findings.push({ code: "removed-twice", level: "warning", message, place });
      }
    }
  }
  return { removals, findings };
}

/** A line under `remove` and the number of removed declarations. */
export interface Removal {
  readonly section: "allow" | "deny" | "vips";
  readonly written: string;
  readonly place: Place;
  count: number;
}

/** Returns the lookup key of a removal. */
export function removalKey(section: Removal["section"], value: string): string {
  return `${section} ${value}`;
}

/** Returns the mailbox of a VIP, or the value of an entry. */
export function nameIn(one: DeclaredEntry | DeclaredVip): string {
  return one.kind === "vip" ? one.email : one.value;
}

/** Returns the key that must be unique in a file. */
export function subjectOf({ kind, key }: DeclaredEntry | DeclaredVip): string {
  return `${kind} ${key}`;
}

/** Formats a declaration for messages. */
export function nameOf(one: DeclaredEntry | DeclaredVip): string {
  return one.kind === "vip" ? one.email : nameOfKey(one.key);
}

const NO_FAILURES = { failures: [] } as const;

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
  const cached = CACHE.get(file);
  if (cached?.today === today && cached.content === content) return cached.declared;
  const declared = readFileDeclarations(file, content, today);
  CACHE.set(file, { content, today, declared });
  return declared;
}

const CACHE = new WeakMap<
  ParsedFile,
  { readonly content: SettingsFile; readonly today: string; readonly declared: DeclaredInFile }
>();

function readFileDeclarations({ source, kept = {} }: ParsedFile, content: SettingsFile, today: string): DeclaredInFile {
  const findings: Finding[] = [];
  const addError = (code: string, message: string, location: Place): void => {
    findings.push({ code, level: "error", message, place: location });
  };
  const declarations: (DeclaredEntry | DeclaredVip)[] = [];
  const expired: (DeclaredEntry | DeclaredVip)[] = [];
  const byKey = {
    entry: new Map<string, DeclaredEntry | DeclaredVip>(),
    vip: new Map<string, DeclaredEntry | DeclaredVip>(),
  };
  const addDeclaration = (declaration: DeclaredEntry | DeclaredVip): void => {
    // A value on both lists in different scopes is reported for all files together.
    const existing = byKey[declaration.kind].get(declaration.key);
    byKey[declaration.kind].set(declaration.key, declaration);
    if (existing !== undefined) {
      const isOnBothLists = declaration.kind === "entry" && (existing as DeclaredEntry).list !== declaration.list;
      const problem = isOnBothLists ? "on both lists" : "declared twice";
      addError(
        "declared-twice",
        `${quote(declaration.written)} is ${problem}, here and at ${lineText(existing.place)}; keep one of the two`,
        declaration.place,
      );
      return;
    }
    const isExpired =
      declaration.expires !== undefined && declaration.expires !== "never" && declaration.expires < today;
    (isExpired ? expired : declarations).push(declaration);
  };
  const isShort = (section: string, index: number): true | undefined =>
    typeof (source.value as Record<string, unknown[]>)[section]?.[index] === "string" ? true : undefined;
  for (const list of ["allow", "deny"] as const) {
    for (const [position, raw] of (content[list] ?? []).entries()) {
      const index = kept[list]?.[position] ?? position;
      const location = source.placeOf([list, index, "value"]);
      // The schema validates the value, but not whether it has the declared type.
      const { failures } =
        raw.type === undefined
          ? NO_FAILURES
          : checkEntryArguments({ list, value: raw.value, entryType: raw.type }, allowDenyEntryArguments);
      for (const { reason } of failures) {
        addError("invalid-value", `type ${reason}`, source.placeOf([list, index, "type"]));
      }
      if (failures.length === 0) addDeclaration(declaredEntry(list, raw, location, isShort(list, index)));
    }
  }
  for (const [position, raw] of (content.vips ?? []).entries()) {
    const index = kept.vips?.[position] ?? position;
    addDeclaration(declaredVip(raw, source.placeOf(["vips", index, "email"]), isShort("vips", index)));
  }
  return { own: declarations, expired, findings };
}

/** Returns the removals of a file by section and value. */
export function removalsIn(source: YamlSource, { remove = {} }: SettingsFile): Removals {
  const findings: Finding[] = [];
  const removals = new Map<string, Removal>();
  for (const section of POLICY_SUBJECTS) {
    for (const [index, rawValue] of (remove[section] ?? []).entries()) {
      const key = removalKey(section, section === "vips" ? mailbox(rawValue) : canonical(rawValue));
      const location = source.placeOf(["remove", section, index]);
      const existing = removals.get(key);
      if (existing === undefined) removals.set(key, { section, written: rawValue, place: location, count: 0 });
      else {
        const message = `${quote(rawValue)} is removed twice, here and at ${lineText(existing.place)}; keep one of the two`;
        findings.push({ code: "removed-twice", level: "warning", message, place: location });
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
export function nameIn(declaration: DeclaredEntry | DeclaredVip): string {
  return declaration.kind === "vip" ? declaration.email : declaration.value;
}

/** Returns the key that must be unique in a file. */
export function subjectOf({ kind, key }: DeclaredEntry | DeclaredVip): string {
  return `${kind} ${key}`;
}

/** Formats a declaration for messages. */
export function nameOf(declaration: DeclaredEntry | DeclaredVip): string {
  return declaration.kind === "vip" ? declaration.email : nameOfKey(declaration.key);
}

const NO_FAILURES = { failures: [] } as const;

import { allowDenyEntryArguments, checkEntryArguments } from "../model/arguments";
import { getKeyBaseName } from "../model/encoded-list";
import { quote } from "../model/text";
import { normalizeMailbox, normalizeValue, parseDeclaredEntry, parseDeclaredVip } from "./declaration-parser";
import { type FileLocation, type Finding, formatLineLocation } from "./finding";
import type { ParsedSettingsFile } from "./parsed-settings-file";
import type { DeclaredEntry, DeclaredVip } from "./settings-model";
import { POLICY_SUBJECTS, type SettingsFile } from "./settings-schema";
import type { YamlSource } from "./yaml-source";

export interface FileDeclarations {
  readonly declarations: readonly (DeclaredEntry | DeclaredVip)[];
  readonly expired: readonly (DeclaredEntry | DeclaredVip)[];
  readonly findings: readonly Finding[];
}

/** The removals of a file from included files, by {@link getRemovalKey}. */
interface RemovalsWithFindings {
  readonly removals: ReadonlyMap<string, Removal>;
  readonly findings: readonly Finding[];
}

/**
 * Returns the declarations of a file. Duplicates are errors. Caches the result for files that many tenants include, per day.
 *
 * @param today the day (UTC) to which `expires` is compared.
 */
export function getFileDeclarations(file: ParsedSettingsFile, content: SettingsFile, today: string): FileDeclarations {
  const cached = CACHE.get(file);
  if (cached?.today === today && cached.content === content) return cached.declared;
  const declared = readFileDeclarations(file, content, today);
  CACHE.set(file, { content, today, declared });
  return declared;
}

const CACHE = new WeakMap<
  ParsedSettingsFile,
  { readonly content: SettingsFile; readonly today: string; readonly declared: FileDeclarations }
>();

function readFileDeclarations(
  { source, validIndexes = {} }: ParsedSettingsFile,
  content: SettingsFile,
  today: string,
): FileDeclarations {
  const findings: Finding[] = [];
  const addError = (code: string, message: string, location: FileLocation): void => {
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
        "duplicate-declaration",
        `${quote(declaration.rawValue)} is ${problem}, here and at ${formatLineLocation(existing.location)}; keep one`,
        declaration.location,
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
      const index = validIndexes[list]?.[position] ?? position;
      const location = source.locate([list, index, "value"]);
      // The schema validates the value, but not whether it has the declared type.
      const { failures } =
        raw.type === undefined
          ? NO_FAILURES
          : checkEntryArguments({ list, value: raw.value, entryType: raw.type }, allowDenyEntryArguments);
      for (const { reason } of failures) {
        addError("invalid-value", `type ${reason}`, source.locate([list, index, "type"]));
      }
      if (failures.length === 0) addDeclaration(parseDeclaredEntry(list, raw, location, isShort(list, index)));
    }
  }
  for (const [position, raw] of (content.vips ?? []).entries()) {
    const index = validIndexes.vips?.[position] ?? position;
    addDeclaration(parseDeclaredVip(raw, source.locate(["vips", index, "email"]), isShort("vips", index)));
  }
  return { declarations, expired, findings };
}

/** Returns the removals of a file by section and value. */
export function parseRemovals(source: YamlSource, { remove = {} }: SettingsFile): RemovalsWithFindings {
  const findings: Finding[] = [];
  const removals = new Map<string, Removal>();
  for (const section of POLICY_SUBJECTS) {
    for (const [index, rawValue] of (remove[section] ?? []).entries()) {
      const key = getRemovalKey(section, section === "vips" ? normalizeMailbox(rawValue) : normalizeValue(rawValue));
      const location = source.locate(["remove", section, index]);
      const existing = removals.get(key);
      if (existing === undefined) removals.set(key, { section, value: rawValue, location, count: 0 });
      else {
        const message = `${quote(rawValue)} is removed twice, here and at ${formatLineLocation(existing.location)}; keep one`;
        findings.push({ code: "duplicate-removal", level: "warning", message, place: location });
      }
    }
  }
  return { removals, findings };
}

/** A line under `remove` and the number of removed declarations. */
export interface Removal {
  readonly section: "allow" | "deny" | "vips";
  readonly value: string;
  readonly location: FileLocation;
  count: number;
}

export function getRemovalKey(section: Removal["section"], value: string): string {
  return `${section} ${value}`;
}

/** Returns the mailbox of a VIP, or the value of an entry. */
export function getDeclaredValue(declaration: DeclaredEntry | DeclaredVip): string {
  return declaration.kind === "vip" ? declaration.email : declaration.value;
}

/** Returns the key that must be unique in a file. */
export function getDeclarationKey({ kind, key }: DeclaredEntry | DeclaredVip): string {
  return `${kind} ${key}`;
}

export function formatDeclarationName(declaration: DeclaredEntry | DeclaredVip): string {
  return declaration.kind === "vip" ? declaration.email : getKeyBaseName(declaration.key);
}

const NO_FAILURES = { failures: [] } as const;

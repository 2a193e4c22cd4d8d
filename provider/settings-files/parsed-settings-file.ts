import type { z } from "zod";
import { isMapping } from "./element-identity";
import type { Finding } from "./finding";
import { buildSchemaFindings, type FileFormat } from "./schema-findings";
import { POLICY_SUBJECTS, type PolicySubject, type SettingsFile, settingsFileSchema } from "./settings-schema";
import { isTrivialElement } from "./trivial-element";
import type { YamlSource } from "./yaml-source";

/** A parsed file, independent of the files that include it. */
export interface ParsedSettingsFile {
  readonly source: YamlSource;
  /** Undefined if the file has mistakes outside of list elements; invalid elements are left out. */
  readonly content: SettingsFile | undefined;
  /** The original indexes of the remaining elements, for lists with invalid ones. Default: unchanged. */
  readonly validIndexes?: ValidIndexes;
  readonly findings: readonly Finding[];
}

export function parseSettingsFile(source: YamlSource): ParsedSettingsFile {
  if (source.value === undefined) return { source, content: undefined, findings: source.findings };
  const expanded = expandShortElements(source.value);
  const result = settingsFileSchema.safeParse(removeTrivialElements(expanded));
  if (result.success) {
    // The schema doesn't transform the content.
    const content = source.findings.length > 0 ? undefined : (expanded as SettingsFile);
    return { source, content, findings: source.findings };
  }
  return parseWithMistakes(source, expanded);
}

/** Removes elements that need no validation: a schema with detailed messages is slow for thousands of elements. */
function removeTrivialElements(value: unknown): unknown {
  if (!isMapping(value)) return value;
  const content: Record<string, unknown> = { ...value };
  for (const section of POLICY_SUBJECTS) {
    const list = value[section];
    if (Array.isArray(list)) content[section] = list.filter((element) => !isTrivialElement(element, section));
  }
  return content;
}

/** Validates a file with mistakes in full, so that indexes match the whole file. */
function parseWithMistakes(source: YamlSource, expanded: unknown): ParsedSettingsFile {
  const result = settingsFileSchema.safeParse(expanded);
  if (result.success) throw new TypeError("The fast check and the schema disagree about this file.");
  const findings = [
    ...source.findings,
    ...(detectTargetsFile(source, expanded) ?? buildSchemaFindings(result.error, source, FILE_FORMAT)),
  ];
  return { source, content: undefined, ...dropInvalidElements(source, expanded, result.error), findings };
}

/** For a tenants file, reports only that: otherwise each key would be an error. */
function detectTargetsFile(source: YamlSource, expanded: unknown): readonly Finding[] | undefined {
  if (!isMapping(expanded) || !isMapping(expanded["tenants"])) return undefined;
  const message =
    "is a tenants file, such as tenants.yaml, and not a tenant's settings file; specify a tenant's own file, or run `email-security fleet status` for the status of all tenants";
  return [{ code: "unknown-key", level: "error", message, place: source.locateKey(["tenants"]) }];
}

type ValidIndexes = { readonly [Section in PolicySubject]?: readonly number[] };

/** Removes invalid elements, so that lint can find other kinds of mistakes in the same run. */
function dropInvalidElements(
  source: YamlSource,
  expanded: unknown,
  { issues }: z.ZodError,
): Pick<ParsedSettingsFile, "content" | "validIndexes"> | undefined {
  if (source.findings.length > 0) return undefined;
  const value = expanded as Readonly<Record<string, unknown>> | null;
  if (value === null) return undefined;
  const content = { ...value };
  const keptIndexes: { -readonly [Section in keyof ValidIndexes]: ValidIndexes[Section] } = {};
  for (const section of POLICY_SUBJECTS) {
    const invalidIndexes = new Set(issues.filter(({ path }) => path[0] === section).map(({ path }) => path[1]));
    const list = value[section];
    if (invalidIndexes.size === 0 || !Array.isArray(list)) continue;
    const validIndexes = [...list.keys()].filter((index) => !invalidIndexes.has(index));
    keptIndexes[section] = validIndexes;
    content[section] = validIndexes.map((index) => list[index] as unknown);
  }
  const result = settingsFileSchema.safeParse(content);
  return result.success ? { content: result.data, validIndexes: keptIndexes } : undefined;
}

const FILE_FORMAT: FileFormat = {
  schema: settingsFileSchema,
  aliases: {
    verdictscope: "scope",
    entrytype: "type",
    includes: "include",
    expiry: "expires",
    expiresat: "expires",
    reason: "comment",
    vip: "vips",
    allowlist: "allow",
    denylist: "deny",
    block: "deny",
  },
};

function expandShortElements(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const expandElements = (list: unknown, key: string): unknown =>
    Array.isArray(list)
      ? list.map((element: unknown) => (typeof element === "object" && element !== null ? element : { [key]: element }))
      : list;
  const subjectKeys: Record<string, string> = { allow: "value", deny: "value", vips: "email" };
  return Object.fromEntries(
    Object.entries(value).map(([name, list]) => {
      const key = Object.hasOwn(subjectKeys, name) ? subjectKeys[name] : undefined;
      return [name, key === undefined ? list : expandElements(list, key)];
    }),
  );
}

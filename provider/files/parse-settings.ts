import type { z } from "zod";
import { isMapping } from "./edit-identity";
import type { Finding } from "./finding";
import { type FileFormat, schemaFindings } from "./schema-findings";
import { POLICY_SUBJECTS, type PolicySubject, type SettingsFile, settingsFile } from "./settings-schema";
import { isUsual } from "./usual-element";
import type { YamlSource } from "./yaml-source";

/** A file that was read by itself, whoever includes it. */
export interface ParsedFile {
  readonly source: YamlSource;
  /** Undefined when there is a mistake in it, but for one in elements of the lists: those are left out. */
  readonly content: SettingsFile | undefined;
  /** Where the elements that are not left out stand in the file, for the lists that have others. Default: as in the content. */
  readonly kept?: Kept;
  readonly findings: readonly Finding[];
}

/** Reads a file by itself, with what is wrong in it. */
export function parsedFile(source: YamlSource): ParsedFile {
  if (source.value === undefined) return { source, content: undefined, findings: source.findings };
  const written = writtenOut(source.value);
  const result = settingsFile.safeParse(withoutUsual(written));
  if (result.success) {
    // What is checked stays as it is.
    const content = source.findings.length > 0 ? undefined : (written as SettingsFile);
    return { source, content, findings: source.findings };
  }
  return withMistakes(source, written);
}

/** A file without the elements that are as almost all are: a schema that explains every mistake takes a while for thousands. */
function withoutUsual(value: unknown): unknown {
  if (!isMapping(value)) return value;
  const content: Record<string, unknown> = { ...value };
  for (const section of POLICY_SUBJECTS) {
    const list = value[section];
    if (Array.isArray(list)) content[section] = list.filter((one) => !isUsual(one, section));
  }
  return content;
}

/** Reads a file that there is a mistake in: the places of elements are those in the whole file. */
function withMistakes(source: YamlSource, written: unknown): ParsedFile {
  const result = settingsFile.safeParse(written);
  if (result.success) throw new TypeError("What is usual is refused, or what is refused is none.");
  const findings = [
    ...source.findings,
    ...(targetsFinding(source, written) ?? schemaFindings(result.error, source, FORMAT)),
  ];
  return { source, content: undefined, ...withoutRefused(source, written, result.error), findings };
}

/** Of a file that says who the tenants are that alone is told: each of its keys would be refused. */
function targetsFinding(source: YamlSource, written: unknown): readonly Finding[] | undefined {
  if (!isMapping(written) || !isMapping(written["tenants"])) return undefined;
  const message =
    "says who the tenants are, as tenants.yaml does, and is no tenant's settings file; name a tenant's own, or see how all stand by `email-security fleet status`";
  return [{ code: "unknown-key", level: "error", message, place: source.placeOfKey(["tenants"]) }];
}

type Kept = { readonly [Section in PolicySubject]?: readonly number[] };

/** A file without the elements that are refused, so that lint finds more than one kind of mistake at once. */
function withoutRefused(
  source: YamlSource,
  written: unknown,
  { issues }: z.ZodError,
): Pick<ParsedFile, "content" | "kept"> | undefined {
  if (source.findings.length > 0) return undefined;
  const value = written as Readonly<Record<string, unknown>> | null;
  if (value === null) return undefined;
  const content = { ...value };
  const kept: { -readonly [Section in keyof Kept]: Kept[Section] } = {};
  for (const section of POLICY_SUBJECTS) {
    const refused = new Set(issues.filter(({ path }) => path[0] === section).map(({ path }) => path[1]));
    const list = value[section];
    if (refused.size === 0 || !Array.isArray(list)) continue;
    const left = [...list.keys()].filter((index) => !refused.has(index));
    kept[section] = left;
    content[section] = left.map((index) => list[index] as unknown);
  }
  const result = settingsFile.safeParse(content);
  return result.success ? { content: result.data as SettingsFile, kept } : undefined;
}

const FORMAT: FileFormat = {
  schema: settingsFile,
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

/** Elements that are a text alone, as the mapping that they stand for. */
function writtenOut(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const elements = (list: unknown, key: string): unknown =>
    Array.isArray(list)
      ? list.map((one: unknown) => (typeof one === "object" && one !== null ? one : { [key]: one }))
      : list;
  const keys: Record<string, string> = { allow: "value", deny: "value", vips: "email" };
  return Object.fromEntries(
    Object.entries(value).map(([name, list]) => {
      const key = Object.hasOwn(keys, name) ? keys[name] : undefined;
      return [name, key === undefined ? list : elements(list, key)];
    }),
  );
}

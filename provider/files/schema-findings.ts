import type { z } from "zod";
import { meantOrKnown, nearestName } from "../settings/nearest-name";
import { printable, quote } from "../settings/text";
import type { Finding } from "./finding";
import type { YamlSource } from "./yaml-source";

/** The format of a kind of file. */
export interface FileFormat {
  readonly schema: z.ZodType;
  /** Common wrong keys, in lower case without hyphens and underscores, and the correct key. */
  readonly aliases: Readonly<Record<string, string>>;
  /** Replaces the finding of an issue, for example if the value must not be shown. Called once per unknown key. */
  readonly own?: (
    issue: z.core.$ZodIssue,
    unknownKey: string | undefined,
  ) => Pick<Finding, "code" | "message"> | undefined;
}

/** Converts schema issues to findings with locations and fixes. Omits issues already reported as YAML traps. */
export function schemaFindings({ issues }: z.ZodError, source: YamlSource, format: FileFormat): Finding[] {
  const spot = ({ place }: Finding): string => `${place?.line}:${place?.column}`;
  const spots = new Set(source.findings.map(spot));
  const misspelt = new Set(issues.flatMap((issue) => meantBy(issue, format)));
  return (
    issues
      // A misspelt key isn't reported as missing as well.
      .filter(({ path }) => !misspelt.has(JSON.stringify(path)) || valueAt(source.value, path) !== undefined)
      .flatMap((issue) => told(issue, source, format))
      .filter((finding) => !spots.has(spot(finding)))
  );
}

function told(issue: z.core.$ZodIssue, source: YamlSource, format: FileFormat): Finding[] {
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({
      code: "unknown-key",
      level: "error" as const,
      message: unknownKey(key, issue.path, format),
      ...format.own?.(issue, key),
      place: source.placeOfKey([...issue.path, key]),
    }));
  }
  if (issue.code === "invalid_key") {
    const message = `${quote(issue.path.at(-1))} ${issue.issues[0]?.message}`;
    return [{ code: "invalid-value", level: "error", message, place: source.placeOfKey(issue.path) }];
  }
  const place = source.placeOf(issue.path);
  const own = format.own?.(issue, undefined);
  if (own !== undefined) return [{ ...own, level: "error", place }];
  const name = typeof issue.path.at(-1) === "string" ? String(issue.path.at(-1)) : undefined;
  const written = source.writtenAt(issue.path);
  const input = (issue as { input?: unknown }).input ?? valueAt(source.value, issue.path);
  if (
    issue.code === "invalid_type" &&
    issue.expected === "string" &&
    written !== undefined &&
    input !== null
  ) {
    const message = `${name === undefined ? "" : `${name}: `}${printable(written)} is read as ${JSON.stringify(input)} by YAML, and not as a text; write ${JSON.stringify(written)} in quotes`;
    return [{ code: "yaml-not-text", level: "error", message, place }];
  }
  const [, key, rest] = /^(value|email):(\S+)$/.exec(written ?? "") ?? [];
  if (key !== undefined && key === name) {
    const unspaced = `has no space after the colon; write ${quote(`${key}: ${rest}`)}`;
    return [{ code: "invalid-value", level: "error", message: unspaced, place }];
  }
  const message = name === undefined ? issue.message : `${printable(name)} ${issue.message}`;
  return [{ code: "invalid-value", level: "error", message, place }];
}

function unknownKey(key: string, path: readonly PropertyKey[], format: FileFormat): string {
  return `${quote(key)} is no key here; ${meantOrKnown(key, keysAt(path, format.schema), format.aliases)}`;
}

/** Returns the paths of keys that unknown keys probably stand for. */
function meantBy(issue: z.core.$ZodIssue, format: FileFormat): string[] {
  if (issue.code !== "unrecognized_keys") return [];
  return issue.keys.flatMap((key) => {
    const meant = nearestName(key, keysAt(issue.path, format.schema), format.aliases);
    return meant === undefined ? [] : [JSON.stringify([...issue.path, meant])];
  });
}

/** Returns the valid keys at a path. */
function keysAt(path: readonly PropertyKey[], schema: unknown): readonly string[] {
  let at = schema;
  for (const step of path) {
    const { element, valueType, shape } = definition(at);
    at = element ?? valueType ?? shape?.[step];
  }
  return Object.keys(definition(at).shape ?? {});
}

interface Definition {
  readonly type: string;
  readonly innerType?: unknown;
  readonly shape?: Readonly<Record<PropertyKey, unknown>>;
  readonly element?: unknown;
  readonly valueType?: unknown;
}

function definition(schema: unknown): Definition {
  const { def } = schema as { def: Definition };
  return def.type === "optional" ? definition(def.innerType) : def;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let at = value;
  for (const step of path) {
    // A short element stands for the value of its mapping.
    if (typeof at !== "object" || at === null) return at;
    at = (at as Record<PropertyKey, unknown>)[step];
  }
  return at;
}

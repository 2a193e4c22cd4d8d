import type { z } from "zod";
import { findNearestName, formatNameSuggestion } from "../model/nearest-name";
import { quote, sanitizeLine } from "../model/text";
import type { Finding } from "./finding";
import type { YamlSource } from "./yaml-source";

/** The format of a kind of file. */
export interface FileFormat<Content = unknown> {
  readonly schema: z.ZodType<Content>;
  /** Common wrong keys, in lower case without hyphens and underscores, and the correct key. */
  readonly aliases: Readonly<Record<string, string>>;
  /** Replaces the finding of an issue, for example if the value must not be shown. Called once per unknown key. */
  readonly getCustomFinding?: (
    issue: z.core.$ZodIssue,
    key: string | undefined,
  ) => Pick<Finding, "code" | "message"> | undefined;
}

/** Converts schema issues to findings with locations and fixes. Omits issues already reported as YAML traps. */
export function buildSchemaFindings({ issues }: z.ZodError, source: YamlSource, format: FileFormat): Finding[] {
  const getPositionKey = ({ place }: Finding): string => `${place?.line}:${place?.column}`;
  const reportedPositions = new Set(source.findings.map(getPositionKey));
  const misspelledPaths = new Set(issues.flatMap((issue) => suggestPaths(issue, format)));
  return (
    issues
      // A misspelled key isn't reported as missing as well.
      .filter(
        ({ path }) => !misspelledPaths.has(JSON.stringify(path)) || getValueAtPath(source.value, path) !== undefined,
      )
      .flatMap((issue) => buildIssueFindings(issue, source, format))
      .filter((finding) => !reportedPositions.has(getPositionKey(finding)))
  );
}

function buildIssueFindings(issue: z.core.$ZodIssue, source: YamlSource, format: FileFormat): Finding[] {
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({
      code: "unknown-key",
      level: "error" as const,
      message: formatUnknownKey(key, issue.path, format),
      ...format.getCustomFinding?.(issue, key),
      place: source.locateKey([...issue.path, key]),
    }));
  }
  if (issue.code === "invalid_key") {
    const message = `${quote(issue.path.at(-1))} ${issue.issues[0]?.message}`;
    return [{ code: "invalid-value", level: "error", message, place: source.locateKey(issue.path) }];
  }
  const location = source.locate(issue.path);
  const custom = format.getCustomFinding?.(issue, undefined);
  if (custom !== undefined) return [{ ...custom, level: "error", place: location }];
  const name = typeof issue.path.at(-1) === "string" ? String(issue.path.at(-1)) : undefined;
  const rawText = source.getRawText(issue.path);
  const input = (issue as { input?: unknown }).input ?? getValueAtPath(source.value, issue.path);
  if (issue.code === "invalid_type" && issue.expected === "string" && rawText !== undefined && input !== null) {
    const message = `${name === undefined ? "" : `${name}: `}${sanitizeLine(rawText)} is read as ${JSON.stringify(input)} by YAML, not as text; write ${JSON.stringify(rawText)} in quotes`;
    return [{ code: "yaml-not-text", level: "error", message, place: location }];
  }
  const [, key, remainder] = /^(value|email):(\S+)$/.exec(rawText ?? "") ?? [];
  if (key !== undefined && key === name) {
    const spacingMessage = `has no space after the colon; write ${quote(`${key}: ${remainder}`)}`;
    return [{ code: "invalid-value", level: "error", message: spacingMessage, place: location }];
  }
  const message = name === undefined ? issue.message : `${sanitizeLine(name)} ${issue.message}`;
  return [{ code: "invalid-value", level: "error", message, place: location }];
}

function formatUnknownKey(key: string, path: readonly PropertyKey[], format: FileFormat): string {
  return `${quote(key)} isn't a valid key here; ${formatNameSuggestion(key, getKnownKeys(path, format.schema), format.aliases)}`;
}

/** Returns the paths of keys that unknown keys probably stand for. */
function suggestPaths(issue: z.core.$ZodIssue, format: FileFormat): string[] {
  if (issue.code !== "unrecognized_keys") return [];
  return issue.keys.flatMap((key) => {
    const suggestion = findNearestName(key, getKnownKeys(issue.path, format.schema), format.aliases);
    return suggestion === undefined ? [] : [JSON.stringify([...issue.path, suggestion])];
  });
}

function getKnownKeys(path: readonly PropertyKey[], schema: unknown): readonly string[] {
  let current = schema;
  for (const segment of path) {
    const { element, valueType, shape } = getDefinition(current);
    current = element ?? valueType ?? shape?.[segment];
  }
  const { shape, options = [] } = getDefinition(current);
  return Object.keys(shape ?? Object.assign({}, ...options.map((option) => getDefinition(option).shape)));
}

interface SchemaDefinition {
  readonly type: string;
  readonly innerType?: unknown;
  readonly shape?: Readonly<Record<PropertyKey, unknown>>;
  readonly element?: unknown;
  readonly valueType?: unknown;
  /** The alternatives of a union. */
  readonly options?: readonly unknown[];
}

function getDefinition(schema: unknown): SchemaDefinition {
  const { def } = schema as { def: SchemaDefinition };
  return def.type === "optional" ? getDefinition(def.innerType) : def;
}

function getValueAtPath(value: unknown, path: readonly PropertyKey[]): unknown {
  let current = value;
  for (const segment of path) {
    // A short element stands for the value of its mapping.
    if (typeof current !== "object" || current === null) return current;
    current = (current as Record<PropertyKey, unknown>)[segment];
  }
  return current;
}

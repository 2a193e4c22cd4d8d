import { isDeepStrictEqual as isSame } from "node:util";
import { isAcceptedByExport } from "../../gitops/export-settings";
import { DEFAULT_VERDICT_SCOPE } from "../../model/assumptions";
import { quote } from "../../model/text";
import { normalizeMailbox, normalizeValue } from "../../settings-files/declaration-parser";
import { listYamlComments } from "../../settings-files/yaml-comments";
import { readYaml } from "../../settings-files/yaml-source";

type Files = ReadonlyMap<string, string>;

/**
 * Lists the handwritten content of exported files that a new export would lose. A tenant stores no tickets, expiry dates or policy. Empty
 * if nothing is lost.
 */
export function findExportLosses(filesBefore: Files, filesAfter: Files): readonly string[] {
  const [oldContent, newContent] = [parseFilesContent(filesBefore), parseFilesContent(filesAfter)];
  const losses = oldContent.unreadable.map((name) => `all of ${name}: it can't be read`);
  for (const [key, values] of oldContent.rules) {
    const keptValues = newContent.rules.get(key) ?? [];
    const missingValues = values.filter((value) => !keptValues.some((item) => isSame(item, value)));
    if (missingValues.length === 0) continue;
    losses.push(key === "include" ? `\`include\` of ${formatNames(missingValues.map(String))}` : `\`${key}\``);
  }
  const missingNames: string[] = [];
  const byAttribute = new Map<string, string[]>();
  for (const [subject, { name, attributes }] of oldContent.elements) {
    const exportedElement = newContent.elements.get(subject);
    if (exportedElement === undefined) {
      missingNames.push(name);
      continue;
    }
    for (const [attribute, value] of Object.entries(attributes)) {
      if (isSame(exportedElement.attributes[attribute], value) || isAcceptedByExport(value)) continue;
      byAttribute.set(attribute, [...(byAttribute.get(attribute) ?? []), name]);
    }
  }
  for (const [attribute, names] of byAttribute) losses.push(`\`${attribute}\` of ${formatNames(names)}`);
  const comments = [...oldContent.comments].filter((item) => !newContent.comments.has(item));
  if (comments.length > 0) losses.push(`the comments ${formatNames(comments)}`);
  if (missingNames.length > 0) losses.push(`${formatNames(missingNames)}, which the tenant doesn't have`);
  return losses;
}

interface ParsedContent {
  readonly unreadable: readonly string[];
  /** The values of each key, from all files, except for list elements. */
  readonly rules: ReadonlyMap<string, readonly unknown[]>;
  readonly elements: ReadonlyMap<string, ContentElement>;
  /** The YAML comments, except for the date of an export. */
  readonly comments: ReadonlySet<string>;
}

interface ContentElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

function parseFilesContent(files: Files): ParsedContent {
  const unreadable: string[] = [];
  const rules = new Map<string, unknown[]>();
  const elements = new Map<string, ContentElement>();
  const comments = new Set<string>();
  for (const [name, text] of files) {
    for (const comment of listYamlComments(text)) {
      if (!comment.text.startsWith("# Exported ")) comments.add(quote(comment.text, 100));
    }
    const { value } = readYaml(text, name);
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      unreadable.push(name);
      continue;
    }
    for (const [key, content] of Object.entries(value)) {
      if (key === "allow" || key === "deny" || key === "vips") {
        for (const item of Array.isArray(content) ? content : []) addElement(elements, key, item);
      } else if (key !== "version") {
        const values = key === "include" && Array.isArray(content) ? content : [content];
        rules.set(key, [...(rules.get(key) ?? []), ...values]);
      }
    }
  }
  return { unreadable, rules, elements, comments };
}

function addElement(
  elements: Map<string, ContentElement>,
  section: "allow" | "deny" | "vips",
  rawElement: unknown,
): void {
  const element = typeof rawElement === "string" ? { value: rawElement } : (rawElement as Record<string, unknown>);
  const { value, email, scope = DEFAULT_VERDICT_SCOPE, type: _type, ...attributes } = element ?? {};
  const name = String(email ?? value);
  const subject = section === "vips" ? normalizeMailbox(name) : `${normalizeValue(name)} ${String(scope)}`;
  elements.set(`${section} ${subject}`, { name, attributes });
}

const MAX_NAMES = 5;

function formatNames(names: readonly string[]): string {
  const hiddenCount = names.length - MAX_NAMES;
  return `${names.slice(0, MAX_NAMES).join(", ")}${hiddenCount > 0 ? ` and ${hiddenCount.toLocaleString("en")} more` : ""}`;
}

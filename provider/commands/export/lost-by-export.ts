import { isDeepStrictEqual as isSame } from "node:util";
import { Lexer } from "yaml";
import { canonical, mailbox } from "../../files/declared";
import { readYaml } from "../../files/yaml-source";
import { isAcceptedByExport } from "../../gitops/export";
import { DEFAULT_VERDICT_SCOPE } from "../../settings/assumptions";
import { quote } from "../../settings/text";

type Files = ReadonlyMap<string, string>;

/**
 * What people wrote into exported files that a new export does not hold, in lines for a person: a tenant knows no tickets, no
 * ends and no policy. Empty when nothing is lost.
 *
 * @param before the texts of the files that are there, by their names.
 * @param after those of the export.
 */
export function lostByExport(before: Files, after: Files): readonly string[] {
  const [old, next] = [contentOf(before), contentOf(after)];
  const lost = old.unreadable.map((name) => `${name} whole: it can't be read`);
  for (const [key, values] of old.rules) {
    const kept = next.rules.get(key) ?? [];
    const missing = values.filter((value) => !kept.some((one) => isSame(one, value)));
    if (missing.length === 0) continue;
    lost.push(key === "include" ? `\`include\` of ${named(missing.map(String))}` : `\`${key}\``);
  }
  const gone: string[] = [];
  const byAttribute = new Map<string, string[]>();
  for (const [subject, { name, attributes }] of old.elements) {
    const there = next.elements.get(subject);
    if (there === undefined) {
      gone.push(name);
      continue;
    }
    for (const [attribute, value] of Object.entries(attributes)) {
      if (isSame(there.attributes[attribute], value) || isAcceptedByExport(value)) continue;
      byAttribute.set(attribute, [...(byAttribute.get(attribute) ?? []), name]);
    }
  }
  for (const [attribute, names] of byAttribute) lost.push(`\`${attribute}\` of ${named(names)}`);
  const comments = [...old.comments].filter((one) => !next.comments.has(one));
  if (comments.length > 0) lost.push(`the comments ${named(comments)}`);
  if (gone.length > 0) lost.push(`${named(gone)}, which the tenant doesn't hold`);
  return lost;
}

interface Content {
  readonly unreadable: readonly string[];
  /** Each key of a file but its elements, with what the files say under it. */
  readonly rules: ReadonlyMap<string, readonly unknown[]>;
  readonly elements: ReadonlyMap<string, Element>;
  /** The comments of the YAML, but for the date of an export. */
  readonly comments: ReadonlySet<string>;
}

interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

function contentOf(files: Files): Content {
  const unreadable: string[] = [];
  const rules = new Map<string, unknown[]>();
  const elements = new Map<string, Element>();
  const comments = new Set<string>();
  for (const [name, text] of files) {
    for (const comment of commentsIn(text)) comments.add(comment);
    const { value } = readYaml(text, name);
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      unreadable.push(name);
      continue;
    }
    for (const [key, content] of Object.entries(value)) {
      if (key === "allow" || key === "deny" || key === "vips") {
        for (const one of Array.isArray(content) ? content : []) addElement(elements, key, one);
      } else if (key !== "version") {
        const values = key === "include" && Array.isArray(content) ? content : [content];
        rules.set(key, [...(rules.get(key) ?? []), ...values]);
      }
    }
  }
  return { unreadable, rules, elements, comments };
}

/** What the lexer puts before a scalar without quotes, or in a block, which may begin as a comment does. */
const SCALAR = "\u001F";

function* commentsIn(text: string): Iterable<string> {
  let before = "";
  for (const lexeme of new Lexer().lex(text)) {
    if (lexeme.startsWith("#") && before !== SCALAR && !lexeme.startsWith("# Exported "))
      yield quote(lexeme, 100);
    before = lexeme;
  }
}

function addElement(elements: Map<string, Element>, section: "allow" | "deny" | "vips", one: unknown): void {
  const element = typeof one === "string" ? { value: one } : (one as Record<string, unknown>);
  const { value, email, scope = DEFAULT_VERDICT_SCOPE, type: _type, ...attributes } = element ?? {};
  const name = String(email ?? value);
  const subject = section === "vips" ? mailbox(name) : `${canonical(name)} ${String(scope)}`;
  elements.set(`${section} ${subject}`, { name, attributes });
}

const NAMED = 5;

function named(names: readonly string[]): string {
  const rest = names.length - NAMED;
  return `${names.slice(0, NAMED).join(", ")}${rest > 0 ? ` and ${rest.toLocaleString("en")} more` : ""}`;
}

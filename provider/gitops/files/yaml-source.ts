import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseAllDocuments,
  type Scalar,
  visit,
} from "yaml";
import { quote } from "../../settings/text";
import type { Finding, Place } from "./finding";

/** Longer files are a mistake of another kind. */
const MAX_CHARACTERS = 16 * 1024 * 1024;

/** Deeper than any settings file is. */
const MAX_DEPTH = 32;

/** A YAML file that was read: its content as plain data, and where each part of it stands. */
export interface YamlSource {
  readonly file: string;
  readonly text: string;
  /** The document with its comments, for tools that edit it. */
  readonly document: Document.Parsed;
  /** The content: maps, arrays, texts, numbers, booleans and null, by YAML 1.2. */
  readonly value: unknown;
  /** Where the value of a path stands, or what is nearest to it. */
  readonly placeOf: (path: readonly PropertyKey[]) => Place;
  /** Where the key of a path stands. */
  readonly placeOfKey: (path: readonly PropertyKey[]) => Place;
  /** How a plain scalar is written, where there is one at a path. */
  readonly writtenAt: (path: readonly PropertyKey[]) => string | undefined;
  /** What is wrong with it as YAML. Where it could not be read at all, the value is undefined. */
  readonly findings: readonly Finding[];
}

/**
 * Reads YAML strictly: what two tools, or two people, could read differently is an error at its line and column, with
 * what to write. Never throws.
 *
 * @param file its name for people.
 */
export function readYaml(text: string, file: string): YamlSource {
  const lines = new LineCounter();
  const findings: Finding[] = [];
  const place = (start: number, end = start): Place => {
    const from = lines.linePos(start);
    const to = lines.linePos(end);
    return {
      file,
      line: Math.max(1, from.line),
      column: Math.max(1, from.col),
      ...(end > start ? { endLine: Math.max(1, to.line), endColumn: Math.max(1, to.col) } : {}),
    };
  };
  const refuse = (code: string, message: string, start: number, end?: number): void => {
    findings.push({ code, level: "error", message, place: place(start, end) });
  };

  const document = parse(text, lines, refuse);
  const isRead = findings.length === 0;
  if (isRead) findings.push(...traps(document, place));

  const nodeAt = (path: readonly PropertyKey[]): Node | undefined => {
    let at: unknown = document.contents;
    for (const step of path) {
      const next = isMap(at) || isSeq(at) ? at.get(step as string | number, true) : undefined;
      if (!isNode(next)) break;
      at = next;
    }
    return isNode(at) ? at : undefined;
  };
  return {
    file,
    text,
    document,
    value: isRead ? plain(document.contents) : undefined,
    findings,
    placeOf(path) {
      const [start = 0, end = start] = nodeAt(path)?.range ?? [];
      return place(start, end);
    },
    placeOfKey(path) {
      const parent = nodeAt(path.slice(0, -1));
      const pair = isMap(parent)
        ? parent.items.find(({ key }) => isScalar(key) && key.value === path.at(-1))
        : undefined;
      const key = pair?.key;
      const [start = 0, end = start] = (isNode(key) ? key.range : parent?.range) ?? [];
      return place(start, end);
    },
    writtenAt(path) {
      const node = nodeAt(path);
      return isScalar(node) && node.type === "PLAIN" ? node.source : undefined;
    },
  };
}

type Refuse = (code: string, message: string, start: number, end?: number) => void;

function parse(text: string, lineCounter: LineCounter, refuse: Refuse): Document.Parsed {
  const read = (source: string): Document.Parsed[] => {
    const documents = parseAllDocuments(source, {
      lineCounter,
      prettyErrors: false,
      uniqueKeys: true,
      version: "1.2",
      schema: "core",
      merge: false,
      intAsBigInt: false,
    });
    return Array.isArray(documents) ? (documents as Document.Parsed[]) : [];
  };
  const nothing = (): Document.Parsed => read("null")[0] as Document.Parsed;
  if (text.length > MAX_CHARACTERS) {
    refuse("yaml-too-large", `is larger than ${MAX_CHARACTERS} characters; split it with \`include\``, 0);
    return nothing();
  }
  const nul = text.indexOf("\0");
  if (nul >= 0) {
    refuse("yaml-syntax", "holds a byte of 0, as a file of another encoding does; save it as UTF-8", 0);
    return nothing();
  }
  let documents: Document.Parsed[];
  try {
    documents = read(text);
  } catch (error) {
    // The parser gives up by throwing on what is nested far too deep.
    refuse(
      "yaml-syntax",
      `can't be read as YAML: ${error instanceof Error ? error.message : String(error)}`,
      0,
    );
    return nothing();
  }
  const [document, second] = documents;
  if (document === undefined) return nothing();
  const errors = documents.flatMap((one) => [...one.errors, ...one.warnings]);
  const tooDeep = errors.find(({ message }) => message.includes("call stack"));
  if (tooDeep !== undefined) {
    refuse("yaml-syntax", `is nested more than ${MAX_DEPTH} deep`, tooDeep.pos[0]);
    return document;
  }
  // One mistake makes several errors; the first of a line is the one to mend.
  const told = new Set<number>();
  for (const { code, message, pos } of errors) {
    const { line } = lineCounter.linePos(pos[0]);
    if (!told.has(line)) refuse(...explained(code, message, text, pos), ...pos);
    told.add(line);
  }
  if (second !== undefined) {
    const [start = 0] = second.range;
    refuse("yaml-documents", "holds more than one document (`---`); write one file for each", start);
  }
  return document;
}

/** The parser's own errors, with what to write instead. */
function explained(
  code: string,
  message: string,
  text: string,
  [start]: readonly [number, number],
): [code: string, message: string] {
  const line = text.slice(text.lastIndexOf("\n", start - 1) + 1).split("\n", 1)[0] ?? "";
  if (code === "TAB_AS_INDENT" || /^ *\t/.test(line)) {
    return ["yaml-tab", "is indented with a tab, which YAML doesn't allow; indent with spaces"];
  }
  if (code === "DUPLICATE_KEY") {
    const key = /^\s*(?:- )?\s*([^:]+):/.exec(text.slice(start))?.[1]?.trim();
    return [
      "yaml-duplicate-key",
      `${quote(key ?? "the key")} is written twice here, and only one could count; keep one`,
    ];
  }
  const [first = ""] = message.split("\n");
  return ["yaml-syntax", `is no valid YAML: ${first.replace(/ at line \d+, column \d+:?$/, "")}`];
}

/** What is valid YAML and yet a trap: what is read as something else than it looks, or can't be judged line by line. */
function traps(document: Document.Parsed, place: (start: number, end?: number) => Place): Finding[] {
  const findings: Finding[] = [];
  const refuse = (code: string, message: string, node: Node): void => {
    const [start = 0, end = start] = node.range ?? [];
    findings.push({ code, level: "error", message, place: place(start, end) });
  };
  let depth = 0;
  visit(document, {
    Node(_key, node, path) {
      depth = Math.max(depth, path.length);
      if (isAlias(node)) {
        const { source } = node as Alias;
        refuse(
          "yaml-anchor",
          `*${source} stands for what is written elsewhere; write it out, so that a review sees it in this line`,
          node,
        );
        return undefined;
      }
      if ("anchor" in node && node.anchor !== undefined) {
        refuse(
          "yaml-anchor",
          `&${String(node.anchor)} is an anchor; take it away and write out what refers to it`,
          node,
        );
      }
      if (node.tag !== undefined) {
        refuse("yaml-tag", `has the tag ${quote(node.tag)}; take it away, and write a text in quotes`, node);
      }
      if (isScalar(node)) trapOf(node, refuse);
      return undefined;
    },
    Pair(_key, { key }) {
      if (isScalar(key) && key.value === "<<") {
        refuse(
          "yaml-anchor",
          "<< merges what is written elsewhere; write it out, so that a review sees it here",
          key,
        );
      } else if (!isScalar(key) && isNode(key)) {
        refuse("yaml-syntax", "is no simple key; write a word and a colon", key);
      }
      return undefined;
    },
  });
  if (depth > MAX_DEPTH * 2 && document.contents !== null) {
    refuse("yaml-syntax", `is nested more than ${MAX_DEPTH} deep`, document.contents);
  }
  return findings;
}

function trapOf(node: Scalar, refuse: (code: string, message: string, node: Node) => void): void {
  if (node.type !== "PLAIN" || typeof node.value !== "string") return;
  // By YAML 1.1, which many tools still read, these are true and false.
  if (!/^(?:y|yes|n|no|on|off)$/i.test(node.value)) return;
  const meant = /^(?:y|yes|on)$/i.test(node.value) ? "true" : "false";
  refuse(
    "yaml-boolean",
    `${node.value} is read as a text by some tools and as ${meant} by others; write ${JSON.stringify(node.value)} in quotes for the text, or ${meant}`,
    node,
  );
}

/** The content as plain data. Every key is a text and an own property, `__proto__` too. */
function plain(node: unknown): unknown {
  if (isMap(node)) {
    return Object.fromEntries(
      node.items.map((pair) => [
        isScalar(pair.key) ? String(pair.key.source ?? pair.key.value) : String(pair.key),
        plain(isPair(pair) ? pair.value : null),
      ]),
    );
  }
  if (isSeq(node)) return node.items.map(plain);
  return isScalar(node) ? node.value : null;
}

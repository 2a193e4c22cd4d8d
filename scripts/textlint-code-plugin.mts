/** A textlint plugin for TypeScript and JavaScript. It finds comments, strings that hold sentences, and titles of tests. */
import type { TxtDocumentNode, TxtNodeLocation, TxtParagraphNode, TxtStrNode } from "@textlint/ast-node-types";
import type { TextlintPluginCreator, TextlintPluginProcessor } from "@textlint/types";
import ts from "typescript";

interface Range {
  start: number;
  end: number;
}

const CODE =
  /\\?`[^`\n]*`|\$\{[^}]*\}|\{@link [^}]*\}|@(?:param|typeParam|template) [\w.]+|@\w+ \{[^}]*\}|@\w+|https?:\/\/\S+/g;
const COMMENT_MARKER = /^([ \t]*)(?:\/\*\*|\*|\/\/)(?= )/gm;
const DIRECTIVE = /^(?:\/\/|\/\*\*?)\s*(?:biome-ignore|@ts-|#)/;
const TEST_FUNCTION = /^(?:describe|it|test)\b/;
/** Two words with a space between them. Anything else is a key, a path or another value. */
const PROSE = /[A-Za-z][a-z']*[,;:.]? [A-Za-z]/;

class CodeProcessor implements TextlintPluginProcessor {
  availableExtensions(): string[] {
    return [".ts", ".mts", ".js", ".mjs"];
  }

  processor(): ReturnType<TextlintPluginProcessor["processor"]> {
    return {
      preProcess: (code: string, file = "") => parseProse(code, file),
      postProcess: (messages, file = "") => ({ messages, filePath: file }),
    };
  }
}

export const codePlugin: TextlintPluginCreator = { Processor: CodeProcessor };

function parseProse(code: string, file: string): { text: string; ast: TxtDocumentNode } {
  const source = ts.createSourceFile(file, code, ts.ScriptTarget.Latest, true);
  const isTest = /(?:^|\/)test\//.test(file);
  const comments = new Map<number, Range>();
  const strings: Range[] = [];
  const collectComments = (node: ts.Node): void => {
    for (const { pos, end } of [
      ...(ts.getLeadingCommentRanges(code, node.getFullStart()) ?? []),
      ...(ts.getTrailingCommentRanges(code, node.getEnd()) ?? []),
    ]) {
      if (!DIRECTIVE.test(code.slice(pos, end))) comments.set(pos, { start: pos, end });
    }
    if (ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)) {
      const literal = getWholeLiteral(node);
      if (PROSE.test(getConstantText(literal)) && (!isTest || isTitle(literal))) {
        strings.push({ start: node.getStart(source) + 1, end: node.getEnd() - 1 });
      }
    }
    for (const child of node.getChildren(source)) if (!ts.isJSDoc(child)) collectComments(child);
  };
  collectComments(source);
  const paragraphs = [...joinLineComments(code, [...comments.values()]), ...strings].sort((a, b) => a.start - b.start);
  const text = maskCode(code, paragraphs);
  const children = paragraphs.map((range): TxtParagraphNode => {
    const node = locateRange(source, text, range);
    return { ...node, type: "Paragraph", children: [{ ...node, type: "Str", value: node.raw } satisfies TxtStrNode] };
  });
  return { text, ast: { ...locateRange(source, text, { start: 0, end: text.length }), type: "Document", children } };
}

/** Replaces code and markers of comments within prose by characters that belong to no term. Offsets stay the same. */
function maskCode(code: string, paragraphs: readonly Range[]): string {
  let text = "";
  let copiedTo = 0;
  for (const { start, end } of paragraphs) {
    const prose = code
      .slice(start, end)
      .replace(COMMENT_MARKER, (marker) => " ".repeat(marker.length))
      .replace(CODE, (name) => "_".repeat(name.length));
    text += code.slice(copiedTo, start) + prose;
    copiedTo = end;
  }
  return text + code.slice(copiedTo);
}

type Literal = ts.StringLiteralLike | ts.TemplateExpression | ts.TemplateLiteralTypeNode;

/** Returns the template of a template's part, because a part alone may be too short to be recognized as prose. */
function getWholeLiteral(part: ts.StringLiteralLike | ts.TemplateHead | ts.TemplateMiddle | ts.TemplateTail): Literal {
  if (ts.isStringLiteralLike(part)) return part;
  return ts.isTemplateHead(part) ? part.parent : part.parent.parent;
}

/** Returns a text with x instead of its computed parts. */
function getConstantText(literal: Literal): string {
  if (ts.isStringLiteralLike(literal)) return literal.text;
  return [literal.head, ...literal.templateSpans.map((span) => span.literal)].map(({ text }) => text).join("x");
}

/** Whether a text is the first argument of a function like `it.each(…)`, or the first text of one of its rows. */
function isTitle(node: ts.Node): boolean {
  const { parent } = node;
  if (ts.isArrayLiteralExpression(parent) && parent.elements[0] === node) {
    const rows = parent.parent;
    return ts.isArrayLiteralExpression(rows) && ts.isCallExpression(rows.parent) && isTable(rows.parent);
  }
  return ts.isCallExpression(parent) && parent.arguments[0] === node && TEST_FUNCTION.test(parent.expression.getText());
}

/** Whether a call is `it.each(rows)` or the like. */
function isTable({ expression }: ts.CallExpression): boolean {
  return ts.isPropertyAccessExpression(expression) && expression.name.text === "each";
}

/** Joins `//` comments of adjacent lines. */
function joinLineComments(code: string, comments: readonly Range[]): Range[] {
  const joined: Range[] = [];
  for (const comment of comments.toSorted((a, b) => a.start - b.start)) {
    const last = joined.at(-1);
    const isNextLine = last !== undefined && /^\n[ \t]*$/.test(code.slice(last.end, comment.start));
    if (isNextLine && code.startsWith("//", last.start) && code.startsWith("//", comment.start)) last.end = comment.end;
    else joined.push({ ...comment });
  }
  return joined;
}

function locateRange(source: ts.SourceFile, text: string, { start, end }: Range) {
  const getPosition = (offset: number) => {
    const { line, character } = source.getLineAndCharacterOfPosition(offset);
    return { line: line + 1, column: character };
  };
  const loc: TxtNodeLocation = { start: getPosition(start), end: getPosition(end) };
  return { raw: text.slice(start, end), range: [start, end] as const, loc };
}

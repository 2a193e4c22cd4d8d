import { Composer, type CST, type Document, Lexer, Parser } from "yaml";
import { quote, sanitizeLine } from "../model/text";

/** Longer files are certainly a mistake. */
export const MAX_CHARACTERS = 16 * 1024 * 1024;

/** Deeper than any settings file. */
export const MAX_DEPTH = 32;

/** The maximum number of texts, lists and mappings: more than any settings file has; this many take a gigabyte of memory. */
export const MAX_VALUES = 1_000_000;

/** The parser gets slower with each mistake. */
const MAX_MISTAKES = 1_000;

export type ReportProblem = (code: string, message: string, start?: number, end?: number) => void;

export function parseYamlDocument(text: string, report: ReportProblem, valueCount: number): Document.Parsed {
  const compose = (source: string, initialValues = valueCount): Document.Parsed[] => {
    const composer = new Composer({
      prettyErrors: false,
      // The parser compares all keys with each other, which is slow.
      uniqueKeys: false,
      version: "1.2",
      schema: "core",
      merge: false,
      intAsBigInt: false,
    });
    return [...composer.compose(lexWithinLimits(source, initialValues))] as Document.Parsed[];
  };
  const createEmptyDocument = (): Document.Parsed => compose("null", 0)[0] as Document.Parsed;
  if (text.length > MAX_CHARACTERS) {
    report("yaml-too-large", `is larger than ${MAX_CHARACTERS} characters; split it with \`include\``, 0);
    return createEmptyDocument();
  }
  const forbidden = FORBIDDEN_CHARACTER.exec(text);
  if (forbidden !== null) {
    report(...explainForbidden(forbidden[0]), forbidden.index, forbidden.index + 1);
    return createEmptyDocument();
  }
  let documents: Document.Parsed[];
  try {
    documents = compose(text);
  } catch (error) {
    if (!(error instanceof YamlLimitError)) throw error;
    report(error.code, error.message, error.offset);
    return createEmptyDocument();
  }
  const [document, secondDocument] = documents;
  if (document?.directives?.yaml.explicit === true || /^%/.test(text)) {
    report("yaml-syntax", "begins with a directive (`%`), which changes how it is read; remove it", 0);
    return document ?? createEmptyDocument();
  }
  if (document === undefined) return createEmptyDocument();
  const errors = documents.flatMap((parsed) => [...parsed.errors, ...parsed.warnings]);
  // One mistake causes several errors; the first error of a line is the one to fix.
  let reportedLine: number | undefined;
  for (const { code, message, pos } of errors.toSorted((a, b) => a.pos[0] - b.pos[0])) {
    const line = text.lastIndexOf("\n", pos[0] - 1);
    if (line !== reportedLine) report(...explainYamlError(code, message, text, pos), ...pos);
    reportedLine = line;
  }
  if (secondDocument !== undefined) {
    const [start = 0] = secondDocument.range;
    report("yaml-documents", "contains more than one document (`---`); write a separate file for each", start);
  }
  return document;
}

/** The text exceeds a limit. */
class YamlLimitError extends Error {
  readonly code: string;
  readonly offset: number;

  constructor(code: string, message: string, offset: number) {
    super(message);
    this.code = code;
    this.offset = offset;
  }
}

/**
 * Tokenizes a text incrementally, so that a small file can't exhaust memory: stops if it is nested too deeply or has too many values.
 *
 * @throws {YamlLimitError} if the text exceeds a limit.
 */
function* lexWithinLimits(source: string, initialValues: number): Generator<CST.Token> {
  const parser = new Parser();
  let valueCount = initialValues;
  let mistakes = 0;
  for (const lexeme of new Lexer().lex(source)) {
    const firstCharacter = lexeme[0] ?? "";
    if (VALUE_TOKENS.has(firstCharacter)) valueCount += 1;
    else if (MISTAKE_TOKENS.has(firstCharacter)) mistakes += 1;
    for (const token of parser.next(lexeme)) {
      if (token.type === "error") mistakes += 1;
      yield token;
    }
    // One level takes one or two stack entries of the parser.
    if (parser.stack.length > 2 * MAX_DEPTH + 4) {
      throw new YamlLimitError("yaml-syntax", `is nested more than ${MAX_DEPTH} levels deep`, parser.offset);
    }
    if (valueCount > MAX_VALUES) {
      const message = `has more than ${MAX_VALUES.toLocaleString("en-US")} values; split it with \`include\``;
      throw new YamlLimitError("yaml-too-large", message, 0);
    }
    if (mistakes > MAX_MISTAKES) {
      const message = `isn't valid YAML: it has more than ${MAX_MISTAKES.toLocaleString("en-US")} mistakes up to this point`;
      throw new YamlLimitError("yaml-syntax", message, parser.offset);
    }
  }
  yield* parser.end();
}

/** The first characters of lexemes that start a text, a list, a mapping or a document. */
const VALUE_TOKENS: ReadonlySet<string> = new Set(["\x1f", "[", "{", '"', "'", "|", ">", "?", "-"]);

/** Tags, anchors, aliases and directives are all mistakes. */
const MISTAKE_TOKENS: ReadonlySet<string> = new Set(["!", "&", "*", "%"]);

/** Explains parser errors and what to write instead. */
function explainYamlError(
  code: string,
  message: string,
  text: string,
  [start]: readonly [number, number],
): [code: string, message: string] {
  const line = text.slice(text.lastIndexOf("\n", start - 1) + 1).split("\n", 1)[0] ?? "";
  if (code === "TAB_AS_INDENT" || /^ *\t/.test(line)) {
    return ["yaml-tab", "is indented with a tab, which YAML doesn't allow; indent with spaces"];
  }
  const [, key, remainder] = /^([a-z]\w*):(?!\/\/)(\S.*)$/i.exec(text.slice(start).split(/\r?\n/, 1)[0] ?? "") ?? [];
  if (key !== undefined && /^(?:MISSING_CHAR|MULTILINE_IMPLICIT_KEY)$/.test(code)) {
    return ["yaml-syntax", `has no space after the colon; write ${quote(`${key}: ${remainder}`)}`];
  }
  const [first = ""] = message.split("\n");
  return ["yaml-syntax", `isn't valid YAML: ${first.replace(/ at line \d+, column \d+:?$/, "")}`];
}

/** Characters that tools read differently, or that people don't see. */
const FORBIDDEN_CHARACTER = /(?![\t\n\r])\p{Cc}|\r(?!\n)|[\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;

function explainForbidden(character: string): [code: string, message: string] {
  if (character === "\0") {
    return ["yaml-syntax", "contains a NUL byte, maybe from another encoding; save it as UTF-8"];
  }
  if (character === "\r") {
    return ["yaml-syntax", "ends a line with only a carriage return; save the file with Unix or Windows line endings"];
  }
  return [
    "yaml-hidden",
    `contains an invisible character, ${sanitizeLine(character)}, which can make one line look like another; remove it`,
  ];
}

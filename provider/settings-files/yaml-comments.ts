import { Lexer } from "yaml";

/** A comment of a YAML text. */
export interface YamlComment {
  /** With its `#`. */
  readonly text: string;
  /** From 1. */
  readonly line: number;
}

/** The lexer emits this before a plain or block scalar, whose text may start with `#` like a comment. */
const SCALAR = "\u001F";

/** Lists the comments of a YAML text, but not the same characters within a value. */
export function* listYamlComments(text: string): Iterable<YamlComment> {
  let previousLexeme = "";
  let line = 1;
  for (const lexeme of new Lexer().lex(text)) {
    if (lexeme.startsWith("#") && previousLexeme !== SCALAR) yield { text: lexeme, line };
    line += lexeme.split("\n").length - 1;
    previousLexeme = lexeme;
  }
}

/** The rules for names that depend on the kind of a declaration, and on no single word. */
import ts from "typescript";

/**
 * The kinds of names: files and directories; types; functions of a module; and values, which are variables, parameters and
 * declared properties. Methods, keys of object literals and functions inside of functions have no kind, because an
 * interface often gives their names.
 */
export type NameKind = "file" | "type" | "function" | "value";

/** Question words. `why` is missing, because a command of the CLI has this name. */
const QUESTIONS = /^(?:how|what|which|who|whom|whose)$/;
/** Participles that are rejected even for values. A value may have a regular one: `added`, `declared`, `removed`. */
const VALUE_PARTICIPLES = /^(?:begun|brought|found|given|gone|heard|held|looked|meant|taken|thought|wanted)$/;
const PARTICIPLES =
  /^(?:built|chosen|done|hidden|kept|known|left|lost|made|met|paid|read|seen|sent|shown|spent|torn|unknown|unread|unseen|unsent|written|[a-z]{2,}(?<!e)ed)$/;
const PREPOSITIONS =
  /^(?:about|after|against|as|at|because|before|behind|below|beyond|by|during|for|from|if|in|into|left|of|off|on|once|outside|over|per|since|than|through|to|under|unless|until|upon|via|when|where|while|with|within|without)$/;
/** Functions that convert a value or handle an event have such names everywhere. */
const FUNCTION_PREPOSITIONS = /^(?:from|on|to)\b/;
/** Adjectives that begin with a preposition, and the name of a loop. */
const ACCEPTED_PHRASES = /^in (?:memory|place|process)\b|^for each\b/;
/** A value may be a point in time or a place: `before`, `untilMs`. These words start no such name. */
const VALUE_PREPOSITIONS = /^(?:about|of|than|when|while|with|without)$/;

/** Returns the rule that a name breaks, if any. */
export function findBrokenRule(words: readonly string[], kind: NameKind): string | undefined {
  const [firstWord = ""] = words;
  if (words.filter((word) => word === "of").length > 1) return 'contains "of" twice; use get, build, parse or format';
  if (QUESTIONS.test(firstWord)) return "starts with a question word; use a noun or a verb";
  if (words.length === 1) {
    const isParticiple = VALUE_PARTICIPLES.test(firstWord) || (kind !== "value" && PARTICIPLES.test(firstWord));
    if (isParticiple) return "is only a participle; use a noun or a verb";
  }
  return startsWithPreposition(words, kind) ? "is a prepositional phrase; start with a noun or a verb" : undefined;
}

function startsWithPreposition(words: readonly string[], kind: NameKind): boolean {
  const [firstWord = ""] = words;
  const phrase = words.join(" ");
  if (ACCEPTED_PHRASES.test(phrase)) return false;
  if (kind === "value") return VALUE_PREPOSITIONS.test(firstWord);
  if (kind === "function" && FUNCTION_PREPOSITIONS.test(phrase)) return false;
  return PREPOSITIONS.test(firstWord);
}

/** Returns the kind of a declaration; see {@link NameKind}. */
export function getNameKind(node: ts.Node): NameKind | undefined {
  if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) || ts.isClassDeclaration(node)) return "type";
  if (isModuleFunction(node)) return "function";
  // Otherwise, the name is a key of an object, whose type declares it.
  if (ts.isBindingElement(node))
    return ts.isArrayBindingPattern(node.parent) || node.propertyName !== undefined ? "value" : undefined;
  const isValue =
    ts.isVariableDeclaration(node) ||
    ts.isParameter(node) ||
    ts.isNamedTupleMember(node) ||
    ts.isPropertyDeclaration(node) ||
    ts.isPropertySignature(node);
  return isValue ? "value" : undefined;
}

/** Whether a node declares a function of a module, as a declaration or as a constant. */
export function isModuleFunction(node: ts.Node): node is ts.FunctionDeclaration | ts.VariableDeclaration {
  if (ts.isFunctionDeclaration(node)) return node.body !== undefined && ts.isSourceFile(node.parent);
  return getFunctionConstant(node) !== undefined && ts.isSourceFile(node.parent.parent.parent);
}

/** Returns the function that a variable declaration assigns, if any. */
export function getFunctionConstant(node: ts.Node): ts.ArrowFunction | ts.FunctionExpression | undefined {
  if (!ts.isVariableDeclaration(node) || node.initializer === undefined) return undefined;
  const { initializer } = node;
  return ts.isArrowFunction(initializer) || ts.isFunctionExpression(initializer) ? initializer : undefined;
}

/**
 * Checks the names in `examples/`, `provider/`, `scripts/` and `test/` against `scripts/glossary.json` and the rules of
 * `scripts/name-rules.mts`. In TypeScript and JavaScript, it reads the names of directories and files, declarations, names
 * that are given in an export, and the keys of object literals. It reads no local names of imports, and no keys that contain
 * a space or a symbol. Also checks that no two files export types with the same name, and that functions with the same name
 * do the same thing (`scripts/shared-function-names.mts`). Prints a line for each problem, and exits with 1 if there is one.
 *
 *   node scripts/check-names.mts
 */
import { readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import ts from "typescript";
import { findBrokenRule, getNameKind, type NameKind } from "./name-rules.mts";
import { listRepositoryFiles } from "./repository-files.mts";
import { FunctionNames } from "./shared-function-names.mts";

interface NameGlossary {
  /** The rejected words of names, each with the accepted term. */
  words: Record<string, string>;
  /** Names that keep a rejected word or break a rule, as `NAME` or `PATH/FILE.ts NAME`, each with the reason. */
  exceptions: Record<string, string>;
  /** Names of functions with different code, each with the reason. */
  sharedFunctionNames: Record<string, string>;
}

const {
  words: rejected,
  exceptions,
  sharedFunctionNames,
}: NameGlossary = JSON.parse(readFileSync(new URL("glossary.json", import.meta.url), "utf8"));
const problems: string[] = [];
const exportedTypes = new Map<string, string[]>();
const functionNames = new FunctionNames();
const usedExceptions = new Set<string>();
const checkedDirectories = new Set<string>();

for (const file of listRepositoryFiles("examples", "provider", "scripts", "test")) {
  if (!/\.m?[jt]s$/.test(file)) continue;
  checkName(basename(file).replace(/\..*/, ""), file, "file");
  checkDirectories(file);
  const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true);
  ts.forEachChild(source, function visit(node) {
    const { name } = node as ts.NamedDeclaration;
    if (name !== undefined && isDeclaration(node) && isPlainName(name)) {
      const location = `${file}:${source.getLineAndCharacterOfPosition(name.getStart()).line + 1}`;
      checkName(name.text, location, getNameKind(node));
      // Each example is a program of its own.
      if (!file.startsWith("examples/")) functionNames.add(node, location);
      if (isExportedType(node)) exportedTypes.set(name.text, [...(exportedTypes.get(name.text) ?? []), file]);
    }
    ts.forEachChild(node, visit);
  });
}
for (const [name, declaringFiles] of exportedTypes) {
  if (declaringFiles.length > 1)
    problems.push(`${declaringFiles.join(", ")} export the type ${name}. Give each its own name.`);
}
for (const [name, locations] of functionNames.findConflicts()) {
  if (Object.hasOwn(sharedFunctionNames, name)) usedExceptions.add(name);
  else
    problems.push(`${locations.join(", ")} give the name ${name} to different code. Share the function, or rename it.`);
}
for (const name of [...Object.keys(exceptions), ...Object.keys(sharedFunctionNames)]) {
  if (!usedExceptions.has(name))
    problems.push(`scripts/glossary.json: "${name}" doesn't exist any more. Remove the exception.`);
}
for (const problem of problems) console.log(problem);
process.exitCode = problems.length > 0 ? 1 : 0;

/** Checks the names of a file's directories, each directory once. */
function checkDirectories(file: string): void {
  for (let directory = dirname(file); directory !== "."; directory = dirname(directory)) {
    if (checkedDirectories.has(directory)) return;
    checkedDirectories.add(directory);
    checkName(basename(directory), directory, "file");
  }
}

function checkName(name: string, location: string, kind: NameKind | undefined): void {
  const bareName = name.replace(/^#/, "");
  const words = splitWords(bareName);
  const nameProblems = words
    .filter((word) => Object.hasOwn(rejected, word))
    .map((word) => `contains "${word}"; the glossary has: ${rejected[word]}`);
  const brokenRule = kind === undefined ? undefined : findBrokenRule(words, kind);
  if (brokenRule !== undefined) nameProblems.push(brokenRule);
  if (nameProblems.length === 0) return;
  const exception = [`${location.replace(/:\d+$/, "")} ${bareName}`, bareName].find((key) =>
    Object.hasOwn(exceptions, key),
  );
  if (exception !== undefined) usedExceptions.add(exception);
  else problems.push(...nameProblems.map((problem) => `${location}: ${name} ${problem}.`));
}

/** Splits a camel-case, kebab-case or upper-case name into lower-case words. */
function splitWords(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z]+/)
    .filter((word) => word !== "");
}

/** Whether a node declares a name, rather than refers to one. */
function isDeclaration(node: ts.Node): boolean {
  return !(
    ts.isPropertyAccessExpression(node) ||
    ts.isShorthandPropertyAssignment(node) ||
    ts.isImportSpecifier(node) ||
    (ts.isExportSpecifier(node) && node.propertyName === undefined) ||
    ts.isMetaProperty(node)
  );
}

/** Whether the text of a name is a word, and not computed or a sentence. */
function isPlainName(name: ts.Node): name is ts.Identifier | ts.PrivateIdentifier | ts.StringLiteral {
  return (
    ts.isIdentifier(name) || ts.isPrivateIdentifier(name) || (ts.isStringLiteral(name) && /^[\w-]+$/.test(name.text))
  );
}

/** Whether a node is an exported type or class. */
function isExportedType(node: ts.Node): boolean {
  if (!(ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) || ts.isClassDeclaration(node)))
    return false;
  return node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false;
}

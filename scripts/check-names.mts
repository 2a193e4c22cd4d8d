/**
 * Checks the names in `provider/`, `scripts/` and `test/` against `scripts/glossary.json`. In TypeScript and JavaScript, it
 * reads the names of directories and files, declarations, names that are given in an export, and the keys of object
 * literals. It reads no local names of imports, and no keys that contain a space or a symbol. Also checks that no two files
 * export types or functions with the same name. Prints a line for each problem, and exits with 1 if there is one.
 *
 *   node scripts/check-names.mts
 */
import { readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import ts from "typescript";
import { listRepositoryFiles } from "./repository-files.mts";

interface NameGlossary {
  /** The rejected words of names, each with the accepted term. */
  words: Record<string, string>;
  /** Declarations that keep a rejected word, as `file.ts name`, each with the reason. */
  exceptions: Record<string, string>;
}

const { words: rejected, exceptions }: NameGlossary = JSON.parse(
  readFileSync(new URL("glossary.json", import.meta.url), "utf8"),
);
const problems: string[] = [];
const exportedNames = new Map<string, string[]>();
const usedExceptions = new Set<string>();
const checkedDirectories = new Set<string>();

for (const file of listRepositoryFiles("provider", "scripts", "test")) {
  if (!/\.m?[jt]s$/.test(file)) continue;
  checkName(basename(file).replace(/\..*/, ""), file);
  checkDirectories(file);
  const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true);
  ts.forEachChild(source, function visit(node) {
    const { name } = node as ts.NamedDeclaration;
    if (name !== undefined && isDeclaration(node) && isPlainName(name)) {
      checkName(name.text, `${file}:${source.getLineAndCharacterOfPosition(name.getStart()).line + 1}`);
      if (isExported(node, file)) exportedNames.set(name.text, [...(exportedNames.get(name.text) ?? []), file]);
    }
    ts.forEachChild(node, visit);
  });
}
for (const [name, declaringFiles] of exportedNames) {
  if (declaringFiles.length > 1)
    problems.push(`${declaringFiles.join(", ")} export the name ${name}. Give each its own name.`);
}
for (const name of Object.keys(exceptions)) {
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
    checkName(basename(directory), directory);
  }
}

function checkName(name: string, location: string): void {
  const bareName = name.replace(/^#/, "");
  for (const word of splitWords(bareName)) {
    const accepted = Object.hasOwn(rejected, word) ? rejected[word] : undefined;
    if (accepted === undefined) continue;
    const exception = `${basename(location).replace(/:\d+$/, "")} ${bareName}`;
    if (Object.hasOwn(exceptions, exception)) usedExceptions.add(exception);
    else problems.push(`${location}: ${name} contains "${word}"; the glossary has: ${accepted}.`);
  }
}

/** Splits a camel-case, kebab-case or upper-case name into lower-case words. */
function splitWords(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z]+/);
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

/** Whether a node is an exported type, class or, outside of tests, function. Tests share few functions. */
function isExported(node: ts.Node, file: string): boolean {
  if (
    !(
      ts.isInterfaceDeclaration(node) ||
      ts.isTypeAliasDeclaration(node) ||
      ts.isClassDeclaration(node) ||
      (ts.isFunctionDeclaration(node) && !file.startsWith("test/"))
    )
  )
    return false;
  return node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false;
}

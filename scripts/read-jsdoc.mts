/**
 * Reads the descriptions for the plugin's schema from the sources: the JSDoc of interfaces, classes, functions, types,
 * constants and their members. It only parses the files, without type checking, so it is fast.
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import type { DeclarationDoc, DocIndex, MemberDoc } from "../provider/dist/plugin/schema/doc-index.js";

/** The files with the documentation of the plugin's resources and functions. */
const SOURCES = [
  "resources/*.ts",
  "resources/functions/*.ts",
  "gitops/tenant-settings.ts",
  "model/{assumptions,arguments,list-arguments,list-mode}.ts",
  "client/schemas.ts",
];

/** @param packageDirectory the directory of the package */
export function readPluginDocs(packageDirectory: string): DocIndex {
  return readDescriptions(
    globSync(SOURCES, { cwd: packageDirectory })
      .sort()
      .map((file) => join(packageDirectory, file)),
  );
}

/** Reads the JSDoc of all top-level declarations, by name. An interface also gets the members that it inherits. */
function readDescriptions(files: readonly string[]): DocIndex {
  const descriptions = new Map<string, DeclarationDoc>();
  const parents = new Map<string, readonly string[]>();
  for (const file of files) {
    const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true);
    for (const statement of source.statements) {
      for (const [name, declaration] of readDeclarations(statement)) {
        // Each provider defines the function under its public name. The declaration with a doc comment wins.
        if (!descriptions.get(name)?.text) descriptions.set(name, declaration);
      }
      if (ts.isInterfaceDeclaration(statement)) parents.set(statement.name.text, getParentNames(statement));
    }
  }
  const collectMembers = (name: string): Readonly<Record<string, MemberDoc>> => {
    const inherited = (parents.get(name) ?? []).map(collectMembers);
    return Object.assign({}, ...inherited, descriptions.get(name)?.members);
  };
  return Object.fromEntries(
    [...descriptions].map(([name, declaration]) => [name, { ...declaration, members: collectMembers(name) }]),
  );
}

function readDeclarations(statement: ts.Statement): (readonly [string, DeclarationDoc])[] {
  const text = getDocText(statement);
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.map(({ name }) => [name.getText(), { text, members: {} }]);
  }
  if (ts.isTypeAliasDeclaration(statement)) return [[statement.name.text, { text, members: {} }]];
  if (ts.isInterfaceDeclaration(statement) || ts.isClassDeclaration(statement)) {
    return [[statement.name?.text ?? "", { text, members: readMembers(statement) }]];
  }
  if (!ts.isFunctionDeclaration(statement)) return [];
  const [args] = statement.parameters;
  return [
    [
      statement.name?.text ?? "",
      { text, members: {}, args: args?.type?.getText() ?? "", result: statement.type?.getText() ?? "" },
    ],
  ];
}

function readMembers(declaration: ts.InterfaceDeclaration | ts.ClassDeclaration): Record<string, MemberDoc> {
  const members: Record<string, MemberDoc> = {};
  for (const member of declaration.members) {
    if (!ts.isPropertySignature(member) && !ts.isPropertyDeclaration(member)) continue;
    if (ts.isPrivateIdentifier(member.name)) continue;
    members[member.name.getText()] = { text: getDocText(member), type: member.type?.getText() ?? "" };
  }
  return members;
}

function getParentNames(declaration: ts.InterfaceDeclaration): readonly string[] {
  return (declaration.heritageClauses ?? []).flatMap((clause) => clause.types.map((type) => type.expression.getText()));
}

/** Returns the JSDoc of a node without its tags. Each paragraph becomes one line, and links become their targets. */
function getDocText(node: ts.Node): string {
  const [doc] = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc);
  const text = ts.getTextOfJSDocComment(doc?.comment) ?? "";
  return text
    .replace(/\{@link\s+([^\s|}]+)[^}]*\}/g, "$1")
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.replace(/\s*\n\s*/g, " ").trim())
    .join("\n\n");
}

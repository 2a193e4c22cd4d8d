/**
 * What the sources say of the resources and functions, for the plugin's schema: the JSDoc of interfaces, classes, functions,
 * types and constants, and of their members. Read from the syntax alone, without types, so it costs a moment.
 */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import type { DeclaredMember, DeclaredWords, Words } from "../provider/dist/plugin/schema/words.js";

/** Where the words are about what the plugin offers. */
const SOURCES = [
  "resources/*.ts",
  "resources/functions/*.ts",
  "gitops/tenant-settings.ts",
  "settings/{assumptions,arguments,list-arguments,list-mode}.ts",
  "client/schemas.ts",
];

/** @param folder that of the package. */
export function pluginWords(folder: string): Words {
  return readWords(
    globSync(SOURCES, { cwd: folder })
      .sort()
      .map((file) => join(folder, file)),
  );
}

/** The words of all that the files declare at their top, by name. Members that an interface inherits are its own. */
function readWords(files: readonly string[]): Words {
  const words = new Map<string, DeclaredWords>();
  const parents = new Map<string, readonly string[]>();
  for (const file of files) {
    const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true);
    for (const statement of source.statements) {
      for (const [name, declared] of declaredIn(statement)) {
        // A function is defined for every front under the name that it has in programs, where its words are.
        if (!words.get(name)?.text) words.set(name, declared);
      }
      if (ts.isInterfaceDeclaration(statement)) parents.set(statement.name.text, parentsOf(statement));
    }
  }
  const membersOf = (name: string): Readonly<Record<string, DeclaredMember>> => {
    const inherited = (parents.get(name) ?? []).map(membersOf);
    return Object.assign({}, ...inherited, words.get(name)?.members);
  };
  return Object.fromEntries(
    [...words].map(([name, declared]) => [name, { ...declared, members: membersOf(name) }]),
  );
}

function declaredIn(statement: ts.Statement): (readonly [string, DeclaredWords])[] {
  const text = textOf(statement);
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.map(({ name }) => [name.getText(), { text, members: {} }]);
  }
  if (ts.isTypeAliasDeclaration(statement)) return [[statement.name.text, { text, members: {} }]];
  if (ts.isInterfaceDeclaration(statement) || ts.isClassDeclaration(statement)) {
    return [[statement.name?.text ?? "", { text, members: membersIn(statement) }]];
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

function membersIn(
  declaration: ts.InterfaceDeclaration | ts.ClassDeclaration,
): Record<string, DeclaredMember> {
  const members: Record<string, DeclaredMember> = {};
  for (const member of declaration.members) {
    if (!ts.isPropertySignature(member) && !ts.isPropertyDeclaration(member)) continue;
    if (ts.isPrivateIdentifier(member.name)) continue;
    members[member.name.getText()] = { text: textOf(member), type: member.type?.getText() ?? "" };
  }
  return members;
}

function parentsOf(declaration: ts.InterfaceDeclaration): readonly string[] {
  return (declaration.heritageClauses ?? []).flatMap((clause) =>
    clause.types.map((type) => type.expression.getText()),
  );
}

/** The JSDoc of a node without its tags: a line a paragraph, and links as what they link to. */
function textOf(node: ts.Node): string {
  const [doc] = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc);
  const text = ts.getTextOfJSDocComment(doc?.comment) ?? "";
  return text
    .replace(/\{@link\s+([^\s|}]+)[^}]*\}/g, "$1")
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.replace(/\s*\n\s*/g, " ").trim())
    .join("\n\n");
}

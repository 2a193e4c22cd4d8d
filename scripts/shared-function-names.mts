/** Finds functions of one name that do different things. */
import ts from "typescript";
import { getFunctionConstant, isModuleFunction } from "./name-rules.mts";

interface NamedFunction {
  location: string;
  isTest: boolean;
  isExported: boolean;
  /** Whether it belongs to a module, rather than to a function. */
  isOfModule: boolean;
  body: ts.ConciseBody;
}

/**
 * Collects the functions of all files, and finds names that stand for different code. In the package and the scripts, two
 * functions of modules with one name must have the same code, and an inner function may not have the name of an exported
 * function. In the tests, the name of an exported function belongs to it alone; other tests may share a name.
 */
export class FunctionNames {
  readonly #functions = new Map<string, NamedFunction[]>();

  /** Adds a node, if it declares a function. */
  add(node: ts.Node, location: string): void {
    const declared = ts.isFunctionDeclaration(node) ? node : getFunctionConstant(node);
    const name = ts.getNameOfDeclaration(node as ts.Declaration);
    if (declared?.body === undefined || name === undefined || !ts.isIdentifier(name)) return;
    const statement = ts.isFunctionDeclaration(node) ? node : node.parent.parent;
    const isExported =
      ts.canHaveModifiers(statement) &&
      (statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false);
    const entry = {
      location,
      isTest: location.startsWith("test/"),
      isExported,
      isOfModule: isModuleFunction(node),
      body: declared.body,
    };
    this.#functions.set(name.text, [...(this.#functions.get(name.text) ?? []), entry]);
  }

  /** Returns each name that stands for different code, with the locations of its functions. */
  findConflicts(): Map<string, string[]> {
    const conflicts = new Map<string, string[]>();
    for (const [name, functions] of this.#functions) {
      const [tests = [], sources = []] = [true, false].map((isTest) =>
        functions.filter((candidate) => candidate.isTest === isTest),
      );
      const exported = sources.filter(({ isExported }) => isExported);
      const groups = [
        sources.filter(({ isOfModule }) => isOfModule || exported.length > 0),
        tests.some(({ isExported }) => isExported)
          ? [...exported, ...tests.filter(({ isOfModule }) => isOfModule)]
          : [],
      ];
      const compared = groups.filter(isDifferent).flat();
      if (compared.length > 0) conflicts.set(name, [...new Set(compared.map(({ location }) => location))]);
    }
    return conflicts;
  }
}

function isDifferent(functions: readonly NamedFunction[]): boolean {
  return functions.length > 1 && new Set(functions.map(({ body }) => serializeBody(body))).size > 1;
}

/** Serializes a body without types, comments and white space. An arrow function may have an expression as its body. */
function serializeBody(body: ts.ConciseBody): string {
  const code = ts.isBlock(body) ? body.getText() : `{ return ${body.getText()}; }`;
  const { outputText } = ts.transpileModule(`async function* body() ${code}`, {
    compilerOptions: { target: ts.ScriptTarget.ESNext, removeComments: true },
  });
  return outputText.replace(/\s+/g, "");
}

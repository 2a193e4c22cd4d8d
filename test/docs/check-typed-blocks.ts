import { join, posix, resolve } from "node:path";
import ts from "typescript";
import { collectFilesUpTo, type Fence, type FencedFile, type Problem } from "./fences";

/** A virtual directory for the blocks, from which the compiler finds the packages. Nothing is written there. */
const DIRECTORY = resolve("test/docs/.blocks").replaceAll("\\", "/");

const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  lib: ["lib.es2024.d.ts", "lib.esnext.disposable.d.ts"],
  types: ["node"],
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  moduleDetection: ts.ModuleDetectionKind.Force,
  strict: true,
  esModuleInterop: true,
  resolveJsonModule: true,
  skipLibCheck: true,
  noEmit: true,
};

/** Names that a block without imports can use in addition to the package's exports. */
const PREDEFINED_NAMES = {
  pulumi: 'import * as pulumi from "@pulumi/pulumi";',
  baseUrl: "declare const baseUrl: string;",
  apiKey: "declare const apiKey: string;",
};

interface Root {
  readonly fence: Fence;
  readonly name: string;
  /** The number of lines inserted before the block's own. */
  readonly added: number;
}

/** Returns the compiler's errors in the TypeScript blocks of all pages, which it checks as one program. */
export function checkTypedBlocks(files: readonly FencedFile[]): Problem[] {
  const texts = new Map<string, string>();
  const exported = listExports("pulumi-email-security");
  const roots = files.flatMap((file, page) =>
    file.fences
      .filter(({ language, isLeftOut }) => language === "ts" && !isLeftOut)
      .map((fence, block): Root => {
        const directory = `${DIRECTORY}/${page}/${block}`;
        for (const [name, text] of collectFilesUpTo(file, fence)) texts.set(posix.join(directory, name), text);
        const name = posix.join(directory, fence.file ?? "block.ts");
        const prelude = fence.file === undefined && !/^\s*import\b/m.test(fence.text);
        texts.set(name, prelude ? `${buildPrelude(fence.text, exported)}\n${fence.text}` : fence.text);
        return { fence, name, added: prelude ? 1 : 0 };
      }),
  );
  const host = createCompilerHost();
  const { fileExists, readFile, directoryExists } = host;
  host.fileExists = (name) => texts.has(name) || fileExists(name);
  host.readFile = (name) => texts.get(name) ?? readFile(name);
  host.directoryExists = (name) => name.startsWith(DIRECTORY) || (directoryExists?.(name) ?? true);
  const program = ts.createProgram(
    roots.map(({ name }) => name),
    OPTIONS,
    host,
  );
  return roots.flatMap(({ fence, name, added }) => {
    const source = program.getSourceFile(name);
    if (source === undefined) return [{ path: fence.path, line: fence.line, message: "not read" }];
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)].map(
      ({ start = 0, messageText }): Problem => {
        const { line } = source.getLineAndCharacterOfPosition(start);
        const message = ts.flattenDiagnosticMessageText(messageText, "\n");
        return { path: fence.path, line: fence.line + 1 + line - added, message };
      },
    );
  });
}

/** The packages' types, parsed once for all programs. */
const parsed = new Map<string, ts.SourceFile | undefined>();

function createCompilerHost(): ts.CompilerHost {
  const host = ts.createCompilerHost(OPTIONS);
  const { getSourceFile } = host;
  host.getSourceFile = (name, ...rest) => {
    if (name.startsWith(DIRECTORY)) return getSourceFile(name, ...rest);
    if (!parsed.has(name)) parsed.set(name, getSourceFile(name, ...rest));
    return parsed.get(name);
  };
  return host;
}

/**
 * Returns a line to insert before the block. It imports the package's exports that the block uses and doesn't declare
 * itself.
 */
function buildPrelude(text: string, exported: readonly string[]): string {
  const isMeant = (name: string) =>
    new RegExp(`(?<![.\\w])${name}\\b`).test(text) &&
    !new RegExp(`\\b(const|let|class|function|type|interface) \\{?[^=\\n]*\\b${name}\\b[^=\\n]*=`).test(text);
  const declarations = Object.entries(PREDEFINED_NAMES).flatMap(([name, line]) => (isMeant(name) ? [line] : []));
  const imports = exported.filter(isMeant);
  return [`import { ${imports.join(", ")} } from "pulumi-email-security";`, ...declarations].join(" ");
}

/** Returns the names that a package exports. */
function listExports(name: string): string[] {
  const { resolvedModule } = ts.resolveModuleName(name, join(DIRECTORY, "any.ts"), OPTIONS, ts.sys);
  const file = resolvedModule?.resolvedFileName ?? "";
  const program = ts.createProgram([file], OPTIONS, createCompilerHost());
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(file);
  const symbol = source && checker.getSymbolAtLocation(source);
  if (symbol === undefined) throw new Error(`${name} has no types; is it built?`);
  return checker.getExportsOfModule(symbol).map((item) => item.name);
}

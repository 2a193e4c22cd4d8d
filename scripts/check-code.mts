/**
 * Checks rules that neither the compiler nor the linter knows; `rules` below lists them. Prints a line for each problem, and exits with 1 if
 * there is one.
 *
 *   node scripts/check-code.mts
 */
import { readFileSync } from "node:fs";
import ts from "typescript";
import { listRepositoryFiles } from "./repository-files.mts";

interface Rule {
  /** The files that it applies to. */
  files: RegExp;
  exceptions?: readonly string[];
  /** Returns the problem of a node, if any. */
  check: (node: ts.Node) => string | undefined;
}

/** Commands that need a program, which the repository of a rollout doesn't have. */
const PROGRAM_COMMAND = /pulumi (?:up|refresh|preview|destroy|import)|--refresh/;

const PRUNING_MODES = new Set(["exclusive", "exclusive-allows"]);

const rules: readonly Rule[] = [
  {
    files: /^provider\//,
    exceptions: ["provider/model/list-mode.ts"],
    check: (node) =>
      ts.isStringLiteralLike(node) && PRUNING_MODES.has(node.text)
        ? "use the functions of model/list-mode.ts instead of the name of a mode"
        : undefined,
  },
  {
    files: /^provider\/(?:client|model|resources|tenant)\//,
    // Only a program's own resources have its messages.
    exceptions: ["provider/resources/registration-preflight.ts"],
    check: (node) =>
      isText(node) && PROGRAM_COMMAND.test(node.text)
        ? "don't suggest a command that needs a program: a rollout shows the message, too"
        : undefined,
  },
  {
    files: /^provider\/commands\//,
    check: (node) =>
      (ts.isPropertyAssignment(node) || ts.isVariableDeclaration(node)) &&
      ts.isIdentifier(node.name) &&
      node.name.text === "log" &&
      node.initializer !== undefined &&
      hasConsoleLog(node.initializer)
        ? "write the log to stderr: console.error"
        : undefined,
  },
  {
    // A worker has no data to print, so all its lines are log.
    files: /^provider\/commands\/worker\//,
    check: (node) => (isConsoleLog(node) ? "write the log to stderr: console.error" : undefined),
  },
  {
    files: /^test\//,
    exceptions: [
      // Their pipes stay open in processes that outlive them, or nobody reads them.
      "test/docs/shell-session.ts",
      "test/integration/gitops/concurrent-edits.slow.test.ts",
      "test/support/postgres.ts",
      "test/support/running-provider.ts",
    ],
    check: (node) =>
      ts.isCallExpression(node) && isExitListener(node)
        ? 'wait for "close" of a child process: at "exit", its output may be unread'
        : undefined,
  },
  {
    files: /^test\//,
    check: (node) =>
      ts.isBinaryExpression(node) && /^[<>]=?$/.test(node.operatorToken.getText()) && hasDateNow(node)
        ? "compare times of performance.now() or getMonotonicMs(): the clock may be set in between"
        : undefined,
  },
];

const problems: string[] = [];
/** The environment variables that the sources read or set, each with a place. */
const variables = new Map<string, string>();

for (const file of listRepositoryFiles("provider", "test")) {
  const applicable = rules.filter(({ files, exceptions = [] }) => files.test(file) && !exceptions.includes(file));
  if (!/\.m?ts$/.test(file) || /\/fixtures\//.test(file)) continue;
  const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true);
  const formatNodeLocation = (node: ts.Node): string =>
    `${file}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}`;
  ts.forEachChild(source, function visit(node) {
    for (const { check } of applicable) {
      const problem = check(node);
      if (problem !== undefined) problems.push(`${formatNodeLocation(node)}: ${problem}.`);
    }
    if (file.startsWith("provider/"))
      for (const name of readVariables(node)) variables.set(name, formatNodeLocation(node));
    ts.forEachChild(node, visit);
  });
}
checkVariables("docs/reference/environment.md");
for (const problem of problems) console.log(problem);
process.exitCode = problems.length > 0 ? 1 : 0;

/** Checks that the page documents exactly the variables that the package reads or sets. */
function checkVariables(page: string): void {
  // Other programs read the variables of this section.
  const text = readFileSync(page, "utf8").replace(/^## Variables of other programs$[\s\S]*?(?=^## )/m, "");
  const documented = new Set([...text.matchAll(/^\| `([A-Z][A-Z\d_]+)` \|/gm)].map(([, name = ""]) => name));
  // Node.js reads them for the package.
  for (const name of ["PATH", "TMPDIR"]) variables.set(name, page);
  // A rollout extends it for its own processes.
  variables.delete("NODE_OPTIONS");
  for (const [name, location] of variables) {
    if (!documented.has(name)) problems.push(`${location}: ${name} is missing in ${page}.`);
  }
  for (const name of documented) {
    if (!variables.has(name)) problems.push(`${page}: nothing in provider/ reads ${name}. Remove it.`);
  }
}

/** Returns the environment variables that a node names. */
function readVariables(node: ts.Node): string[] {
  if (ts.isElementAccessExpression(node) && isEnvironment(node.expression)) {
    const { argumentExpression: key } = node;
    return ts.isStringLiteralLike(key) && /^[A-Z][A-Z\d_]+$/.test(key.text) ? [key.text] : [];
  }
  if (ts.isVariableDeclaration(node) && ts.isObjectBindingPattern(node.name)) {
    const isRead = node.initializer !== undefined && isEnvironment(node.initializer);
    const names = node.name.elements.map(({ name, propertyName }) => (propertyName ?? name).getText());
    return isRead ? names.filter((name) => /^[A-Z][A-Z\d_]+$/.test(name)) : [];
  }
  if (!ts.isStringLiteralLike(node) && !(ts.isIdentifier(node) && ts.isPropertyAssignment(node.parent))) return [];
  const pattern = ts.isIdentifier(node)
    ? /^EMAIL_SECURITY_/
    : /^(?:(?:EMAIL_SECURITY|PULUMI)_[A-Z\d_]*[A-Z\d]|(?:HTTPS?|NO)_PROXY)$/;
  return pattern.test(node.text) ? [node.text] : [];
}

function isEnvironment(node: ts.Expression): boolean {
  return /^(?:env|environment|(?:.*\.)(?:env|environment))$/.test(node.getText());
}

function isText(node: ts.Node): node is ts.LiteralLikeNode {
  return ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node);
}

function isConsoleLog(node: ts.Node): boolean {
  return ts.isPropertyAccessExpression(node) && node.getText() === "console.log";
}

function hasConsoleLog(node: ts.Node): boolean {
  return isConsoleLog(node) || ts.forEachChild(node, hasConsoleLog) === true;
}

function hasDateNow(node: ts.Node): boolean {
  return (
    (ts.isPropertyAccessExpression(node) && node.getText() === "Date.now") || ts.forEachChild(node, hasDateNow) === true
  );
}

/** Whether a call waits for the exit of a child: `once(child, "exit")`, `child.once("exit", …)`. */
function isExitListener({ expression, arguments: args }: ts.CallExpression): boolean {
  const isExit = (arg: ts.Node | undefined): boolean =>
    arg !== undefined && ts.isStringLiteralLike(arg) && arg.text === "exit";
  if (ts.isIdentifier(expression)) return expression.text === "once" && isExit(args[1]);
  return (
    ts.isPropertyAccessExpression(expression) &&
    /^on(?:ce)?$/.test(expression.name.text) &&
    expression.expression.getText() !== "process" &&
    isExit(args[0])
  );
}

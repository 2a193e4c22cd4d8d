import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const run = promisify(execFile);
const SCRIPT = resolve("scripts/check-names.mts");

/** Returns the problems that the check reports for a repository with these files. */
async function findProblems(files: Readonly<Record<string, string>>): Promise<string[]> {
  const directory = mkdtempSync(join(tmpdir(), "email-security-names-"));
  try {
    execFileSync("git", ["init", "--quiet"], { cwd: directory });
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(directory, path)), { recursive: true });
      writeFileSync(join(directory, path), text);
    }
    const { stdout } = await run(process.execPath, [SCRIPT], { cwd: directory }).catch(
      (error: { stdout: string }) => error,
    );
    // The glossary's exceptions concern files that only the real repository has.
    return stdout.split("\n").filter((line) => line !== "" && !line.startsWith("scripts/glossary.json: "));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const findNames = async (text: string): Promise<string[]> =>
  (await findProblems({ "provider/a.ts": text })).map((line) => line.replace(/^provider\/a\.ts:\d+: (\S+) .*/, "$1"));

it("rejects words of the glossary in each kind of name", async () => {
  const text = `
    export interface FolderView { readonly lastFolder: string }
    class Store { readonly #folders = 1; openFolder(folderPath: string): void {} }
    const { path: ownFolder } = store;
    const options = { "folder-list": 1 };
  `;
  expect(await findNames(text)).toEqual([
    "FolderView",
    "lastFolder",
    "#folders",
    "openFolder",
    "folderPath",
    "ownFolder",
    "folder-list",
  ]);
});

it("rejects question words, participles and prepositional phrases", async () => {
  const text = `
    export interface Measured { readonly whatChanges: string; readonly of: number }
    type WithTotals = Measured;
    function given() {}
    const whileQuiet = () => {};
    function show(who: string, wanted: number, about: string) {}
    const [found, { path: thought }] = list;
  `;
  expect(await findNames(text)).toEqual([
    "Measured",
    "whatChanges",
    "of",
    "WithTotals",
    "given",
    "whileQuiet",
    "who",
    "wanted",
    "about",
    "found",
    "thought",
  ]);
});

it("rejects two of in one name, and refuse", async () => {
  expect(await findNames("function rowsOfValueOf() {}\nfunction refuseEntry() {}")).toEqual([
    "rowsOfValueOf",
    "refuseEntry",
  ]);
});

it("accepts common names", async () => {
  const text = `
    export interface InMemoryStore { readonly before: Row[]; readonly after: Row[]; readonly untilMs: number }
    const { added, removed, declared } = compare();
    const byValue = new Map();
    function onRequest(at: number, perSecond: number) {}
    const toEntry = (whole: string) => whole;
    class WhySubject { of() {} with() {} }
    readdir(path, { withFileTypes: true });
  `;
  expect(await findNames(text)).toEqual([]);
});

it("rejects the names of files and directories", async () => {
  const problems = await findProblems({
    "provider/told/with-unseen.ts": "",
    "scripts/what-undoes.mts": "",
    "test/unit/for-each-row.test.ts": "",
  });
  expect(problems.map((line) => line.replace(/: .*/, ""))).toEqual([
    "provider/told/with-unseen.ts",
    "provider/told",
    "scripts/what-undoes.mts",
  ]);
});

it("rejects an exported type that two files declare", async () => {
  const text = "export interface Change {}";
  expect(await findProblems({ "provider/a.ts": text, "test/b.ts": text })).toEqual([
    "provider/a.ts, test/b.ts export the type Change. Give each its own name.",
  ]);
});

it("rejects functions of one name with different code", async () => {
  const problems = await findProblems({
    "provider/a.ts": "const getName = (a: Row): string => a.name;\nfunction isKept() { return true; }",
    "provider/b.ts": "export function format() {}\nfunction getName(a) { return a.title; }",
    "scripts/c.mts": "function run() { const format = () => 1; }",
  });
  expect(problems).toEqual([
    "provider/a.ts:1, provider/b.ts:2 give the name getName to different code. Share the function, or rename it.",
    "provider/b.ts:1, scripts/c.mts:1 give the name format to different code. Share the function, or rename it.",
  ]);
});

it("accepts functions of one name with the same code", async () => {
  const problems = await findProblems({
    "provider/a.ts": "const getName = (a: Row): string => a.name as string;",
    "provider/b.ts": "export function getName(a: Item) {\n  // The title.\n  return a.name;\n}",
    "scripts/c.mts": "function run() { const read = () => 1; }\nfunction start() { const read = () => 2; }",
  });
  expect(problems).toEqual([]);
});

it("reserves the names of exported functions in tests", async () => {
  const problems = await findProblems({
    "provider/a.ts": "export function readPlan() { return 1; }\nexport function makePlan() { return 1; }",
    "test/support/helper.ts": "export function buildRow() { return 1; }\nexport function makePlan() { return 2; }",
    "test/unit/a.test.ts": "function buildRow() { return 2; }\nfunction build() { return 1; }",
    "test/unit/b.test.ts": "function build() { return 2; }\nfunction readPlan() { return 2; }",
  });
  expect(problems.map((line) => /name (\w+) to/.exec(line)?.[1])).toEqual(["makePlan", "buildRow"]);
});

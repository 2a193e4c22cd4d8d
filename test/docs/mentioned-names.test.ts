import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { expect, it } from "vitest";
import { createProgram } from "../../provider/commands/program";
import { ENVIRONMENT_VARIABLES } from "../../provider/model/environment-variables";
import { SETTING_NAMES } from "../../provider/resources/setting-names";
import { parseFences } from "./fences";
import { listMarkdownFiles } from "./markdown-files";

/*
 * Names that pages mention, in prose and in blocks that nothing runs: commands, options, variables, keys and scripts.
 */

/** Text that a reader could type or write: one line per inline code span and per line of a block. */
const lines = listMarkdownFiles()
  .filter(({ path }) => path !== "CHANGELOG.md")
  .flatMap((file) => {
    const inline = [...file.text.matchAll(/(?<!`)`([^`\n]+)`(?!`)/g)].map(([, text = ""]) => text);
    const blocks = parseFences(file).fences.map(({ text }) => text.replace(/\\\n\s*/g, " "));
    return [...inline, ...blocks.flatMap((text) => text.split("\n"))].map((text) => ({
      path: file.path,
      text,
    }));
  });

function listWrongLines(findProblems: (text: string) => readonly string[]): string[] {
  return [...new Set(lines.flatMap(({ path, text }) => findProblems(text).map((problem) => `${path}: ${problem}`)))];
}

it("names only existing commands and options", () => {
  const all = createProgram();
  const commands = /(?:^|[\s(=])email-security +([a-z][a-z-]*)((?: +[^|;&#`]+)?)/g;
  expect(
    listWrongLines((text) =>
      [...text.matchAll(commands)].flatMap(([, subcommand = "", rest = ""]) =>
        findCommandProblems(all, [subcommand, ...rest.split(/\s+/)]),
      ),
    ),
  ).toEqual([]);
});

/** Returns the unknown subcommands and options of a command line. */
function findCommandProblems(all: Command, words: readonly string[]): string[] {
  let command = all;
  const rest = words.filter(Boolean);
  while (command.commands.length > 0 && /^[a-z]+$/.test(rest[0] ?? "")) {
    const subcommand = command.commands.find((candidate) => candidate.name() === rest[0]);
    // In prose, any word can follow `rollout`.
    if (subcommand === undefined) return rest[0] === "help" ? [] : [`${command.name()} ${rest[0]}`];
    command = subcommand;
    rest.shift();
  }
  const known = new Set([...command.options.flatMap(({ long }) => long ?? []), "--help", "--version"]);
  return rest
    .flatMap((word) => word.match(/^--[a-z][a-z-]*/) ?? [])
    .filter((option) => !known.has(option))
    .map((option) => `${command.name()} ${option}`);
}

it("names only known EMAIL_SECURITY variables", () => {
  const known = new Set(ENVIRONMENT_VARIABLES.map((name) => `EMAIL_SECURITY_${name}`));
  expect(
    listWrongLines((text) =>
      (text.match(/\bEMAIL_SECURITY_[A-Z_]*[A-Z]\b/g) ?? []).filter(
        // Excludes the keys of individual tenants, the credentials of sources and the variables of the tests.
        (name) => !known.has(name) && !/^EMAIL_SECURITY_(?:API_KEY|SOURCE|TEST)_/.test(name),
      ),
    ),
  ).toEqual([]);
});

it("names only known configuration keys", () => {
  // `ownDomain` is a deliberate typo, in an example of the error it causes.
  const known: readonly string[] = [...SETTING_NAMES, "ownDomain"];
  expect(
    listWrongLines((text) =>
      [...text.matchAll(/(?<!-)\bemail-security:([a-z][a-zA-Z]*)\b(?!:)/g)].flatMap(([all, name = ""]) =>
        known.includes(name) ? [] : [all],
      ),
    ),
  ).toEqual([]);
});

it("names only existing npm scripts", () => {
  const known = ["package.json", "examples/gitops/package.json"].flatMap((file) =>
    Object.keys((JSON.parse(readFileSync(file, "utf8")) as { scripts?: object }).scripts ?? {}),
  );
  expect(
    listWrongLines((text) =>
      [...text.matchAll(/\bnpm run ([a-z][\w:-]*)/g)].flatMap(([all, name = ""]) =>
        known.includes(name) ? [] : [all],
      ),
    ),
  ).toEqual([]);
});

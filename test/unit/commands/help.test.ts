import { execFileSync } from "node:child_process";
import type { Command } from "commander";
import { describe, expect, it, vi } from "vitest";
import { getHelp } from "../../../provider/cli/command-help";
import { EXPLANATIONS } from "../../../provider/commands/explain/explanations";
import { createProgram, EXAMPLES, forEachCommand, getCommandPath } from "../../../provider/commands/program";

function listCommands(): Command[] {
  const all: Command[] = [];
  forEachCommand(createProgram(), (command) => {
    if (command.parent !== null && command.name() !== "complete") all.push(command);
  });
  return all;
}

/** Parses a command line without running the command. Returns the command that would run, and the error output. */
async function parseCommandLine(words: readonly string[]): Promise<{ command?: string; output: string }> {
  const all = createProgram();
  const outcome: { command?: string; output: string } = { output: "" };
  forEachCommand(all, (command) => {
    const { outputError } = command.configureOutput();
    command.exitOverride().configureOutput({
      writeOut: () => {},
      writeErr: (text) => {
        outcome.output += text;
      },
      ...(outputError && { outputError }),
    });
    // Commands with subcommands do nothing themselves, except `review` and `rollout`; the latter itself distinguishes a
    // mistyped subcommand from a file.
    if (
      command.commands.length > 0 &&
      (!["review", "rollout"].includes(command.name()) ||
        ["statsu", "continue", "export"].some((word) => words.includes(word)))
    )
      return;
    command.action(() => {
      outcome.command = getCommandPath(command);
    });
  });
  const { exitCode } = process;
  const silent = vi.spyOn(console, "error").mockImplementation(() => {});
  await all.parseAsync(words, { from: "user" }).catch(() => {});
  silent.mockRestore();
  process.exitCode = exitCode;
  return outcome;
}

/** Splits a line into words as a shell does. */
const splitWords = (line: string): string[] =>
  execFileSync("sh", ["-c", `printf '%s\\n' ${line}`], { encoding: "utf8" })
    .trimEnd()
    .split("\n");

describe("the help", () => {
  it("groups commands by purpose", () => {
    const help = createProgram().helpInformation();
    const titles = [...help.matchAll(/^(\S.*):$/gm)].map(([, title]) => title);
    expect(titles).toEqual(["Options", "Settings files", "A tenant", "Many tenants", "Help and testing"]);
    expect(help).not.toMatch(/^ {2}complete\b/m);
    expect(EXAMPLES).toHaveLength(4);
  });

  it.each(listCommands().map((command) => [getCommandPath(command), getHelp(command)] as const))(
    "has two or three examples for %s",
    (_path, help) => {
      expect(help?.examples.length).toBeGreaterThanOrEqual(2);
      expect(help?.examples.length).toBeLessThanOrEqual(3);
    },
  );

  const examples = listCommands().flatMap((command) =>
    (getHelp(command)?.examples ?? []).map(({ line }) => [line, getCommandPath(command)] as const),
  );
  it.each([...examples, ...EXAMPLES.map(({ line }) => [line, ""] as const)])(
    "shows an example that parses: %s",
    async (line, path) => {
      const { command, output } = await parseCommandLine(splitWords(line));
      expect(output).toBe("");
      expect(command).toMatch(new RegExp(`^${path}`));
    },
  );

  const nextCommands = Object.values(EXPLANATIONS).map((explanation) => explanation.nextCommand);
  const ours = [...new Set(nextCommands)].filter(
    (line) => line.startsWith("email-security ") && !/--(?:help|version)$/.test(line),
  );
  it.each(ours)("accepts the next command of an explanation: %s", async (line) => {
    const { command, output } = await parseCommandLine(splitWords(line).slice(1));
    expect(output).toBe("");
    expect(command).toBeDefined();
  });
});

describe("a mistyped command line", () => {
  it.each([
    ["rollot", "error: unknown command 'rollot'; did you mean rollout?\n"],
    ["plan --stac acme", "error: unknown option '--stac'; did you mean --stack?\n"],
    ["csv imprt table.csv", "error: unknown command 'imprt'; did you mean import?\n"],
    ["PLAN", "error: unknown command 'PLAN'; did you mean plan?\n"],
    [
      "completion bsh",
      "error: command-argument value 'bsh' is invalid for argument 'shell'. Allowed choices are bash, zsh, fish; did you mean bash?\n",
    ],
    [
      "init x --ci githb",
      "error: option '--ci <pipelines>' argument 'githb' is invalid. Allowed choices are github, gitlab, both, none; did you mean github?\n",
    ],
    ["rollout statsu", "error: unknown command 'statsu'; did you mean status?\n"],
    ["rollout status --lst", "error: unknown option '--lst'; did you mean --list?\n"],
    ["rollout continue 20261121-0800-7f3a91", "error: unknown command 'continue'; did you mean rollout resume?\n"],
    ["rollout --resume", "error: unknown option '--resume'; did you mean rollout resume?\n"],
    ["rollout --mend drift", "error: unknown option '--mend'; did you mean --revert-drift?\n"],
    ["rollout skip t0 --end", "error: unknown option '--end'; did you mean rollout unskip?\n"],
    ["rollout import journal.json", "error: unknown command 'import'; did you mean fleet status --database?\n"],
    ["rollout continue", "error: unknown command 'continue'; did you mean rollout resume?\n"],
    ["plan --markdown plan.md", "error: unknown option '--markdown'; did you mean --output FILE?\n"],
    ["find evil.example --json", "error: unknown option '--json'; did you mean --format json?\n"],
    ["worker --json", "error: unknown option '--json'; `email-security worker --help` lists all\n"],
    ["worker --concurrency 2", "error: unknown option '--concurrency'; did you mean --max-concurrent?\n"],
    ["explain --zzz", "error: unknown option '--zzz'; `email-security explain --help` lists all\n"],
    ["xyzzy", "error: unknown command 'xyzzy'; `email-security --help` lists all\n"],
  ])("gets an error with the closest match: %s", async (line, output) => {
    expect(await parseCommandLine(splitWords(line))).toEqual({ output });
  });
});

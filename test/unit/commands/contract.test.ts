import type { Command, Option } from "commander";
import { describe, expect, it } from "vitest";
import { getHelp } from "../../../provider/cli/command-help";
import { EXIT } from "../../../provider/cli/exit-codes";
import { FORMATS } from "../../../provider/cli/output/output-options";
import { createProgram, forEachCommand, getCommandPath } from "../../../provider/commands/program";

/* Rules that hold for all commands on the command line. */

const COMMANDS: readonly Command[] = (() => {
  const all: Command[] = [];
  forEachCommand(createProgram(), (command) => {
    if (command.name() !== "complete") all.push(command);
  });
  return all;
})();

/** All options, as `[command, option]`. */
const OPTIONS = COMMANDS.flatMap((command) =>
  command.options.map((option) => [getCommandPath(command), option] as const),
);

const findOptions = (long: string): readonly (readonly [string, Option])[] =>
  OPTIONS.filter(([, option]) => option.long === long);

/** Returns the commands that declare an option, by its description. */
function listDescriptions(long: string): string[] {
  return [...new Set(findOptions(long).map(([, { description }]) => description))];
}

/** Whether the command does something itself, and isn't only a group of commands. */
const isRunnable = (command: Command): boolean => command.commands.length === 0 || command.options.length > 0;

describe("every command", () => {
  it("has --output wherever it has --format", () => {
    const formats = findOptions("--format");
    expect(formats.length).toBeGreaterThan(12);
    expect(findOptions("--output").map(([path]) => path)).toEqual(formats.map(([path]) => path));
    for (const [path, { argChoices = [] }] of formats) {
      expect({
        path,
        strange: argChoices.filter((choice) => !FORMATS.some((format) => format === choice)),
      }).toEqual({ path, strange: [] });
      expect({ path, first: argChoices[0] }).toEqual({
        path,
        first: argChoices.includes("text") ? "text" : "csv",
      });
    }
  });

  it.each(["--json", "--markdown", "--html", "--csv", "--sarif", "--out", "--concurrency"])(
    "has no %s option",
    (long) => {
      expect(findOptions(long)).toEqual([]);
    },
  );

  it("gives --list the same values wherever it takes one", () => {
    const lists = findOptions("--list").filter(([, option]) => option.required);
    expect(lists.length).toBeGreaterThan(3);
    expect(new Set(lists.map(([, { argChoices }]) => argChoices?.join()))).toEqual(new Set(["allow,deny,vip"]));
  });

  it("gives --today the same meaning", () => {
    expect(listDescriptions("--today")).toEqual(["Evaluate `expires` as of this day (default: today, UTC)"]);
    expect(findOptions("--today").map(([, option]) => typeof option.parseArg)).not.toContain("undefined");
  });

  it("gives --targets the same meaning and default", () => {
    expect(listDescriptions("--targets")).toEqual(["Read the tenants from this file"]);
    expect(new Set(findOptions("--targets").map(([, { defaultValue }]) => defaultValue))).toEqual(
      new Set(["tenants.yaml"]),
    );
  });

  it("has --targets wherever --tenant selects a tenant, with the same meaning", () => {
    const targetsPaths = findOptions("--targets").map(([path]) => path);
    const [targetsDefaults, journalDefaults] = [true, false].map((isOfTargets) =>
      findOptions("--tenant").filter(([path]) => targetsPaths.includes(path) === isOfTargets),
    );
    expect(new Set(targetsDefaults?.map(([, { description }]) => description))).toEqual(
      new Set(["Use this tenant of the targets file, with its settings file, address and key"]),
    );
    expect(targetsDefaults?.length).toBeGreaterThan(5);
    // A journal holds the names of past tenants too.
    expect(journalDefaults?.map(([path]) => path)).toEqual([
      "email-security rollout history",
      "email-security rollout show",
    ]);
  });

  it("names the same variable and default file for --database", () => {
    const all = findOptions("--database");
    expect(all.length).toBeGreaterThan(15);
    for (const [path, { flags, description }] of all) {
      // Workers share a journal in PostgreSQL; a file can't be shared.
      const isWorker = path === "email-security worker";
      expect({ path, flags }).toEqual({ path, flags: isWorker ? "--database <address>" : "--database <place>" });
      expect(description).toContain("(default: EMAIL_SECURITY_DATABASE, which keeps a password out of process lists");
      expect(description.endsWith("; otherwise .email-security/rollouts.db)")).toBe(!isWorker);
    }
  });

  it.each(["--days", "--max-pages", "--within", "--dry-run", "--commit", "--pr", "--resource", "--lock-wait"])(
    "gives %s the same argument and default",
    (long) => {
      const forms = findOptions(long).map(([, { flags, defaultValue }]) => [flags, defaultValue]);
      expect(forms.length).toBeGreaterThan(1);
      expect(new Set(forms.map(String)).size).toBe(1);
    },
  );

  it.each(
    COMMANDS.flatMap((command) =>
      command.parent !== null && isRunnable(command) ? [[getCommandPath(command), command] as const] : [],
    ),
  )("documents its exit codes: %s", (_path, command) => {
    const codes = Object.keys(getHelp(command)?.exits ?? {});
    expect(codes.slice(0, 2)).toEqual(["0", "1"]);
    expect(codes.filter((code) => !Object.values(EXIT).some((known) => String(known) === code))).toEqual([]);
  });

  it.each(COMMANDS.map((command) => getCommandPath(command)))(
    "exits with 1 for a wrong command line: %s",
    async (path) => {
      const program = createProgram();
      let [stdout, stderr] = ["", ""];
      forEachCommand(program, (command) => {
        command.exitOverride().configureOutput({
          writeOut: (text) => {
            stdout += text;
          },
          writeErr: (text) => {
            stderr += text;
          },
        });
      });
      const words = [...path.split(" ").slice(1), "--no-such-option"];
      await expect(program.parseAsync(words, { from: "user" })).rejects.toMatchObject({ exitCode: EXIT.error });
      expect([stdout, stderr]).toEqual(["", expect.stringMatching(/^error: /)]);
    },
  );

  it("describes its examples without an imperative in the middle", () => {
    const examples = COMMANDS.flatMap((command) => getHelp(command)?.examples ?? []);
    expect(examples.length).toBeGreaterThan(40);
    const verb = new RegExp(`.\\b(?:${VERBS})\\b`);
    expect(examples.map(({ purpose: does }) => does).filter((does) => verb.test(does))).toEqual([]);
  });

  it.each(COMMANDS.map((command) => [getCommandPath(command), command] as const))(
    "describes itself in the imperative: %s",
    (_path, command) => {
      expect(command.description()).toMatch(IMPERATIVE);
      for (const { flags, description } of command.options) {
        expect({ flags, description }).toEqual({ flags, description: expect.stringMatching(IMPERATIVE) });
      }
      for (const argument of command.registeredArguments) expect(argument.description).toMatch(/^[A-Z].*[^.]$/);
    },
  );
});

const VERBS =
  "Abandon|Add|Allow|Also run|Apply|Change|Check|Commit|Compare|Complete|Confirm|Count|Create|Declare|Don't|Enforce|Evaluate|Exit|Explain|Export|Extend|Fill|Find|First remove|Give|Ignore|Import|Include|Judge|Keep|Leave|Limit|Listen|List|Manage|Move|Name|Notify|Output|Overwrite|Plan|Print|Process|Prune|Put|Read|Record|Remove|Rename|Resume|Return|Revert|Roll|Run|Search|Select|Send|Set|Show|Skip|Stop|Suggest|Use|Wait|Write";

/** A capitalized verb first, and no full stop. */
const IMPERATIVE = new RegExp(`^(?:${VERBS})\\b(?:[^]*[^.])?$`);

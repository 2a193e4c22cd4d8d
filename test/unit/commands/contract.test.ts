import { globSync, readFileSync } from "node:fs";
import type { Command, Option } from "commander";
import { describe, expect, it } from "vitest";
import { getHelp } from "../../../provider/cli/command-help";
import { FORMATS } from "../../../provider/cli/output/outputs";
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

const named = (long: string): readonly (readonly [string, Option])[] =>
  OPTIONS.filter(([, option]) => option.long === long);

/** Returns the commands that declare an option, by its description. */
function meanings(long: string): string[] {
  return [...new Set(named(long).map(([, { description }]) => description))];
}

describe("every command", () => {
  it("has --output wherever it has --format", () => {
    const formats = named("--format");
    expect(formats.length).toBeGreaterThan(12);
    expect(named("--output").map(([path]) => path)).toEqual(formats.map(([path]) => path));
    for (const [path, { argChoices = [] }] of formats) {
      expect({
        path,
        strange: argChoices.filter((one) => !FORMATS.some((format) => format === one)),
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
      expect(named(long)).toEqual([]);
    },
  );

  it("gives --list the same values wherever it takes one", () => {
    const lists = named("--list").filter(([, option]) => option.required);
    expect(lists.length).toBeGreaterThan(3);
    expect(new Set(lists.map(([, { argChoices }]) => argChoices?.join()))).toEqual(new Set(["allow,deny,vip"]));
  });

  it("gives --today and --targets the same meaning", () => {
    expect(meanings("--today")).toEqual(["Evaluate `expires` as of this day (default: today, UTC)"]);
    expect(named("--today").map(([, option]) => typeof option.parseArg)).not.toContain("undefined");
    const all = named("--targets").filter(([path]) => !/ (?:find|rollout skip)$/.test(path));
    expect(new Set(all.map(([, { defaultValue }]) => defaultValue))).toEqual(new Set(["tenants.yaml"]));
  });

  it("describes its examples without an imperative in the middle", () => {
    const examples = COMMANDS.flatMap((command) => getHelp(command)?.examples ?? []);
    expect(examples.length).toBeGreaterThan(40);
    const verb = new RegExp(`.\\b(?:${VERBS})\\b`);
    expect(examples.map(({ does }) => does).filter((does) => verb.test(does))).toEqual([]);
  });

  it("writes its log to stderr, not to stdout", () => {
    const sources = globSync("provider/commands/**/*.ts");
    expect(sources.length).toBeGreaterThan(50);
    // A worker has no data to print, so all its lines are log.
    const log = /\blog: [^;\n]*console\.log|\blog = \([^;\n]*console\.log/;
    const isWrong = (file: string, text: string): boolean =>
      log.test(text) || (file.includes("/worker/") && text.includes("console.log"));
    expect(sources.filter((file) => isWrong(file, readFileSync(file, "utf8")))).toEqual([]);
  });

  it.each(COMMANDS.map((one) => [getCommandPath(one), one] as const))(
    "describes itself and its options in the imperative: %s",
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

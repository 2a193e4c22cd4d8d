import { expect, it } from "vitest";
import { CODE_GROUPS, EXPLANATIONS } from "../../../provider/commands/explain/explanations";
import { runCli } from "../../support/cli";

/* `email-security explain`, as built. */

it("prints meaning, example, causes, remedies and next command in that order", async () => {
  const { code, stdout: wrappedStdout, stderr } = await runCli(".", ["explain", "exists"]);
  const stdout = wrappedStdout.replace("Nothing\nwas", "Nothing was");
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  const { meaning, causes, remedies, nextCommand } = EXPLANATIONS.ERR_EXISTS;
  expect(stdout).toMatch(new RegExp(`^ERR_EXISTS\n${meaning}\n`));
  const parts = ["\nExample\n  evil.example can't be created", causes[0], remedies[0], `\nNext\n  ${nextCommand}\n`];
  const offsets = parts.map((part) => stdout.indexOf(part ?? ""));
  expect(offsets).toEqual([...offsets].sort((a, b) => a - b));
  expect(offsets).not.toContain(-1);
  expect(stdout.endsWith(parts.at(-1) ?? "")).toBe(true);
});

it("explains the code of a lint finding too", async () => {
  const { code, stdout } = await runCli(".", ["explain", "file-unreadable"]);
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^file-unreadable\nA file can't be read\./),
  });
  const misspelled = await runCli(".", ["explain", "file-unreadble"]);
  expect(misspelled).toMatchObject({ code: 1, stderr: expect.stringContaining("did you mean file-unreadable?") });
});

it("explains ERR_CONFIGURATION even when a variable name is misspelled", async () => {
  const misspelled = { EMAIL_SECURITY_API_KY: "key" };
  expect((await runCli(".", ["lint"], misspelled)).stderr).toContain("[ERR_CONFIGURATION]");
  const { code, stdout } = await runCli(".", ["explain", "ERR_CONFIGURATION"], misspelled);
  expect({ code, first: stdout.split("\n")[0] }).toEqual({ code: 0, first: "ERR_CONFIGURATION" });
});

it("lists all codes grouped by topic", async () => {
  const { code, stdout } = await runCli(".", ["explain"]);
  expect(code).toBe(0);
  const listed = [...stdout.matchAll(/^ {2}(ERR_\w+|(?:allow|deny)-\S+) /gm)].map(([, item]) => item);
  expect(listed.sort()).toEqual(CODE_GROUPS.flatMap(({ codes }) => [...codes]).sort());
  expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(100);
});

it.each([
  ["ERR_EXSITS", 'error: unknown error code "ERR_EXSITS"; did you mean ERR_EXISTS?\n'],
  ["\u001b[2J", 'error: unknown error code "\\u{1b}[2J"; `email-security explain` lists all codes\n'],
])("exits 1 for the unknown code %j", async (code, message) => {
  expect(await runCli(".", ["explain", code])).toMatchObject({ code: 1, stdout: "", stderr: message });
});

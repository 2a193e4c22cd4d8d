import { expect, it } from "vitest";
import {
  CODE_GROUPS,
  EXPLANATIONS,
  type ExplainableCode,
  findNearestCode,
  getExplanation,
  parseCode,
} from "../../../../provider/commands/explain/explanations";
import { RISKS } from "../../../../provider/model/risk";

it("lists every code once", () => {
  const listed = CODE_GROUPS.flatMap(({ codes }) => codes);
  expect([...listed].sort()).toEqual([...Object.keys(EXPLANATIONS), ...Object.keys(RISKS)].sort());
});

const ALL = CODE_GROUPS.flatMap(({ codes }) => codes.map((code) => [code, getExplanation(code)] as const));

it.each(ALL)("explains the meaning, causes, remedies and next step of %s", (_code, explanation) => {
  expect(explanation.meaning).toMatch(/^[A-Z`].*\.$/s);
  expect(explanation.example).not.toBe("");
  expect(explanation.causes.length).toBeGreaterThan(0);
  expect(explanation.remedies.length).toBeGreaterThan(0);
  for (const cause of explanation.causes) expect(cause).not.toMatch(/^[A-Z][a-z]+ .*\.$/);
  for (const remedy of explanation.remedies) expect(remedy).toMatch(/^(?:[A-Z]|`).*\.$/s);
  expect(explanation.nextCommand).toMatch(/^(?:email-security|pulumi|npx|ls) \S/);
});

it.each(Object.keys(RISKS))("shows a refused entry as the example of %s", (code) => {
  expect(getExplanation(code as ExplainableCode).example).toMatch(
    new RegExp(`^value is "\\S+", which is refused \\(${code}[,)]`),
  );
});

it.each<[written: string, code: ExplainableCode]>([
  ["ERR_EXISTS", "ERR_EXISTS"],
  ["err_exists", "ERR_EXISTS"],
  ["exists", "ERR_EXISTS"],
  ["[ERR_EXISTS]", "ERR_EXISTS"],
  ["rollout-not-allowed", "ERR_ROLLOUT_NOT_ALLOWED"],
  ["allow-free-mail", "allow-free-mail"],
  ["(ALLOW_FREE_MAIL)", "allow-free-mail"],
])("parses %s as %s", (written, code) => expect(parseCode(written)).toBe(code));

it.each<[written: string, code: ExplainableCode | undefined]>([
  ["ERR_EXSITS", "ERR_EXISTS"],
  ["rollout_buzy", "ERR_ROLLOUT_BUSY"],
  ["ERR_SETTINGSFILE", "ERR_SETTINGS_FILE"],
  ["allow-freemail", "allow-free-mail"],
  ["toString", undefined],
  ["", undefined],
])("suggests a correction of %s: %s", (written, code) => {
  expect(parseCode(written)).toBeUndefined();
  expect(findNearestCode(written)).toBe(code);
});

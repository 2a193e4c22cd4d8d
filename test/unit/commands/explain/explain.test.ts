import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import {
  CODE_GROUPS,
  EXPLANATIONS,
  type ExplainableCode,
  findNearestCode,
  getExplanation,
  parseCode,
} from "../../../../provider/commands/explain/explanations";
import { RISKS } from "../../../../provider/settings/risk";

const SOURCE = "provider";
/** Build output, the explanations themselves, and third-party code. */
const NOT_LOOKED_INTO = /^(?:dist|node_modules|commands\/explain)\//;
/** Node.js error codes, and prefixes of codes in expressions. */
const NOT_OURS = /^ERR_(?:TLS|SSL|CHILD)_|_$/;

function codesInSource(): string[] {
  const files = readdirSync(SOURCE, { recursive: true, encoding: "utf8" })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => file.endsWith(".ts") && !NOT_LOOKED_INTO.test(file));
  const texts = files.map((file) => readFileSync(join(SOURCE, file), "utf8"));
  const codes = texts.flatMap((text) => text.match(/\bERR_[A-Z\d_]+\b/g) ?? []);
  return [...new Set(codes)].filter((code) => !NOT_OURS.test(code)).sort();
}

it("explains exactly the codes that occur in the package", () => {
  expect(Object.keys(EXPLANATIONS).sort()).toEqual(codesInSource());
});

it("lists every code once", () => {
  const listed = CODE_GROUPS.flatMap(({ codes }) => codes);
  expect([...listed].sort()).toEqual([...Object.keys(EXPLANATIONS), ...Object.keys(RISKS)].sort());
});

const ALL = CODE_GROUPS.flatMap(({ codes }) => codes.map((code) => [code, getExplanation(code)] as const));

it.each(ALL)("explains the meaning, causes, remedies and next step of %s", (_code, one) => {
  expect(one.meaning).toMatch(/^[A-Z`].*\.$/s);
  expect(one.example).not.toBe("");
  expect(one.causes.length).toBeGreaterThan(0);
  expect(one.remedies.length).toBeGreaterThan(0);
  for (const cause of one.causes) expect(cause).not.toMatch(/^[A-Z][a-z]+ .*\.$/);
  for (const remedy of one.remedies) expect(remedy).toMatch(/^(?:[A-Z]|`).*\.$/s);
  expect(one.nextCommand).toMatch(/^(?:email-security|pulumi|npx|ls) \S/);
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
])("rejects %s and suggests %s", (written, code) => {
  expect(parseCode(written)).toBeUndefined();
  expect(findNearestCode(written)).toBe(code);
});

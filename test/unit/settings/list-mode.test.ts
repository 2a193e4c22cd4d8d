import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { canPrune, canPruneAny, explainVipMode, isLooserMode, LIST_MODES } from "../../../provider/settings/list-mode";

const LISTS = ["allow", "deny", undefined];
const PROVIDER = join(__dirname, "../../../provider");

it.each([
  ["additive", []],
  ["exclusive-allows", ["allow"]],
  ["exclusive", LISTS],
  [undefined, []],
  ["strict", []],
])("prunes in mode %s only the lists %j", (mode, pruned) => {
  expect(LISTS.filter((list) => canPrune(mode, list))).toEqual(pruned);
  expect(canPruneAny(mode)).toBe(pruned.length > 0);
});

it("orders the modes from loosest to strictest", () => {
  for (const [at, mode] of LIST_MODES.entries()) {
    expect(LIST_MODES.filter((other) => isLooserMode(mode, other))).toEqual(LIST_MODES.slice(at + 1));
  }
});

it("explains why VIPs can't use exclusive-allows", () => {
  expect(explainVipMode("exclusive-allows")).toBe(
    'can\'t be "exclusive-allows" on the VIP list, which has no allow entries; write "additive" or "exclusive"',
  );
  for (const mode of ["additive", "exclusive", "strict", undefined]) expect(explainVipMode(mode)).toBeUndefined();
});

it("keeps the pruning modes' names in one module", () => {
  const pruning = LIST_MODES.filter((mode) => canPruneAny(mode)).join("|");
  const literal = new RegExp(`(["'\`])(?:${pruning})\\1`);
  const files = globSync("**/*.ts", { cwd: PROVIDER, exclude: ["dist/**", "node_modules/**"] });
  expect(files).toContain(join("settings", "list-mode.ts"));
  const knowing = files.filter((file) => literal.test(withoutComments(join(PROVIDER, file))));
  expect(knowing).toEqual([join("settings", "list-mode.ts")]);
});

function withoutComments(file: string): string {
  return readFileSync(file, "utf8").replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
}

import { expect, it } from "vitest";
import { canPrune, canPruneAny, explainVipMode, isLooserMode, LIST_MODES } from "../../../provider/model/list-mode";

const LISTS = ["allow", "deny", undefined];

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
  for (const [index, mode] of LIST_MODES.entries()) {
    expect(LIST_MODES.filter((other) => isLooserMode(mode, other))).toEqual(LIST_MODES.slice(index + 1));
  }
});

it("explains why VIPs can't use exclusive-allows", () => {
  expect(explainVipMode("exclusive-allows")).toBe(
    'can\'t be "exclusive-allows" on the VIP list, which has no allow entries; write "additive" or "exclusive"',
  );
  for (const mode of ["additive", "exclusive", "strict", undefined]) expect(explainVipMode(mode)).toBeUndefined();
});

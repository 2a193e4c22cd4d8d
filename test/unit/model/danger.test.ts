import { describe, expect, it, test } from "vitest";
import {
  describeHidden,
  formatDangerCounts,
  getDangerRank,
  invertTransition,
  isDangerous,
  type Transition,
  truncateByDanger,
} from "../../../provider/model/danger";

describe("danger rank", () => {
  test.each<[label: string, transition: Transition, rank: number]>([
    ["a deny that becomes an allow", { from: "deny", to: "allow" }, 0],
    ["a new allow", { to: "allow" }, 1],
    ["an allow from a list that nobody knows", { from: "quarantine", to: "allow" }, 1],
    ["a removed deny", { from: "deny" }, 1],
    ["a deny moved to a list that nobody knows", { from: "deny", to: "quarantine" }, 1],
    ["a removed VIP", { from: "vip" }, 1],
    ["an allow that should have been removed", { to: "allow", isLingering: true }, 2],
    ["a new deny", { to: "deny" }, 3],
    ["a removed allow", { from: "allow" }, 3],
    ["an allow that becomes a deny", { from: "allow", to: "deny" }, 3],
    ["a new VIP", { to: "vip" }, 4],
    ["a deny that should be gone", { to: "deny", isLingering: true }, 3],
    ["another comment of an allow", { from: "allow", to: "allow" }, 4],
    ["another comment of a deny", { from: "deny", to: "deny" }, 4],
    ["another comment of a VIP", { from: "vip", to: "vip" }, 4],
    ["nothing", {}, 4],
  ])("matches the danger of %s", (_label, transition, rank) => {
    expect(getDangerRank(transition)).toBe(rank);
    expect(isDangerous(transition)).toBe(rank < 3);
    expect(formatDangerCounts([transition]) !== undefined).toBe(rank < 3);
  });
});

it("joins two kinds of danger", () => {
  const transitions = [{ to: "allow" }, { from: "vip", count: 2 }];
  expect(formatDangerCounts(transitions)).toBe("1 new allow and 2 removed VIPs");
});

it.each([
  [{ from: "deny", to: "allow", count: 2 }, "2 denies turned into allows"],
  [{ from: "deny", count: 2 }, "2 removed denies"],
  [{ to: "allow", isLingering: true, count: 2 }, "2 allows that should have been removed"],
])("counts occurrences of %j", (transition, text) => {
  expect(formatDangerCounts([transition])).toBe(text);
});

it("inverts a transition", () => {
  expect(invertTransition({ from: "deny", to: "allow", count: 2 })).toEqual({ from: "allow", to: "deny" });
});

const DENY = { to: "deny" };

describe("truncated list", () => {
  test.each<[hidden: readonly Transition[], message: string]>([
    [[DENY], "1 more, none of them a new allow, a removed deny or a removed VIP"],
    [[DENY, { to: "allow" }], "2 more, among them 1 new allow"],
    [
      [{ from: "vip" }, { to: "allow" }, { to: "allow" }, { from: "deny" }, { from: "deny", to: "allow" }],
      "5 more, among them 1 deny turned into an allow, 2 new allows, 1 removed deny and 1 removed VIP",
    ],
    [
      [...new Array(1_200).fill(DENY), { to: "allow", isLingering: true }],
      "1,201 more, among them 1 allow that should have been removed",
    ],
  ])("counts hidden changes by kind of danger", (hidden, expectedText) => {
    expect(describeHidden(hidden)).toBe(expectedText);
  });

  it("shows the most dangerous changes first", () => {
    const all: Transition[] = [DENY, { to: "vip" }, { from: "deny", to: "allow" }, DENY, { to: "allow" }];
    for (let most = 0; most <= all.length; most++) {
      for (let turn = 0; turn < all.length; turn++) {
        const turned = [...all.slice(turn), ...all.slice(0, turn)];
        const { visible, hiddenText } = truncateByDanger(turned, most, (transition) => transition);
        expect(visible.map(getDangerRank)).toEqual([0, 1, 3, 3, 4].slice(0, most));
        expect(hiddenText === undefined).toBe(most === all.length);
        expect(hiddenText?.includes("new allow,") ?? false).toBe(most >= 2 && most < all.length);
      }
    }
  });

  it("keeps the order of equally dangerous changes", () => {
    const all = [..."dcba"].map((name) => ({ name, to: "deny" }));
    expect(truncateByDanger(all, 2, (item) => item)).toEqual({
      visible: all.slice(0, 2),
      hiddenText: "2 more, none of them a new allow, a removed deny or a removed VIP",
    });
  });
});

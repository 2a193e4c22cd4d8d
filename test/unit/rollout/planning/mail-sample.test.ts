import { expect, test } from "vitest";
import { chooseMailSample, getMailWeight } from "../../../../provider/rollout/planning/mail-sample";

const candidate = (name: string, changes: Readonly<Record<string, number>>) => ({
  name,
  changeWeights: new Map(Object.entries(changes)),
});

test("prefers tenants with unique weighty changes, then samples evenly", () => {
  const tenants = Array.from({ length: 100 }, (_, at) => candidate(`t${at}`, { shared: 1 }));
  tenants[41] = candidate("t41", { shared: 1, own: 1, other: 1 });
  tenants[77] = candidate("t77", { allow: 10 });
  expect(chooseMailSample(tenants, 5)).toEqual(["t16", "t41", "t50", "t77", "t83"]);
  expect(chooseMailSample(tenants, 2)).toEqual(["t41", "t77"]);
});

test("takes every tenant of a short list that mail can inform", () => {
  const tenants = [candidate("a", { x: 1 }), candidate("b", {}), candidate("c", { x: 1 })];
  expect(chooseMailSample(tenants, 5)).toEqual(["a", "c"]);
  expect(chooseMailSample([], 5)).toEqual([]);
});

test("weighs allows and risky changes higher and IP addresses zero", () => {
  const weigh = (change: Partial<Parameters<typeof getMailWeight>[0]>) => getMailWeight({ alarm: "none", ...change });
  expect(weigh({ entryType: "domain", after: { list: "deny" } })).toBe(1);
  expect(weigh({ entryType: "domain", after: { list: "allow" } })).toBe(10);
  expect(weigh({ entryType: "domain", before: { list: "deny" } })).toBe(10);
  expect(weigh({ alarm: "warning" })).toBe(10);
  expect(weigh({ entryType: "ip", after: { list: "allow" } })).toBe(0);
});

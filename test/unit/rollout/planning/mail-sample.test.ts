import { expect, test } from "vitest";
import { chooseMailSample, getMailWeight } from "../../../../provider/rollout/planning/mail-sample";

const candidate = (name: string, changes: Readonly<Record<string, number>>) => ({
  name,
  changeWeights: new Map(Object.entries(changes)),
});

test("takes those with what matters most and no other speaks of, then some from all over the list", () => {
  const tenants = Array.from({ length: 100 }, (_, at) => candidate(`t${at}`, { shared: 1 }));
  tenants[41] = candidate("t41", { shared: 1, own: 1, other: 1 });
  tenants[77] = candidate("t77", { allow: 10 });
  expect(chooseMailSample(tenants, 5)).toEqual(["t16", "t41", "t50", "t77", "t83"]);
  expect(chooseMailSample(tenants, 2)).toEqual(["t41", "t77"]);
});

test("takes all where they are no more, and none of whom mail can say nothing", () => {
  const tenants = [candidate("a", { x: 1 }), candidate("b", {}), candidate("c", { x: 1 })];
  expect(chooseMailSample(tenants, 5)).toEqual(["a", "c"]);
  expect(chooseMailSample([], 5)).toEqual([]);
});

test("weighs what lets mail in, and what looks bad; of an IP address the mail says nothing", () => {
  const weigh = (change: Partial<Parameters<typeof getMailWeight>[0]>) => getMailWeight({ alarm: "none", ...change });
  expect(weigh({ entryType: "domain", after: { list: "deny" } })).toBe(1);
  expect(weigh({ entryType: "domain", after: { list: "allow" } })).toBe(10);
  expect(weigh({ entryType: "domain", before: { list: "deny" } })).toBe(10);
  expect(weigh({ alarm: "warning" })).toBe(10);
  expect(weigh({ entryType: "ip", after: { list: "allow" } })).toBe(0);
});

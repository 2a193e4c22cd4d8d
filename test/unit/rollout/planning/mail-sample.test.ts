import { expect, test } from "vitest";
import { chooseMailSample, getMailWeight } from "../../../../provider/rollout/planning/mail-sample";

const buildCandidate = (name: string, changes: Readonly<Record<string, number>>) => ({
  name,
  changeWeights: new Map(Object.entries(changes)),
});

test("prefers tenants with unique weighty changes", () => {
  const tenants = Array.from({ length: 100 }, (_, index) => buildCandidate(`t${index}`, { shared: 1 }));
  tenants[41] = buildCandidate("t41", { shared: 1, own: 1, other: 1 });
  tenants[77] = buildCandidate("t77", { allow: 10 });
  expect(chooseMailSample(tenants, 5)).toEqual(["t16", "t41", "t50", "t77", "t83"]);
  expect(chooseMailSample(tenants, 2)).toEqual(["t41", "t77"]);
});

test("takes every tenant of a short list that mail can inform", () => {
  const tenants = [buildCandidate("a", { x: 1 }), buildCandidate("b", {}), buildCandidate("c", { x: 1 })];
  expect(chooseMailSample(tenants, 5)).toEqual(["a", "c"]);
  expect(chooseMailSample([], 5)).toEqual([]);
});

test("weighs allows and risky changes higher and IP addresses zero", () => {
  const weighChange = (change: Partial<Parameters<typeof getMailWeight>[0]>) =>
    getMailWeight({ severity: "none", ...change });
  expect(weighChange({ entryType: "domain", after: { list: "deny" } })).toBe(1);
  expect(weighChange({ entryType: "domain", after: { list: "allow" } })).toBe(10);
  expect(weighChange({ entryType: "domain", before: { list: "deny" } })).toBe(10);
  expect(weighChange({ severity: "warning" })).toBe(10);
  expect(weighChange({ entryType: "ip", after: { list: "allow" } })).toBe(0);
});

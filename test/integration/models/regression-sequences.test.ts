import { expect, it } from "vitest";
import { Companies } from "../../support/model/company";
import { InProcessStack } from "../../support/model/in-process-stack";
import type { Declaration } from "../../support/model/program";

/* Sequences that the models have found, each as a test of its own. */

const PLAIN = { refresh: true, preview: true, parallel: true };

const declareList = (name: string, entries: Record<string, string>): Declaration => ({
  kind: "allowDenyList",
  name,
  args: { entries, maxRemovalFraction: 1 },
});

const declareEntry = (name: string, args: Record<string, unknown>): Declaration => ({
  kind: "allowDenyEntry",
  name,
  args,
});

it("moves an entry to another list while its value stays in another scope", async () => {
  await using companies = new Companies({ echoValue: "canonical" });
  const company = await companies.next();
  await using stack = new InProcessStack(company);
  const before = [declareList("old", { "evil.example (graymail)": "deny: INC-1" })];
  expect(await stack.up(before, PLAIN)).toMatchObject({ result: "ok" });
  const [moved] = company.listEntries();
  const after = [
    declareList("new", { "evil.example (graymail)": "deny: INC-1" }),
    declareList("old", { "evil.example": "deny: INC-1" }),
  ];
  expect(await stack.up(after, PLAIN)).toMatchObject({ result: "ok", messages: [] });
  expect(company.listEntries()).toMatchObject([
    { value: "evil.example", verdict_scope: "global" },
    { value: "evil.example", verdict_scope: "graymail", id: moved?.id },
  ]);
  expect(await stack.up(after, PLAIN)).toMatchObject({ result: "ok", steps: [] });
});

it("converges when the console makes two resources share an entry", async () => {
  await using companies = new Companies({ echoValue: "canonical" });
  const company = await companies.next();
  await using stack = new InProcessStack(company);
  const value = "evil.example";
  const program = [
    declareEntry("global", { list: "deny", value }),
    declareEntry("graymail", { list: "deny", value, verdictScope: "graymail" }),
  ];
  expect(await stack.up(program, PLAIN)).toMatchObject({ result: "ok" });
  const getEntryId = (scope: string) => company.listEntries().find((row) => row.verdict_scope === scope)?.id;
  const global = getEntryId("global");
  await company.sendFromConsole("DELETE", `/allow_deny_entries/${getEntryId("graymail")}`);
  await company.sendFromConsole("PATCH", `/allow_deny_entries/${global}`, { verdict_scope: "graymail" });
  expect(await stack.up(program, PLAIN)).toMatchObject({ result: "ok" });
  expect(await stack.up(program, PLAIN)).toMatchObject({ result: "ok" });
  expect(await stack.up(program, PLAIN)).toMatchObject({ result: "ok", steps: [] });
  // The console's row is what the second resource declares, so the first leaves it to that one and creates its own again.
  expect(getEntryId("graymail")).toBe(global);
  expect(company.listEntries()).toHaveLength(2);
});

it("adopts no entry of another scope that is declared later", async () => {
  await using companies = new Companies({ echoValue: "canonical" });
  const company = await companies.next();
  await using stack = new InProcessStack(company);
  const value = "evil.example";
  const global = declareEntry("global", { list: "deny", value });
  const graymail = declareEntry("graymail", { list: "deny", value, verdictScope: "graymail", adopt: true });
  expect(await stack.up([global], PLAIN)).toMatchObject({ result: "ok" });
  const inOrder = { ...PLAIN, parallel: false };
  expect(await stack.up([graymail, global], inOrder)).toMatchObject({ steps: ["create graymail"] });
  expect(company.listEntries()).toHaveLength(2);
  expect(await stack.up([graymail, global], inOrder)).toMatchObject({ result: "ok", steps: [] });
});

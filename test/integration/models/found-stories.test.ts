import { expect, it } from "vitest";
import { Companies } from "../../support/model/company";
import { InProcessStack } from "../../support/model/in-process-stack";
import type { Declaration } from "../../support/model/program";

/* Stories that the models have found, each as a test of its own. */

const PLAIN = { refresh: true, preview: true, parallel: true };

const list = (name: string, entries: Record<string, string>): Declaration => ({
  kind: "allowDenyList",
  name,
  args: { entries, maxRemovalFraction: 1 },
});

const single = (name: string, args: Record<string, unknown>): Declaration => ({
  kind: "allowDenyEntry",
  name,
  args,
});

it("moves an entry to another list while its value stays in another scope", async () => {
  await using companies = new Companies({ echoValue: "canonical" });
  const company = await companies.next();
  await using stack = new InProcessStack(company);
  const before = [list("old", { "evil.example (graymail)": "deny: INC-1" })];
  expect(await stack.up(before, PLAIN)).toMatchObject({ result: "ok" });
  const [moved] = company.entries();
  const after = [
    list("new", { "evil.example (graymail)": "deny: INC-1" }),
    list("old", { "evil.example": "deny: INC-1" }),
  ];
  expect(await stack.up(after, PLAIN)).toMatchObject({ result: "ok", messages: [] });
  expect(company.entries()).toMatchObject([
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
    single("global", { list: "deny", value }),
    single("graymail", { list: "deny", value, verdictScope: "graymail" }),
  ];
  expect(await stack.up(program, PLAIN)).toMatchObject({ result: "ok" });
  const idOf = (scope: string) => company.entries().find((row) => row.verdict_scope === scope)?.id;
  const global = idOf("global");
  await company.console("DELETE", `/allow_deny_entries/${idOf("graymail")}`);
  await company.console("PATCH", `/allow_deny_entries/${global}`, { verdict_scope: "graymail" });
  expect(await stack.up(program, PLAIN)).toMatchObject({ result: "ok" });
  expect(await stack.up(program, PLAIN)).toMatchObject({ result: "ok" });
  expect(await stack.up(program, PLAIN)).toMatchObject({ result: "ok", steps: [] });
  // The console's row is what the second resource declares, so the first leaves it to that one and creates its own again.
  expect(idOf("graymail")).toBe(global);
  expect(company.entries()).toHaveLength(2);
});

it("adopts no entry of another scope that is declared later", async () => {
  await using companies = new Companies({ echoValue: "canonical" });
  const company = await companies.next();
  await using stack = new InProcessStack(company);
  const value = "evil.example";
  const global = single("global", { list: "deny", value });
  const graymail = single("graymail", { list: "deny", value, verdictScope: "graymail", adopt: true });
  expect(await stack.up([global], PLAIN)).toMatchObject({ result: "ok" });
  const inOrder = { ...PLAIN, parallel: false };
  expect(await stack.up([graymail, global], inOrder)).toMatchObject({ steps: ["create graymail"] });
  expect(company.entries()).toHaveLength(2);
  expect(await stack.up([graymail, global], inOrder)).toMatchObject({ result: "ok", steps: [] });
});

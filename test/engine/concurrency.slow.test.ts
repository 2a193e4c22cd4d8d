import { expect, it } from "vitest";
import { startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";
import { buildSandboxEnvironment } from "../support/sandbox-environment";
import { listContents, testManyResources } from "./concurrency";

const SHARED = `
  import { AllowDenyEntry, AllowDenyList, VipEmployee, VipList } from "pulumi-email-security";
  new AllowDenyEntry("entry", { list: "deny", value: "bad.example", comment: "INC-1" });
  new AllowDenyList("list", { entries: { "worse.example": "deny", "fine.example": "allow" } });
  new VipEmployee("vip", { email: "yuki.sato@acme.example", comment: "Payroll" });
  new VipList("vips", { members: { "marcus.bell@acme.example": "AP" } });
`;

it("converges two concurrent stacks with equal declarations without duplicates", async () => {
  // The first request to create an entry waits for the other stack's, so that both stacks have read the lists before
  // the entry exists.
  const waiting = new Map<unknown, () => void>();
  await using sandbox = await startSandbox({
    scenario: "empty",
    async intercept({ method, path, body }) {
      if (method !== "POST" || !path.endsWith("/allow_deny_entries")) return undefined;
      const { value } = body as { value: string };
      const other = waiting.get(value);
      if (other === undefined) await new Promise<void>((go) => waiting.set(value, go));
      else other();
      return undefined;
    },
  });
  await using project = await EngineProject.create({
    program: SHARED,
    environment: buildSandboxEnvironment(sandbox),
    stack: "one",
  });
  await using two = await EngineProject.create({
    program: SHARED,
    environment: buildSandboxEnvironment(sandbox),
    stack: "two",
  });
  const outputs = await Promise.all([project.up(), two.up()]);
  for (const output of outputs) expect(output).toContain("+ 5 created");
  const declared = [
    "allow fine.example",
    "deny bad.example",
    "deny worse.example",
    "marcus.bell@acme.example",
    "yuki.sato@acme.example",
  ];
  expect(listContents(sandbox)).toEqual(declared);
  const conflicts = sandbox.requests.filter(({ status }) => status === 409);
  expect(conflicts).toHaveLength(3);

  sandbox.clearRequests();
  await Promise.all([project, two].map((stack) => stack.up("--refresh", "--expect-no-changes")));
  expect(sandbox.requests.filter(({ method }) => method !== "GET")).toEqual([]);
  expect(listContents(sandbox)).toEqual(declared);

  await Promise.all([project.destroy(), two.destroy()]);
  expect(listContents(sandbox)).toEqual([]);
});

it("creates 200 parallel resources with one request each and shared reads", async () => {
  await testManyResources(200, { isLeftAlone: false });
});

it("creates 60 parallel resources with one request each and shared reads", async () => {
  await testManyResources(60, { isLeftAlone: true });
});

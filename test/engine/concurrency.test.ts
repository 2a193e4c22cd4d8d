import { expect, it } from "vitest";
import { type Sandbox, startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";

function environment(sandbox: Sandbox): Record<string, string> {
  return { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" };
}

/** What the tenant holds that it has not detected by itself. */
function holdings(sandbox: Sandbox): string[] {
  const entries = sandbox.allowDenyEntries("acme").map(({ list, value }) => `${list} ${value}`);
  const vips = sandbox.vips("acme").filter(({ source }) => source === "manual");
  return [...entries, ...vips.map(({ email }) => email)].sort();
}

const SHARED = `
  import { AllowDenyEntry, AllowDenyList, VipEmployee, VipList } from "pulumi-email-security";
  new AllowDenyEntry("entry", { list: "deny", value: "bad.example", comment: "INC-1" });
  new AllowDenyList("list", { entries: { "worse.example": "deny", "fine.example": "allow" } });
  new VipEmployee("vip", { email: "yuki.sato@acme.example", comment: "Payroll" });
  new VipList("vips", { members: { "marcus.bell@acme.example": "AP" } });
`;

it("two stacks that declare the same on one tenant come to the same, at once and without a duplicate", async () => {
  // Who is the first to create an entry waits for the other to ask for it too: both have looked before either has it.
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
  await using one = await EngineProject.create({
    program: SHARED,
    environment: environment(sandbox),
    stack: "one",
  });
  await using two = await EngineProject.create({
    program: SHARED,
    environment: environment(sandbox),
    stack: "two",
  });
  const outputs = await Promise.all([one.up(), two.up()]);
  for (const output of outputs) expect(output).toContain("+ 5 created");
  const declared = [
    "allow fine.example",
    "deny bad.example",
    "deny worse.example",
    "marcus.bell@acme.example",
    "yuki.sato@acme.example",
  ];
  expect(holdings(sandbox)).toEqual(declared);
  const refused = sandbox.requests.filter(({ status }) => status === 409);
  expect(refused).toHaveLength(3);

  sandbox.clearRequests();
  await Promise.all([one, two].map((stack) => stack.up("--refresh", "--expect-no-changes")));
  expect(sandbox.requests.filter(({ method }) => method !== "GET")).toEqual([]);
  expect(holdings(sandbox)).toEqual(declared);

  await Promise.all([one.destroy(), two.destroy()]);
  expect(holdings(sandbox)).toEqual([]);
});

const COUNT = 200;

it(`${COUNT} resources at --parallel ${COUNT} take one request each to make, and share every reading`, async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  const program = `
    import { AllowDenyEntry, AllowDenyList, VipEmployee, VipList } from "pulumi-email-security";
    for (let at = 0; at < ${COUNT - 4}; at += 1) {
      new AllowDenyEntry(\`bad-\${at}\`, { list: "deny", value: \`bad-\${at}.example\`, comment: "INC-1" });
    }
    new AllowDenyList("list", { entries: { "worse-1.example": "deny", "worse-2.example": "deny", "fine.example": "allow" } });
    new VipEmployee("first", { email: "yuki.sato@acme.example" });
    new VipEmployee("second", { email: "alice.moreau@acme.example" });
    new VipList("vips", { members: { "marcus.bell@acme.example": "", "mei.chen@acme.example": "" } });
  `;
  await using project = await EngineProject.create({ program, environment: environment(sandbox) });
  const parallel = ["--parallel", String(COUNT)];

  expect(await project.up(...parallel)).toContain(`+ ${COUNT + 1} created`);
  expect(holdings(sandbox)).toHaveLength(COUNT - 4 + 3 + 4);
  const made = requestsOf(sandbox);
  expect(made).toMatchObject({ "GET allow": 1, "GET deny": 1, "POST allow_deny_entries": COUNT - 4 + 3 });
  // VIPs go together where they are asked for together; each addition is read back.
  expect(made["POST vip_employees"]).toBeLessThanOrEqual(3);
  expect(made["GET vip_employees"]).toBeLessThanOrEqual(4);
  expect(sandbox.requests.filter(({ status }) => status >= 400)).toEqual([]);

  sandbox.clearRequests();
  await project.up(...parallel, "--expect-no-changes");
  expect(requestsOf(sandbox)).toEqual({});

  await project.refresh(...parallel, "--expect-no-changes");
  // 198 denied entries are one page.
  expect(requestsOf(sandbox)).toEqual({ "GET allow": 1, "GET deny": 1, "GET vip_employees": 1 });

  sandbox.clearRequests();
  await project.succeed("destroy", "--yes", "--skip-preview", ...parallel);
  expect(holdings(sandbox)).toEqual([]);
  const removed = requestsOf(sandbox);
  expect(removed).toMatchObject({
    "DELETE allow_deny_entries": COUNT - 4 + 3,
    "GET allow": 1,
    "GET deny": 1,
  });
  expect(sandbox.requests.filter(({ status }) => status >= 400)).toEqual([]);
});

/** How many requests of each kind were made: by method and, of a reading, the list, else the endpoint. */
function requestsOf(sandbox: Sandbox): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { method, path, query } of sandbox.requests) {
    const endpoint = path.split("/")[4] ?? "";
    const name = `${method} ${query["list"] ?? endpoint}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

import { expect } from "vitest";
import { type Sandbox, startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";
import { buildSandboxEnvironment } from "../support/sandbox-environment";

/** Returns the entries and VIPs of the tenant, except automatically detected VIPs. */
export function listContents(sandbox: Sandbox): string[] {
  const entries = sandbox.allowDenyEntries("acme").map(({ list, value }) => `${list} ${value}`);
  const vips = sandbox.vips("acme").filter(({ source }) => source === "manual");
  return [...entries, ...vips.map(({ email }) => email)].sort();
}

/**
 * Creates `count` resources of one program in parallel. Then either checks that a second `up` changes nothing, or
 * refreshes and destroys them.
 */
export async function testManyResources(count: number, { isLeftAlone }: { isLeftAlone: boolean }): Promise<void> {
  await using sandbox = await startSandbox({ scenario: "empty" });
  const program = `
    import { AllowDenyEntry, AllowDenyList, VipEmployee, VipList } from "pulumi-email-security";
    for (let at = 0; at < ${count - 4}; at += 1) {
      new AllowDenyEntry(\`bad-\${at}\`, { list: "deny", value: \`bad-\${at}.example\`, comment: "INC-1" });
    }
    new AllowDenyList("list", { entries: { "worse-1.example": "deny", "worse-2.example": "deny", "fine.example": "allow" } });
    new VipEmployee("first", { email: "yuki.sato@acme.example" });
    new VipEmployee("second", { email: "alice.moreau@acme.example" });
    new VipList("vips", { members: { "marcus.bell@acme.example": "", "mei.chen@acme.example": "" } });
  `;
  await using project = await EngineProject.create({ program, environment: buildSandboxEnvironment(sandbox) });
  const parallel = ["--parallel", String(count)];

  expect(await project.up(...parallel)).toContain(`+ ${count + 1} created`);
  expect(listContents(sandbox)).toHaveLength(count - 4 + 3 + 4);
  const requestCounts = countRequestKinds(sandbox);
  expect(requestCounts).toMatchObject({ "GET allow": 1, "GET deny": 1, "POST allow_deny_entries": count - 4 + 3 });
  // Three resources concern VIPs. They share one batch if the engine requests them at the same time. On a busy machine
  // it may not; each then reads once before it adds, and once more to verify.
  expect(requestCounts["POST vip_employees"]).toBeLessThanOrEqual(3);
  expect(requestCounts["GET vip_employees"]).toBeLessThanOrEqual(6);
  expect(sandbox.requests.filter(({ status }) => status >= 400)).toEqual([]);

  sandbox.clearRequests();
  if (isLeftAlone) {
    await project.up(...parallel, "--expect-no-changes");
    expect(countRequestKinds(sandbox)).toEqual({});
    return;
  }

  await project.refresh(...parallel, "--expect-no-changes");
  // Up to 198 deny entries fit on one page.
  const { "GET vip_employees": vips, ...entries } = countRequestKinds(sandbox);
  expect(entries).toEqual({ "GET allow": 1, "GET deny": 1 });
  // At most once for each of the three, for the same reason.
  expect(vips).toBeLessThanOrEqual(3);

  sandbox.clearRequests();
  await project.runOrThrow("destroy", "--yes", "--skip-preview", ...parallel);
  expect(listContents(sandbox)).toEqual([]);
  const removed = countRequestKinds(sandbox);
  expect(removed).toMatchObject({
    "DELETE allow_deny_entries": count - 4 + 3,
    "GET allow": 1,
    "GET deny": 1,
  });
  expect(sandbox.requests.filter(({ status }) => status >= 400)).toEqual([]);
}

/** Counts the requests of each kind: by method and, for reads of entries, by list, otherwise by endpoint. */
function countRequestKinds(sandbox: Sandbox): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { method, path, query } of sandbox.requests) {
    const endpoint = path.split("/")[4] ?? "";
    const name = `${method} ${query["list"] ?? endpoint}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

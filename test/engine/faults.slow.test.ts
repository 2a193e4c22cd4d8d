import { expect, test } from "vitest";
import { startSandbox } from "../../provider/sandbox";
import {
  buildErrorPattern,
  FAULTS,
  type FaultCase,
  getPromise,
  type ProxiedEndpoint,
} from "../integration/faults/faults";
import { AFTER, BEFORE, COMPANY, listDeclaredContent } from "../integration/faults/program";
import { readTenantContent } from "../integration/faults/tenant-content";
import { EngineProject } from "../support/engine-project";
import { startFaultyProxy } from "../support/faulty-proxy";
import { selectCases } from "../support/matrix-sampling";

/** Declares the content of `program.json`. */
const PROGRAM = `
import { readFileSync } from "node:fs";
import { AllowDenyEntry, AllowDenyList, VipEmployee, VipList } from "pulumi-email-security";

const kinds: any = { allowDenyEntry: AllowDenyEntry, allowDenyList: AllowDenyList, vipEmployee: VipEmployee, vipList: VipList };
const program: any = JSON.parse(readFileSync("program.json", "utf8"));
for (const [name, { handler, args }] of Object.entries<any>(program)) new kinds[handler](name, args);
`;

const POST_ENTRY: ProxiedEndpoint = { method: "POST", path: /\/allow_deny_entries$/ };
const PATCH_ENTRY: ProxiedEndpoint = { method: "PATCH", path: /\/allow_deny_entries\/[^/]+$/ };
const DELETE_ENTRY: ProxiedEndpoint = { method: "DELETE", path: /\/allow_deny_entries\/[^/]+$/ };
const GET_VIPS: ProxiedEndpoint = { method: "GET", path: /\/vip_employees$/ };
const POST_VIPS: ProxiedEndpoint = { method: "POST", path: /\/vip_employees$/ };

/** A sample of the matrix of test/integration/faults, which covers every fault on every endpoint without the engine. */
const CASES: readonly FaultCase<ProxiedEndpoint>[] = [
  { fault: findFault("connection reset"), moment: "after", endpoint: POST_ENTRY, attempts: "first" },
  { fault: findFault("half an answer"), moment: "after", endpoint: POST_VIPS, attempts: "every" },
];

const MORE_CASES: readonly FaultCase<ProxiedEndpoint>[] = [
  { fault: findFault("502 with an HTML page"), moment: "after", endpoint: PATCH_ENTRY, attempts: "every" },
  { fault: findFault("500"), moment: "before", endpoint: DELETE_ENTRY, attempts: "every" },
  {
    fault: findFault("429 with `Retry-After` in seconds"),
    moment: "before",
    endpoint: POST_ENTRY,
    attempts: "second",
  },
  { fault: findFault("200 with JSON of another shape"), moment: "after", endpoint: GET_VIPS, attempts: "second" },
];

test("converges in the run after a fault", async () => {
  await using sandbox = await startSandbox({ scenario: { name: "faults", tenants: [COMPANY] } });
  await using proxy = await startFaultyProxy({ target: sandbox.url });
  await using project = await EngineProject.create({
    program: PROGRAM,
    environment: { EMAIL_SECURITY_BASE_URL: proxy.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
    files: { "program.json": JSON.stringify(BEFORE) },
  });
  await project.up();
  let program = BEFORE;
  for (const faultCase of selectCases("engine-faults", [...CASES, ...MORE_CASES], CASES)) {
    const { fault, moment, endpoint, attempts } = faultCase;
    program = program === BEFORE ? AFTER : BEFORE;
    await project.writeFile("program.json", JSON.stringify(program));
    await proxy.removeFaults();
    const injected = proxy.inject({
      ...endpoint,
      ...(attempts === "every" ? {} : { nth: [attempts === "first" ? 1 : 2] }),
      fault: { forwarded: moment === "after", response: fault.response ?? {} },
    });
    const { code, output } = await project.run("up", "--yes", "--skip-preview");
    expect(injected.hits).toBeGreaterThan(0);
    if (getPromise(faultCase) === "recovers") expect(code, output).toBe(0);
    else {
      expect(code, output).not.toBe(0);
      expect(output).toMatch(buildErrorPattern(fault));
    }

    await proxy.removeFaults();
    await project.up();
    expect(readTenantContent(sandbox)).toMatchObject(listDeclaredContent(program));

    await proxy.removeFaults();
    await project.up();
    expect(proxy.requests).toEqual([]);
  }
  // The state matches the tenant, so a refresh finds no changes.
  await project.refresh("--expect-no-changes");
});

function findFault(name: string) {
  const match = FAULTS.find((fault) => fault.name === name);
  if (match === undefined) throw new Error(`no fault is called ${name}`);
  return match;
}

import { expect, it } from "vitest";
import type { ServiceRequest } from "../../../provider/sandbox";
import { startSandboxTenant } from "../../support/sandbox-tenant";

const MOST = 35;

/** The resources that one engine run sends to the provider process at about the same time: 64 in parallel. */
const SINGLES = 64;
const buildListedDenies = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`listed-${index}.example`, "deny"]));

async function startFailingTenant(respond: (request: ServiceRequest, writes: number) => boolean) {
  let down = 0;
  let writes = 0;
  const tenant = await startSandboxTenant({
    intercept(request) {
      if (respond(request, writes)) {
        if (request.method !== "GET") writes += 1;
        return undefined;
      }
      down += 1;
      return { status: 503, body: { error: "down for maintenance" } };
    },
  });
  const { provider } = tenant;
  const failures: string[] = [];
  const declareAndCreate = async (
    kind: "allowDenyEntry" | "allowDenyList" | "vipEmployee",
    args: Record<string, unknown>,
  ) => {
    await provider
      .getResource(kind)
      .declare(args)
      .catch((error: Error & { reasons?: readonly string[] }) => {
        failures.push([error.message, ...(error.reasons ?? [])].join("\n"));
      });
  };
  await Promise.all([
    ...Array.from({ length: SINGLES }, (_, index) =>
      declareAndCreate("allowDenyEntry", { list: "deny", value: `single-${index}.example` }),
    ),
    declareAndCreate("vipEmployee", { email: "lena.hartmann@acme.example" }),
    declareAndCreate("allowDenyList", { entries: buildListedDenies(500) }),
  ]);
  const done = tenant.sandbox.allowDenyEntries("acme").length;
  await tenant[Symbol.asyncDispose]();
  return { down, failures, done };
}

it("sends at most 35 requests to a service that is down", async () => {
  const { down, failures, done } = await startFailingTenant(() => false);
  expect(down).toBeLessThanOrEqual(MOST);
  expect([failures.length, done]).toEqual([SINGLES + 2, 0]);
  for (const failure of failures) {
    expect(failure).toMatch(/down for maintenance/);
    expect(failure).toMatch(/You can safely run again/);
  }
});

it("reports completed changes when the service goes down", async () => {
  const { down, failures, done } = await startFailingTenant((_request, writes) => writes < 40);
  // Requests in flight at that moment were sent while the service was still up.
  expect(down).toBeLessThanOrEqual(MOST + 16);
  expect(done).toBe(40);
  expect(failures.some((failure) => /changes confirmed so far \(\d+ POST\) stay/.test(failure))).toBe(true);
});

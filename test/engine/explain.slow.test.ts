import { afterAll, afterEach, beforeAll, it } from "vitest";
import type { ExplainedErrorCode } from "../../provider/commands/explain/explanation";
import type { ServiceRequest, ServiceResponse } from "../../provider/sandbox";
import { type BY_ENGINE, expectExample, type ObservedError, type Provocations } from "../support/error-coverage";
import { Fleet, type FleetCliResult } from "../support/fleet";

/*
 * Errors that only the real engine can provoke. Checks their codes, and that they match the example in `email-security
 * explain`. The cases run one after another, on the same fleet.
 */

type MaybeResponse = ServiceResponse | undefined;

let fleet: Fleet;
let onRequest: (request: ServiceRequest) => MaybeResponse | Promise<MaybeResponse> = () => undefined;

beforeAll(async () => {
  fleet = await Fleet.start({ tenants: 3, sandbox: { intercept: (request) => onRequest(request) } });
});

afterEach(() => {
  onRequest = () => undefined;
});

afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
});

/** Returns the error of the first failed tenant from the report, or the output if there is none. */
function getTenantError(run: FleetCliResult): ObservedError {
  return run.report().tenants.find(({ error }) => error !== undefined)?.error ?? run.output;
}

const PROVOKED: Provocations<(typeof BY_ENGINE)[number]> = {
  ERR_ROLLOUT_PLAN: async () => (await fleet.start({ T0_KEY: "mistyped" }, "rollout").result).stderr,
  ERR_ROLLOUT_DIGEST: async () =>
    (await fleet.runRollout("--only", "t0", "--yes", "--plan-digest", "r2-b83ebbb98a7b8f56")).stderr,
  ERR_ROLLOUT_NOT_CONVERGED: async () => {
    // The service reports success, but does nothing.
    onRequest = ({ method, path, body }) => {
      if (method !== "POST" || !path.endsWith("/allow_deny_entries")) return undefined;
      const { value } = body as { value: string };
      const row = { id: `ade_${value}`, list: "deny", entry_type: "domain", value, verdict_scope: "global" };
      return { status: 201, body: { status: 201, results: row } };
    };
    return getTenantError(await fleet.runRollout("--only", "t0", "--yes"));
  },
  ERR_STACK_FOREIGN: async () => {
    await fleet.runRollout("abandon");
    await fleet.write(
      "index.ts",
      'import { AllowDenyEntry } from "pulumi-email-security";\nnew AllowDenyEntry("single", { list: "deny", value: "evil.example" });\n',
    );
    await fleet.startPulumi("t2", "stack", "init").ended;
    await fleet.startPulumi("t2", "up", "--yes", "--skip-preview").ended;
    return getTenantError(await fleet.runRollout("--only", "t2"));
  },
};

it.each(Object.entries(PROVOKED))("produces %s as its documented example shows", async (code, provoke) => {
  expectExample(code as ExplainedErrorCode, await provoke(fleet.directory));
});

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { AllowDenyEntryRow } from "../../../provider/client";
import { buildObservedState, getObservedIdentity } from "../../../provider/plan/observed-state";
import { openSqlite } from "../../../provider/rollout/database/sqlite-database";
import { assertNoOtherTenant } from "../../../provider/rollout/execution/tenant-identity-checks";
import { Journal } from "../../../provider/rollout/journal/journal";
import type { ClaimedJob } from "../../../provider/rollout/journal/rollout-record";
import { openFleetJournal } from "../../support/rollout-fixtures";
import { createTarget } from "../../support/rollout-target";

/* Right before the write, a tenant is compared with what the journal and the states of all stacks remember. */

const AT = "https://a.example";
const buildObserved = (tenant: string) =>
  buildObservedState(
    "2026-11-20T12:00:00.000Z",
    [1, 2].map(
      (number) =>
        ({
          id: `${tenant}-7f3c1b9e-52aa-4d0e-8b16-00000000000${number}`,
          ...{ list: "deny", entry_type: "domain", value: `evil${number}.example`, verdict_scope: "global" },
          created_at: "2026-11-20T11:59:00Z",
        }) as AllowDenyEntryRow,
    ),
    [],
  );
const EMPTY = getObservedIdentity(AT, buildObservedState("2026-11-20T12:00:00.000Z", [], []));

let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "email-security-apply-identity-"));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

/** Writes the state of a stack with the marker of a rollout that read this tenant. */
function writeState(stack: string, tenant: string): void {
  const directory = join(base, ".pulumi", "stacks", "p");
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(base, ".pulumi", "meta.yaml"), "version: 1\n");
  const identity = getObservedIdentity(AT, buildObserved(tenant));
  const marker = { rollout: "20261120-1200-aaaaaa", seq: 9, at: "2026-11-20T12:00:00.000Z", identity };
  const root = { urn: `urn:pulumi:${stack}::p::pulumi:pulumi:Stack::p-${stack}`, type: "pulumi:pulumi:Stack" };
  const latest = { resources: [{ ...root, outputs: { emailSecurityRollout: marker } }] };
  writeFileSync(join(directory, `${stack}.json`), JSON.stringify({ version: 3, checkpoint: { latest } }));
}

/** Compares the tenant that a key opens with its rollout, which read nothing of it, and with an earlier one. */
async function checkIdentity(
  opened: string,
  summary: Pick<ClaimedJob["summary"], "identity">,
): Promise<string | undefined> {
  const database = await openSqlite(join(base, "j.db"));
  await using stored = await openFleetJournal(database, "b");
  const read = new Map([["acme", { identity: getObservedIdentity(AT, buildObserved("acme")) }]]);
  if (summary.identity === undefined) await stored.rollout(new Map(), { acme: "unchanged" }, "p", read);
  const rollout = await stored.rollout(new Map(), { acme: "pending" }, "p", new Map([["acme", summary]]));
  const claimed = {
    job: { rollout, wave: 0, tenant: "acme", retryRound: 0 },
    target: createTarget("acme", AT),
    spec: { project: "p", backend: "b" },
    summary,
    attempt: 1,
  } as unknown as ClaimedJob;
  const environment = { PULUMI_BACKEND_URL: `file://${base}` };
  try {
    const journal = await Journal.open(database);
    await assertNoOtherTenant(claimed, buildObserved(opened), journal, {}, environment);
    return undefined;
  } catch (error) {
    return (error as { readonly code: string }).code;
  }
}

it("recognizes a tenant that only the state of another stack remembers", async () => {
  writeState("globex", "globex");
  expect(await checkIdentity("globex", { identity: EMPTY })).toBe("ERR_OTHER_TENANT");
  expect(await checkIdentity("acme", { identity: EMPTY })).toBeUndefined();
});

it("compares the tenant of a plan without an identity with earlier rollouts", async () => {
  expect(await checkIdentity("stranger", {})).toBe("ERR_OTHER_TENANT");
  expect(await checkIdentity("acme", {})).toBeUndefined();
});

import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AllowDenyEntryRow, SettingsClient, type VipEmployeeRow } from "../../../provider/client";
import { buildPulumiImportFile } from "../../../provider/commands/export/pulumi-import-file";
import { ENTRY_LISTS } from "../../../provider/model/assumptions";
import { buildNaturalKey, canonicalizeValue } from "../../../provider/model/entry-value";
import { OwnDomains } from "../../../provider/model/own-domains";
import { canonicalizeComment } from "../../../provider/model/text";
import { buildObservedState } from "../../../provider/plan/observed-state";
import { allowDenyEntryLifecycle } from "../../../provider/resources/lifecycle/allow-deny-entry";
import { allowDenyListLifecycle } from "../../../provider/resources/lifecycle/allow-deny-list";
import { formatUniqueEntryName } from "../../../provider/resources/lifecycle/entry-name";
import { NotImportableError } from "../../../provider/resources/lifecycle/errors";
import type {
  Lifecycle,
  LifecycleContext,
  PropertyChange,
  ResourceReadResult,
} from "../../../provider/resources/lifecycle/lifecycle";
import { vipEmployeeLifecycle } from "../../../provider/resources/lifecycle/vip-employee";
import { vipListLifecycle } from "../../../provider/resources/lifecycle/vip-list";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { isStoredRow, TenantCache } from "../../../provider/tenant";
import { findTerminalCommands } from "../../support/hostile-text";
import { createRowHooks } from "../../support/intercept-rows";
import { getRunCount } from "../../support/matrix-sampling";
import { anyEntry, anyVip } from "../../support/row-arbitraries";

interface TenantContents {
  readonly entries: readonly AllowDenyEntryRow[];
  readonly vips: readonly VipEmployeeRow[];
  readonly ownDomains: readonly string[];
}

const anyTenant: fc.Arbitrary<TenantContents> = fc.record({
  entries: fc
    .array(anyEntry, { maxLength: 12 })
    .map((rows) => rows.map((row, index) => ({ ...row, id: index % 5 === 4 ? `\u001b[3${index}m` : `ade_${index}` }))),
  // At most one detected and one added row per mailbox: a list with more is being changed.
  vips: fc.uniqueArray(anyVip, { maxLength: 6, comparator: isSameTwice }),
  ownDomains: fc.constantFrom([], ["acme.example"]),
});

function isSameTwice(a: VipEmployeeRow, b: VipEmployeeRow): boolean {
  const isOfOne = a.email?.trim().toLowerCase() === b.email?.trim().toLowerCase();
  return isOfOne && (a.source === b.source || isStoredRow(a) === isStoredRow(b));
}

let contents: TenantContents;
let sandbox: Sandbox;
beforeAll(async () => {
  const answers = createRowHooks(
    () => contents.entries,
    () => contents.vips,
  );
  sandbox = await startSandbox({ scenario: "empty", ...answers });
});
afterAll(async () => {
  await sandbox.close();
});

/** Builds a provider process that has read nothing yet, and records its messages. */
function createProcessContext({ ownDomains }: TenantContents): LifecycleContext & { readonly messages: string[] } {
  const messages: string[] = [];
  return {
    tenant: new TenantCache({
      client: new SettingsClient({ baseUrl: sandbox.url, apiKey: "sandbox-acme-ci" }),
      // A conflict is read again for as long as a list may lag.
      sleep: async () => undefined,
    }),
    log: (sentence) => messages.push(sentence),
    isDeclared: () => false,
    shareManagedIds: () => undefined,
    confirmTenant: async () => undefined,
    isManagedElsewhere: () => false,
    getOwnDomains: () => new OwnDomains(ownDomains),
    messages,
  };
}

type LookedUp<State> = Required<ResourceReadResult<State>>;

/**
 * Looks up an ID. Returns undefined if no program can declare its resource. Asserts that the error message contains no
 * commands.
 */
async function lookUp<Inputs, State>(
  lifecycle: Lifecycle<Inputs, State>,
  id: string,
  context: LifecycleContext,
): Promise<LookedUp<State> | undefined> {
  try {
    return await lifecycle.lookUp(id, context);
  } catch (error) {
    if (!(error instanceof NotImportableError)) throw error;
    expect(findTerminalCommands(error.message)).toEqual([]);
    return undefined;
  }
}

/**
 * Asserts that the looked-up resource is accepted as a program's arguments, has an empty diff, and stays the same after
 * a refresh.
 */
async function expectSettled<Inputs, State>(
  lifecycle: Lifecycle<Inputs, State>,
  { id, state, inputs }: LookedUp<State>,
  context: LifecycleContext,
): Promise<void> {
  const written = JSON.parse(JSON.stringify(inputs));
  const checked = lifecycle.check(written, {}, context.getOwnDomains);
  expect(checked.failures).toEqual([]);
  const complete = lifecycle.complete(checked.inputs);
  expect(lifecycle.diff(state, complete)).toEqual([]);
  expect(findTerminalCommands(JSON.stringify([id, inputs]))).toEqual([]);
  const refreshed = await lifecycle.read(id, state, context);
  expect(refreshed?.id).toBe(id);
  if (refreshed === undefined) return;
  // If a value is both allowed and denied, an import omits the allow entry, and every run fails until someone removes
  // it.
  const isConflict = ({ property }: PropertyChange): boolean => ["incomplete", "conflict"].includes(property);
  const changes = lifecycle.diff(refreshed.state, complete);
  expect(changes.filter((change) => !isConflict(change))).toEqual([]);
  if (!isContradictory(contents)) expect(changes).toEqual([]);
}

/** Returns whether a value is both allowed and denied. */
function isContradictory({ entries }: TenantContents): boolean {
  const listValues = (listName: string) =>
    entries.flatMap(({ list, value }) => (list === listName ? [canonicalizeValue(value)] : []));
  const denied = new Set(listValues("deny"));
  return listValues("allow").some((value) => denied.has(value));
}

/** Returns whether a row has the form that the service's reference documents. */
function isPlain({ list, entry_type, value, verdict_scope, comment }: AllowDenyEntryRow): boolean {
  const isKnown = list === "allow" || list === "deny";
  const isDomain = entry_type === "domain" && /^[a-c]+\.(?:example|com)$/.test(value);
  return isKnown && isDomain && verdict_scope === "global" && (comment === undefined || comment === "Contract 7");
}

describe("lookUp for an arbitrary tenant", () => {
  it("resolves an entry by id and by name to its arguments", async () => {
    await fc.assert(
      fc.asyncProperty(anyTenant, async (tenant) => {
        contents = tenant;
        const context = createProcessContext(tenant);
        for (const row of tenant.entries) {
          const lookupResult = await lookUp(allowDenyEntryLifecycle, row.id, context);
          if (lookupResult === undefined) {
            expect(isPlain(row)).toBe(false);
            continue;
          }
          expect(lookupResult.state.entryId ?? lookupResult.id).toBe(row.id);
          expect(canonicalizeComment(lookupResult.state.comment)).toBe(canonicalizeComment(row.comment));
          const key = buildNaturalKey(row.entry_type, row.value);
          const valueRows = tenant.entries.filter((entry) => buildNaturalKey(entry.entry_type, entry.value) === key);
          await expectSettled(allowDenyEntryLifecycle, lookupResult, context);
          expect(await lookUp(allowDenyEntryLifecycle, formatUniqueEntryName(row, valueRows), context)).toEqual(
            lookupResult,
          );
        }
        expect(sandbox.requests.filter(({ method }) => method !== "GET")).toEqual([]);
        sandbox.clearRequests();
      }),
      { numRuns: getRunCount(60) },
    );
  });

  it("resolves exactly the ids that a listing returns", async () => {
    await fc.assert(
      fc.asyncProperty(anyTenant, async (tenant) => {
        contents = tenant;
        const context = createProcessContext(tenant);
        const entries = await allowDenyEntryLifecycle.list({}, context);
        const lookupResults = await Promise.all(entries.map(({ id }) => allowDenyEntryLifecycle.lookUp(id, context)));
        expect(lookupResults.map((result) => result?.id)).toEqual(entries.map(({ id }) => id));
        const missedRows = await Promise.all(
          tenant.entries
            .filter((row) => !lookupResults.some((result) => (result?.state.entryId ?? result?.id) === row.id))
            .map(({ id }) => lookUp(allowDenyEntryLifecycle, id, context)),
        );
        expect(missedRows.filter((row) => row !== undefined)).toEqual([]);
        expect(context.messages).toHaveLength(missedRows.length === 0 ? 0 : 1);
        for (const list of ENTRY_LISTS) {
          const own = await allowDenyEntryLifecycle.list({ list }, context);
          const rows = own.map(({ id }) => lookupResults.find((result) => result?.id === id)?.state.list);
          expect(new Set(rows)).toEqual(new Set(own.length === 0 ? [] : [list]));
        }
        const vips = await vipEmployeeLifecycle.list({}, context);
        const people = await Promise.all(vips.map(({ id }) => vipEmployeeLifecycle.lookUp(id, context)));
        expect(people.map((person) => person?.id)).toEqual(vips.map(({ id }) => id));
        expect(findTerminalCommands(JSON.stringify([entries, vips, context.messages]))).toEqual([]);
      }),
      { numRuns: getRunCount(60) },
    );
  });

  it("resolves whole lists to the arguments that declare them", async () => {
    await fc.assert(
      fc.asyncProperty(anyTenant, async (tenant) => {
        contents = tenant;
        const context = createProcessContext(tenant);
        for (const id of ["allow-deny-list", "allow", "deny"]) {
          const lookupResult = await allowDenyListLifecycle.lookUp(id, context);
          expect(lookupResult?.id).toBe("allow-deny-list");
          if (lookupResult !== undefined) await expectSettled(allowDenyListLifecycle, lookupResult, context);
        }
        const lookupResult = await vipListLifecycle.lookUp("vip-list", context);
        expect(lookupResult?.id).toBe("vip-list");
        if (lookupResult !== undefined) await expectSettled(vipListLifecycle, lookupResult, context);
        expect(findTerminalCommands(context.messages.join("\n"))).toEqual([]);
      }),
      { numRuns: getRunCount(60) },
    );
  });

  it("resolves a VIP by mailbox to its arguments", async () => {
    await fc.assert(
      fc.asyncProperty(anyTenant, async (tenant) => {
        contents = tenant;
        const context = createProcessContext(tenant);
        for (const { email } of tenant.vips) {
          if (email === undefined) continue;
          const lookupResult = await lookUp(vipEmployeeLifecycle, email.toUpperCase(), context);
          if (lookupResult === undefined) expect(email).not.toMatch(/^[a-d]+@acme\.example$/);
          else await expectSettled(vipEmployeeLifecycle, lookupResult, context);
        }
      }),
      { numRuns: getRunCount(60) },
    );
  });

  it("resolves each id of an import file exactly once", async () => {
    await fc.assert(
      fc.asyncProperty(anyTenant, fc.boolean(), async (tenant, includeAutomatic) => {
        contents = tenant;
        const context = createProcessContext(tenant);
        const observed = buildObservedState("2026-11-21T20:00:00.000Z", tenant.entries, tenant.vips);
        const { ownDomains } = tenant;
        const file = buildPulumiImportFile(observed, { ownDomains, includeAutomatic });
        const { resources } = JSON.parse(file.text) as {
          resources: { type: string; name: string; id: string }[];
        };
        expect([resources.length, file.entries + file.vips]).toEqual([file.resources, file.resources]);
        expect(new Set(resources.map(({ name }) => name)).size).toBe(resources.length);
        const lookupResults = await Promise.all(
          resources.map(async ({ type, id }) => {
            const isEntry = type === "email-security:index:AllowDenyEntry";
            return await (isEntry ? allowDenyEntryLifecycle : vipEmployeeLifecycle).lookUp(id, context);
          }),
        );
        expect(lookupResults).not.toContain(undefined);
        expect(new Set(lookupResults.map((result) => result?.id)).size).toBe(resources.length);
        // Each row is imported, left to auto-detection, or reported.
        const mailboxes = new Set(tenant.vips.map(({ email }) => email?.trim().toLowerCase()));
        mailboxes.delete(undefined);
        const rows = tenant.entries.length + mailboxes.size + observed.mailboxlessVips.length;
        expect(file.resources + file.automatic + file.undeclarable.length).toBe(rows);
        expect(findTerminalCommands(file.text)).toEqual([]);

        const lists = buildPulumiImportFile(observed, { ownDomains, wholeLists: true });
        const entries = await allowDenyListLifecycle.lookUp("allow-deny-list", context);
        const members = await vipListLifecycle.lookUp("vip-list", context);
        expect(Object.keys(entries?.inputs["entries"] ?? {})).toHaveLength(lists.entries);
        expect(Object.keys(members?.inputs["members"] ?? {})).toHaveLength(lists.vips);
      }),
      { numRuns: getRunCount(60) },
    );
  });
});

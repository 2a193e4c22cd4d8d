import { expect, it } from "vitest";
import { buildTenantIdentity } from "../../../../provider/model/tenant-identity";
import { buildStackMarker } from "../../../../provider/rollout/execution/tenant-job";
import type { ClaimedJob, TenantSummary } from "../../../../provider/rollout/journal/rollout-record";

const ROLLOUT = "20261120-1200-abcdef";
const identity = buildTenantIdentity("https://a.example", { rows: [], mailboxes: ["ceo@acme.example"] });
const OTHER = buildTenantIdentity("https://a.example", { rows: [], mailboxes: ["ceo@globex.example"] });
const former = { rollout: "20261101-1200-abcdef", seq: 3, at: "2026-11-01T12:00:00.000Z" };

function buildMarker(summary: Partial<TenantSummary>, spec: Partial<ClaimedJob["spec"]> = {}) {
  const claimed = {
    job: { rollout: ROLLOUT, wave: 0, tenant: "acme", retryRound: 0 },
    seq: 7,
    spec: { source: "tenants.yaml", project: "p", today: "2026-11-20", services: [], waves: [], ...spec },
    summary: {
      planned: { added: 0, changed: 0, removed: 0 },
      changes: [],
      severities: { danger: 0, warning: 0 },
      resource: "acme",
      isStackThere: false,
      identity,
      ...summary,
    },
  };
  return buildStackMarker(claimed as unknown as ClaimedJob);
}

it("leaves a marker in a new stack without changes", () => {
  expect(buildMarker({})).toMatchObject({
    ...{ rollout: ROLLOUT, seq: 7, isUnchanged: true },
    identity: { people: identity.people },
  });
});

it("leaves a marker in a stack that an interrupted rollout created", () => {
  expect(buildMarker({ isStackThere: true })).toMatchObject({ rollout: ROLLOUT, seq: 7 });
});

it("adds the identity to a marker that has none", () => {
  const marker = buildMarker({ isStackThere: true, marker: former });
  expect(marker).toMatchObject({ ...former, identity: { people: identity.people }, identitySource: { seq: 7 } });
});

it("names the rollout that read an accepted identity", () => {
  const marker = { ...former, identity: OTHER };
  expect(buildMarker({ isStackThere: true, marker, acceptsEmptyTenant: true })).toEqual({
    ...former,
    identity: expect.objectContaining({ people: identity.people }),
    identitySource: { rollout: ROLLOUT, seq: 7 },
    acceptedSeq: 7,
  });
});

it("keeps an acceptance when a later rollout changes the tenant", () => {
  const marker = { ...former, identity: OTHER, identitySource: { rollout: former.rollout, seq: 5 }, acceptedSeq: 5 };
  const changed = buildMarker({ isStackThere: true, marker, planned: { added: 1, changed: 0, removed: 0 } });
  expect(changed).toEqual({
    ...{ rollout: ROLLOUT, seq: 7, at: expect.any(String), acceptedSeq: 5 },
    identity: expect.objectContaining({ people: identity.people }),
  });
});

it("renews the identity when a rollout of another mode changes the tenant", () => {
  const marker = { ...former, identity: OTHER };
  const summary = { isStackThere: true, marker, planned: { added: 0, changed: 0, removed: 1 } };
  expect(buildMarker(summary, { mode: "only-expired" })).toMatchObject({
    ...former,
    identity: { people: identity.people },
    identitySource: { rollout: ROLLOUT, seq: 7 },
  });
});

it("keeps a marker when nothing changes", () => {
  const marker = { ...former, identity: OTHER, identitySource: { rollout: former.rollout, seq: 4 } };
  expect(buildMarker({ isStackThere: true, marker })).toEqual(marker);
});

it("leaves no marker in a run of only one task", () => {
  expect(buildMarker({ isStackThere: true }, { mode: "only-expired" })).toBeUndefined();
});

import { createHash } from "node:crypto";
import { type EntryState, getComparableValues } from "./entry-fields";

export interface DigestedChange {
  readonly kind: string;
  readonly key: string;
  readonly before?: DigestedState | undefined;
  readonly after?: DigestedState | undefined;
  /** Other entries that the change may replace. */
  readonly mayReplace?: readonly { readonly key: string; readonly before: DigestedState }[] | undefined;
}

interface DigestedState extends EntryState {
  readonly createdBy?: string | undefined;
  readonly createdAt?: string | undefined;
}

export interface PlanDigestParts {
  /** The tenant: the service's host and the stack. */
  readonly tenant: string;
  /** The whole desired state, with its metadata in the files, the rules of the files, and the options of the lists. */
  readonly desired: string;
  /** The actual state of the changed items, and their state after the change. */
  readonly observed: string;
}

/** A `v1` digest did not cover tickets, people, expiry dates, rules, or the author of an existing item. */
const VERSION = "v2";

/** Formats the digest of a plan: `v2-<tenant>-<desired>-<observed>`. Separate parts show which of them changed. */
export function formatPlanDigest({ tenant, desired, observed }: PlanDigestParts): string {
  return [VERSION, tenant, desired, observed].join("-");
}

export function parsePlanDigest(digest: string): PlanDigestParts | undefined {
  const [, tenant = "", desired = "", observed = ""] =
    /^v2-([0-9a-f]{16})-([0-9a-f]{16})-([0-9a-f]{16})$/.exec(digest.trim()) ?? [];
  return tenant === "" ? undefined : { tenant, desired, observed };
}

/** Whether a digest comes from an earlier release. Such a digest covers less than the plan shows. */
export function isLegacyDigest(digest: string): boolean {
  return /^v1(?:-[0-9a-f]{16}){3}$/.test(digest.trim());
}

/** Hashes a tenant: the service's host and the stack that applies its settings, if any. */
export function hashTenant(host: string, stack: string | undefined): string {
  return hashJson([host, stack ?? ""]);
}

export function hashChanges(changes: readonly DigestedChange[]): string {
  const lines = changes.flatMap(({ kind, key, before, after, mayReplace = [] }) => [
    JSON.stringify([kind, key, encodeState(before), encodeState(after)]),
    ...mayReplace.map((other) => JSON.stringify([kind, key, "replaces", other.key, encodeState(other.before)])),
  ]);
  return hashJson(lines.sort());
}

/** Returns a short hash of plain data. The order of properties and items matters. */
export function hashJson(data: unknown): string {
  return createHash("sha256").update(JSON.stringify(data)).digest("hex").slice(0, 16);
}

function encodeState(state: DigestedState | undefined): readonly unknown[] | null {
  return state === undefined ? null : [...getComparableValues(state), state.createdBy ?? "", state.createdAt ?? ""];
}

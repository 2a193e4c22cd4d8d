import { encodeVipKey } from "../../model/encoded-list";
import { canonicalizeMailbox } from "../../model/entry-value";
import { buildTenantIdentity, hasNoHashes, shrinkIdentity, type TenantIdentity } from "../../model/tenant-identity";
import { getVipMailboxes, type ObservedState } from "../../plan/observed-state";
import type { PlanChange } from "../../plan/plan";
import { encodeRowKey } from "../../resources/lifecycle/entry-match";
import type { TenantSummary } from "./rollout-record";

/**
 * Returns the part of the identity that remains however far a plan is applied: the rows and VIPs that it neither
 * removes nor replaces. Undefined if it only adds, or if nothing else identifies the tenant.
 */
export function buildStableIdentity(
  baseUrl: string,
  observed: ObservedState,
  changes: readonly Pick<PlanChange, "operation" | "kind" | "key" | "value">[],
): TenantIdentity | undefined {
  const touched = changes.filter(({ operation }) => operation !== "add");
  if (touched.length === 0) return undefined;
  const keys = new Set(touched.map(({ kind, key }) => `${kind} ${key}`));
  const values = new Set(touched.map(({ value }) => value));
  const { history: _history, ...identity } = shrinkIdentity(
    buildTenantIdentity(baseUrl, {
      rows: observed.rows.filter((row) => !keys.has(`entry ${encodeRowKey(row)}`) && !values.has(row.value)),
      mailboxes: getVipMailboxes(observed).filter(
        (mailbox) => mailbox !== undefined && !keys.has(`vip ${encodeVipKey(canonicalizeMailbox(mailbox))}`),
      ),
    }),
  );
  return hasNoHashes(identity) ? undefined : identity;
}

/**
 * Returns the identity that must remain after an interrupted attempt to change the tenant. Undefined if it isn't known.
 */
export function getStableIdentity({ planned, identity, stableIdentity }: TenantSummary): TenantIdentity | undefined {
  return planned.changed + planned.removed === 0 ? identity : stableIdentity;
}

/**
 * Whether an interrupted attempt may have left a tenant empty that was not. Runs add before they remove, so only a plan
 * that adds nothing and leaves nothing may have.
 */
export function mayEmptyTenant(summary: TenantSummary): boolean {
  const { added, changed } = summary.planned;
  return added + changed === 0 && getStableIdentity(summary) === undefined;
}

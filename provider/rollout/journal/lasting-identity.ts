import { getMailboxes, type Observed } from "../../plan/observed";
import type { Change } from "../../plan/plan";
import { keyOfRow } from "../../resources/lifecycle/entry-match";
import { canonicalMailbox } from "../../settings/entry-value";
import { keyOfVip } from "../../settings/keyed-list";
import { identifiesNone, identityOf, shrinkIdentity, type TenantIdentity } from "../../settings/tenant-identity";
import type { TenantSummary } from "./rollout-record";

/**
 * Returns what identifies a tenant however far a plan is applied: the rows and VIPs that it neither removes nor replaces. Undefined if it
 * only adds, or if nothing else identifies the tenant.
 */
export function readLastingIdentity(
  baseUrl: string,
  observed: Observed,
  changes: readonly Pick<Change, "sign" | "kind" | "key" | "value">[],
): TenantIdentity | undefined {
  const touched = changes.filter(({ sign }) => sign !== "add");
  if (touched.length === 0) return undefined;
  const keys = new Set(touched.map(({ kind, key }) => `${kind} ${key}`));
  const values = new Set(touched.map(({ value }) => value));
  const { history: _history, ...identity } = shrinkIdentity(
    identityOf(baseUrl, {
      rows: observed.rows.filter((row) => !keys.has(`entry ${keyOfRow(row)}`) && !values.has(row.value)),
      mailboxes: getMailboxes(observed).filter(
        (mailbox) => mailbox !== undefined && !keys.has(`vip ${keyOfVip(canonicalMailbox(mailbox))}`),
      ),
    }),
  );
  return identifiesNone(identity) ? undefined : identity;
}

/** What must still identify a tenant after an attempt to change it that didn't end. Undefined if that isn't known. */
export function lastingIdentity({ planned, identity, lasting }: TenantSummary): TenantIdentity | undefined {
  return planned.changed + planned.removed === 0 ? identity : lasting;
}

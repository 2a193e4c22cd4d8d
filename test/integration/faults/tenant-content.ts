import type { Sandbox } from "../../../provider/sandbox";

/** Everything that a tenant contains, without IDs and dates. */
export interface TenantContent {
  /** As "list type value scope comment", sorted. */
  readonly entries: readonly string[];
  /** As "mailbox comment", sorted. */
  readonly vips: readonly string[];
  readonly exclusions: readonly string[];
  /** The values and mailboxes that anybody has removed since the program was first applied. */
  readonly removed: readonly string[];
}

export function readTenantContent(sandbox: Sandbox): TenantContent {
  const values = new Map<string, string>();
  const removed: string[] = [];
  for (const { action, target, before, after } of sandbox.audit("acme")) {
    const { value } = (after ?? before ?? {}) as { value?: string };
    if (value !== undefined) values.set(target, value);
    if (action === "allow_deny_entry.delete") removed.push(values.get(target) ?? target);
    if (action === "vip_employee.remove") removed.push(target);
  }
  return {
    entries: sandbox
      .allowDenyEntries("acme")
      .map(({ list, entry_type, value, verdict_scope, comment }) =>
        [list, entry_type, value, verdict_scope, comment].join(" "),
      )
      .sort(),
    vips: sandbox
      .vips("acme")
      .map(({ email, comment }) => `${email} ${comment}`)
      .sort(),
    exclusions: sandbox.exclusions("acme"),
    removed: removed.sort(),
  };
}

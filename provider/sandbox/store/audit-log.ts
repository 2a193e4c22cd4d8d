import type { DatabaseSync } from "node:sqlite";
import { queryAll, queryFirst } from "./database";
import type { Caller } from "./tenants";

/** A write to one object: the actor and the states before and after. The key appears only as its label and fingerprint. */
export interface AuditRow {
  /** Increases over time, across all tenants. */
  id: number;
  /** RFC 3339. */
  time: string;
  tenant: string;
  action: AuditAction;
  /** A mailbox, or the id of an allow/deny entry. */
  target: string;
  /** The state of the object; null if it does not exist. */
  before: unknown;
  after: unknown;
  keyLabel: string;
  /** The first 12 hex digits of the acting key's SHA-256. */
  keyFingerprint: string;
}

/** The kind of a write. */
export type AuditAction =
  | "vip_employee.add"
  | "vip_employee.edit_comment"
  | "vip_employee.remove"
  | "allow_deny_entry.create"
  | "allow_deny_entry.update"
  | "allow_deny_entry.delete";

/** Records every write (reference, "What the service does"). */
export class AuditLog {
  readonly #insert;
  readonly #latest;
  readonly #count;

  constructor(database: DatabaseSync) {
    this.#insert = database.prepare(
      `INSERT INTO audit_log (tenant_id, time, action, target, before, after, key_label, key_fingerprint)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#latest = database.prepare(
      `SELECT audit_log.id, time, name AS tenant, action, target, before, after, key_label AS keyLabel,
              key_fingerprint AS keyFingerprint
       FROM audit_log JOIN tenants ON tenants.id = tenant_id
       WHERE tenant_id = ? ORDER BY audit_log.id DESC LIMIT ?`,
    );
    this.#count = database.prepare("SELECT count(*) AS total FROM audit_log WHERE tenant_id = ?");
  }

  /** Writes a row. Call it inside the transaction of the write that it records. */
  append(
    caller: Caller,
    time: string,
    action: AuditAction,
    target: string,
    change: { before: unknown; after: unknown },
  ): void {
    this.#insert.run(
      caller.tenantId,
      time,
      action,
      target,
      JSON.stringify(change.before),
      JSON.stringify(change.after),
      caller.keyLabel,
      caller.keyFingerprint,
    );
  }

  /** Returns the last rows of a tenant, newest last. A negative limit returns all rows. */
  readLatest(tenantId: number, limit: number): AuditRow[] {
    const rows = queryAll<Omit<AuditRow, "before" | "after"> & { before: string; after: string }>(
      this.#latest,
      tenantId,
      limit,
    );
    return rows.reverse().map((row) => ({ ...row, before: JSON.parse(row.before), after: JSON.parse(row.after) }));
  }

  count(tenantId: number): number {
    return queryFirst<{ total: number }>(this.#count, tenantId)?.total ?? 0;
  }
}

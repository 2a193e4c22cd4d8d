import type { DatabaseSync } from "node:sqlite";
import type { SandboxBehaviour } from "../contract/behaviour";
import { SandboxHttpError } from "../contract/errors";
import type { ResultPage } from "../contract/result-page";
import type { SandboxAddVipResult, SandboxVipRow, SandboxVipStoredRow } from "../contract/schemas";
import type { AuditAction, AuditLog } from "./audit-log";
import { queryAll, queryFirst, runTransaction } from "./database";
import type { Caller } from "./tenants";

export interface VipSelection {
  q?: string | undefined;
  sort: "asc" | "desc";
  limit: number;
  offset: number;
}

const STORED_COLUMNS = "coalesce(email, '') AS email, comment, added_by, date_added, updated_at, source";
const LIST_COLUMNS = `${STORED_COLUMNS}, full_name, job_title, department`;

// The newline prevents a match across two fields.
const MATCH_CONDITION = `(? = '' OR instr(fold(concat_ws(char(10),
  email, full_name, job_title, department, comment, added_by)), ?) > 0)`;

const SORT_ORDERS = {
  asc: "email IS NULL, date_added, id",
  desc: "email IS NULL, date_added DESC, id DESC",
};

/** Stores the VIP list (reference, "States and transitions"). Methods expect canonical mailboxes. */
export class VipEmployeeStore {
  readonly #database;
  readonly #audit;
  readonly #page;
  readonly #count;
  readonly #find;
  readonly #setManual;
  readonly #setComment;
  readonly #unsetVip;
  readonly #isExcluded;
  readonly #addExclusion;
  readonly #removeExclusion;
  readonly #exclusions;

  constructor(database: DatabaseSync, audit: AuditLog) {
    const list = `FROM employees WHERE tenant_id = ? AND source IS NOT NULL AND ${MATCH_CONDITION}`;
    const preparePage = (order: string) =>
      database.prepare(`SELECT ${LIST_COLUMNS} ${list} ORDER BY ${order} LIMIT ? OFFSET ?`);
    this.#database = database;
    this.#audit = audit;
    this.#page = { asc: preparePage(SORT_ORDERS.asc), desc: preparePage(SORT_ORDERS.desc) };
    this.#count = database.prepare(`SELECT count(*) AS total ${list}`);
    this.#find = database.prepare(`SELECT ${STORED_COLUMNS} FROM employees WHERE tenant_id = ? AND email = ?`);
    this.#setManual = database.prepare(
      `UPDATE employees SET source = 'manual', comment = ?, added_by = ?, date_added = ?, updated_at = ?
       WHERE tenant_id = ? AND email = ?`,
    );
    this.#setComment = database.prepare(
      "UPDATE employees SET comment = ?, updated_at = ? WHERE tenant_id = ? AND email = ?",
    );
    this.#unsetVip = database.prepare(
      `UPDATE employees SET source = NULL, comment = '', added_by = '', date_added = '', updated_at = ''
       WHERE tenant_id = ? AND email = ?`,
    );
    this.#isExcluded = database.prepare("SELECT 1 FROM vip_exclusions WHERE tenant_id = ? AND email = ?");
    this.#addExclusion = database.prepare(
      "INSERT INTO vip_exclusions (tenant_id, email, excluded_at, excluded_by) VALUES (?, ?, ?, ?)",
    );
    this.#removeExclusion = database.prepare("DELETE FROM vip_exclusions WHERE tenant_id = ? AND email = ?");
    this.#exclusions = database.prepare("SELECT email FROM vip_exclusions WHERE tenant_id = ? ORDER BY email");
  }

  page(tenantId: number, { q = "", sort, limit, offset }: VipSelection): ResultPage<SandboxVipRow> {
    const text = q.toLowerCase();
    return {
      items: queryAll<SandboxVipRow>(this.#page[sort], tenantId, text, text, limit, offset),
      total: queryFirst<{ total: number }>(this.#count, tenantId, text, text)?.total ?? 0,
    };
  }

  exclusions(tenantId: number): string[] {
    return queryAll<{ email: string }>(this.#exclusions, tenantId).map((row) => row.email);
  }

  /** Adds VIPs: all of the mailboxes, or none if one of them isn't in the directory. */
  add(
    caller: Caller,
    at: string,
    emails: string[],
    comment: string,
    behaviour: Required<SandboxBehaviour>,
  ): SandboxAddVipResult {
    return runTransaction(this.#database, () => {
      const result: SandboxAddVipResult = { added: [], already_vip: [], not_in_org: [] };
      const detectedEmails: string[] = [];
      for (const email of emails) {
        const employee = this.#findEmployee(caller, email);
        if (employee === undefined) result.not_in_org.push(email);
        else if (employee.source === null) result.added.push(email);
        else result.already_vip.push(email);
        if (employee?.source === "auto") detectedEmails.push(email);
      }
      if (result.not_in_org.length > 0) return result;

      const emailsToStore = behaviour.addStoresAutoDetected ? [...result.added, ...detectedEmails] : result.added;
      for (const email of emailsToStore) {
        this.#writeAudited(caller, at, "vip_employee.add", email, () => {
          if (behaviour.addClearsExclusion) this.#removeExclusion.run(caller.tenantId, email);
          if (this.#hasExclusion(caller, email)) return;
          this.#setManual.run(comment, caller.keyLabel, at, at, caller.tenantId, email);
        });
      }
      return result;
    });
  }

  /**
   * Replaces the comment of a manually added VIP.
   *
   * @throws SandboxHttpError 404 for any other mailbox: an auto-detected VIP has no stored row.
   */
  editComment(caller: Caller, at: string, email: string, comment: string): SandboxVipStoredRow {
    return runTransaction(this.#database, () => {
      const source = this.#findEmployee(caller, email)?.source;
      if (source !== "manual") {
        throw new SandboxHttpError(
          404,
          source === "auto"
            ? `${email} was detected automatically and has no stored row; add it explicitly first`
            : `${email} is not a VIP`,
        );
      }
      this.#writeAudited(caller, at, "vip_employee.edit_comment", email, () => {
        this.#setComment.run(comment, at, caller.tenantId, email);
      });
      return this.#findEmployee(caller, email) as SandboxVipStoredRow;
    });
  }

  /** Excludes mailboxes, whether or not they are VIPs or in the directory. Returns the number of new exclusions. */
  remove(caller: Caller, at: string, emails: string[]): number {
    return runTransaction(this.#database, () => {
      const affected = emails.filter((email) => !this.#hasExclusion(caller, email));
      for (const email of affected) {
        this.#writeAudited(caller, at, "vip_employee.remove", email, () => {
          this.#addExclusion.run(caller.tenantId, email, at, caller.keyLabel);
          this.#unsetVip.run(caller.tenantId, email);
        });
      }
      return affected.length;
    });
  }

  #findEmployee(
    caller: Caller,
    email: string,
  ): (Omit<SandboxVipStoredRow, "source"> & { source: SandboxVipStoredRow["source"] | null }) | undefined {
    return queryFirst(this.#find, caller.tenantId, email);
  }

  #hasExclusion(caller: Caller, email: string): boolean {
    return queryFirst(this.#isExcluded, caller.tenantId, email) !== undefined;
  }

  /** Runs a write and records the mailbox's states before and after it in the audit log. */
  #writeAudited(caller: Caller, at: string, action: AuditAction, email: string, write: () => void): void {
    const before = this.#getAuditState(caller, email);
    write();
    this.#audit.append(caller, at, action, email, { before, after: this.#getAuditState(caller, email) });
  }

  #getAuditState(caller: Caller, email: string): unknown {
    if (this.#hasExclusion(caller, email)) return { email, excluded: true };
    const employee = this.#findEmployee(caller, email);
    return employee?.source ? employee : null;
  }
}

/**
 * Makes a VIP of every employee whose job title and department match, unless an exclusion exists. It runs over the
 * whole directory whenever a store opens, so a removed VIP without an exclusion would come back.
 */
export function detectVips(database: DatabaseSync, at: string): void {
  database
    .prepare(
      `UPDATE employees SET source = 'auto', date_added = ?, updated_at = ?
       WHERE source IS NULL AND is_detected_vip(job_title, department) AND NOT EXISTS (
         SELECT 1 FROM vip_exclusions AS x
         WHERE x.tenant_id = employees.tenant_id AND x.email = employees.email
       )`,
    )
    .run(at, at);
}

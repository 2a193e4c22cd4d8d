import type { DatabaseSync } from "node:sqlite";
import { SandboxHttpError } from "../contract/errors";
import type { ResultPage } from "../contract/result-page";
import type { SandboxEntryRow } from "../contract/schemas";
import type { AuditLog } from "./audit-log";
import { queryAll, queryFirst, runTransaction } from "./database";
import type { Caller } from "./tenants";

/** An {@link SandboxEntryRow} without the fields that the service adds; `canonical_value` is used for comparison. */
export type AllowDenyEntryDraft = Omit<SandboxEntryRow, "created_at" | "created_by"> & {
  canonical_value: string;
};

/** The mutable fields. Omitted fields stay unchanged. */
export interface AllowDenyEntryChanges {
  list?: SandboxEntryRow["list"] | undefined;
  verdict_scope?: string | undefined;
  comment?: string | undefined;
}

export interface AllowDenyEntrySelection {
  list?: SandboxEntryRow["list"] | undefined;
  q?: string | undefined;
  limit: number;
  offset: number;
}

const COLUMNS = "id, list, entry_type, value, verdict_scope, comment, created_at, created_by";

/** Stores allow/deny entries. A value is on at most one list, and only once for each verdict scope. */
export class AllowDenyEntryStore {
  readonly #database;
  readonly #audit;
  readonly #selections;
  readonly #find;
  readonly #findCollision;
  readonly #insert;
  readonly #update;
  readonly #delete;

  constructor(database: DatabaseSync, audit: AuditLog) {
    // One statement for each set of filters: each reads its own index, newest first, without sorting or extra rows.
    const prepareSelection = (filters: string) => ({
      page: database.prepare(
        `SELECT ${COLUMNS} FROM allow_deny_entries WHERE ${filters} ORDER BY seq DESC LIMIT ? OFFSET ?`,
      ),
      count: database.prepare(`SELECT count(*) AS total FROM allow_deny_entries WHERE ${filters}`),
    });
    const prepareSelections = (filters: string) => ({
      whole: prepareSelection(filters),
      matching: prepareSelection(`${filters} AND instr(fold(value), ?) > 0`),
    });
    this.#database = database;
    this.#audit = audit;
    this.#selections = {
      all: prepareSelections("tenant_id = ?"),
      ofList: prepareSelections("tenant_id = ? AND list = ?"),
    };
    this.#find = database.prepare(
      `SELECT ${COLUMNS}, canonical_value FROM allow_deny_entries WHERE tenant_id = ? AND id = ?`,
    );
    this.#findCollision = database.prepare(
      `SELECT ${COLUMNS} FROM allow_deny_entries
       WHERE tenant_id = ? AND entry_type = ? AND canonical_value = ? AND id <> ?
         AND (verdict_scope = ? OR list <> ?) LIMIT 1`,
    );
    this.#insert = database.prepare(
      `INSERT INTO allow_deny_entries (tenant_id, canonical_value, ${COLUMNS})
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#update = database.prepare(
      "UPDATE allow_deny_entries SET list = ?, verdict_scope = ?, comment = ? WHERE id = ?",
    );
    this.#delete = database.prepare("DELETE FROM allow_deny_entries WHERE id = ?");
  }

  page(tenantId: number, { list, q = "", limit, offset }: AllowDenyEntrySelection): ResultPage<SandboxEntryRow> {
    const text = q.toLowerCase();
    const { whole, matching } = list === undefined ? this.#selections.all : this.#selections.ofList;
    const { page, count } = text === "" ? whole : matching;
    const filters = [tenantId, ...(list === undefined ? [] : [list]), ...(text === "" ? [] : [text])];
    return {
      items: queryAll<SandboxEntryRow>(page, ...filters, limit, offset),
      total: queryFirst<{ total: number }>(count, ...filters)?.total ?? 0,
    };
  }

  /** @throws SandboxHttpError 409 if the value already exists, or is on the opposite list. */
  create(caller: Caller, at: string, draft: AllowDenyEntryDraft): SandboxEntryRow {
    return runTransaction(this.#database, () => {
      this.#assertNoCollision(caller, draft);
      const { id, canonical_value, ...shown } = draft;
      const entry: SandboxEntryRow = { id, ...shown, created_at: at, created_by: caller.keyLabel };
      this.#insert.run(
        caller.tenantId,
        canonical_value,
        entry.id,
        entry.list,
        entry.entry_type,
        entry.value,
        entry.verdict_scope,
        entry.comment,
        entry.created_at,
        entry.created_by,
      );
      this.#audit.append(caller, at, "allow_deny_entry.create", entry.id, { before: null, after: entry });
      return entry;
    });
  }

  /**
   * @throws SandboxHttpError 404 if the tenant has no entry with this id; 409 if the changed entry conflicts with
   * another.
   */
  update(caller: Caller, at: string, id: string, changes: AllowDenyEntryChanges): SandboxEntryRow {
    return runTransaction(this.#database, () => {
      const { canonical_value, ...before } = this.#getExisting(caller, id);
      const after: SandboxEntryRow = {
        ...before,
        list: changes.list ?? before.list,
        verdict_scope: changes.verdict_scope ?? before.verdict_scope,
        comment: changes.comment ?? before.comment,
      };
      this.#assertNoCollision(caller, { ...after, canonical_value });
      this.#update.run(after.list, after.verdict_scope, after.comment, id);
      this.#audit.append(caller, at, "allow_deny_entry.update", id, { before, after });
      return after;
    });
  }

  /** @throws SandboxHttpError 404 if the tenant has no entry with this id. */
  delete(caller: Caller, at: string, id: string): void {
    runTransaction(this.#database, () => {
      const { canonical_value: _, ...before } = this.#getExisting(caller, id);
      this.#delete.run(id);
      this.#audit.append(caller, at, "allow_deny_entry.delete", id, { before, after: null });
    });
  }

  #getExisting(caller: Caller, id: string): SandboxEntryRow & { canonical_value: string } {
    const entry = queryFirst<SandboxEntryRow & { canonical_value: string }>(this.#find, caller.tenantId, id);
    if (entry === undefined) throw new SandboxHttpError(404, `the allow/deny entry ${id} does not exist`);
    return entry;
  }

  #assertNoCollision(caller: Caller, entry: AllowDenyEntryDraft): void {
    const collidingEntry = queryFirst<SandboxEntryRow>(
      this.#findCollision,
      caller.tenantId,
      entry.entry_type,
      entry.canonical_value,
      entry.id,
      entry.verdict_scope,
      entry.list,
    );
    if (collidingEntry === undefined) return;
    throw new SandboxHttpError(
      409,
      collidingEntry.list === entry.list
        ? `${entry.value} is already on the ${collidingEntry.list} list with verdict scope ${collidingEntry.verdict_scope}`
        : `${entry.value} is on the ${collidingEntry.list} list; remove it there first`,
    );
  }
}

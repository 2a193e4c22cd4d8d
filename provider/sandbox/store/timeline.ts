import type { DatabaseSync } from "node:sqlite";
import type { ResultPage } from "../contract/result-page";
import { prepareLazily, queryAll, queryFirst } from "./database";

/** A period, inclusive at both ends, RFC 3339. */
export interface Period {
  since: string;
  until: string;
}

/** The lower bound of a period: an earlier timestamp has another length and would not compare correctly as text. */
const EARLIEST_MS = Date.parse("0001-01-01T00:00:00.000Z");

/** Returns the period of that many minutes that ends at `at`. */
export function getLookBackPeriod(at: string, minutes: number): Period {
  const since = Math.max(Date.parse(at) - minutes * 60_000, EARLIEST_MS);
  return { since: new Date(since).toISOString(), until: at };
}

/** A table in which each tenant's rows have consecutive `seq` values, oldest first. */
export class Timeline<Row> {
  readonly #oldest;
  readonly #newest;
  readonly #range;

  /** @param time the first column after `tenant_id` in an index `(tenant_id, time, seq)` of the table */
  constructor(database: DatabaseSync, table: string, time: string, columns: readonly string[]) {
    const prepareEdge = (condition: string, order: string) =>
      prepareLazily(
        database,
        `SELECT seq FROM ${table} WHERE tenant_id = ? AND ${time} ${condition} ?
         ORDER BY ${time} ${order}, seq ${order} LIMIT 1`,
      );
    this.#oldest = prepareEdge(">=", "ASC");
    this.#newest = prepareEdge("<=", "DESC");
    this.#range = prepareLazily(
      database,
      `SELECT ${columns.join(", ")} FROM ${table} WHERE seq BETWEEN ? AND ? ORDER BY seq DESC`,
    );
  }

  /** Returns a page of rows, newest first. A negative limit means no limit. */
  page(tenantId: number, period: Period, { limit, offset }: { limit: number; offset: number }): ResultPage<Row> {
    const oldest = queryFirst<{ seq: number }>(this.#oldest(), tenantId, period.since)?.seq;
    const newest = queryFirst<{ seq: number }>(this.#newest(), tenantId, period.until)?.seq;
    if (oldest === undefined || newest === undefined || oldest > newest) return { items: [], total: 0 };
    const top = newest - offset;
    const bottom = limit < 0 ? oldest : Math.max(oldest, top - limit + 1);
    return {
      items: top < bottom ? [] : queryAll<Row>(this.#range(), bottom, top),
      total: newest - oldest + 1,
    };
  }
}

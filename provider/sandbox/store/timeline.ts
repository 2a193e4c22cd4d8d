import type { DatabaseSync } from "node:sqlite";
import type { Page } from "../contract/page";
import { all, first, prepared } from "./database";

/** From one moment to another, both included, RFC 3339. */
export interface Period {
  since: string;
  until: string;
}

/** What is earlier than this is the beginning of time: a text of another length would not compare. */
const EARLIEST_MS = Date.parse("0001-01-01T00:00:00.000Z");

/** The minutes up to a moment; however many they are. */
export function lookBack(at: string, minutes: number): Period {
  const since = Math.max(Date.parse(at) - minutes * 60_000, EARLIEST_MS);
  return { since: new Date(since).toISOString(), until: at };
}

/** A table whose rows of a tenant are consecutive in `seq`, from the oldest to the newest. */
export class Timeline<Row> {
  readonly #oldest;
  readonly #newest;
  readonly #range;

  /** @param time the column that an index `(tenant_id, time, seq)` of the table begins with */
  constructor(database: DatabaseSync, table: string, time: string, columns: readonly string[]) {
    const prepareEdge = (condition: string, order: string) =>
      prepared(
        database,
        `SELECT seq FROM ${table} WHERE tenant_id = ? AND ${time} ${condition} ?
         ORDER BY ${time} ${order}, seq ${order} LIMIT 1`,
      );
    this.#oldest = prepareEdge(">=", "ASC");
    this.#newest = prepareEdge("<=", "DESC");
    this.#range = prepared(
      database,
      `SELECT ${columns.join(", ")} FROM ${table} WHERE seq BETWEEN ? AND ? ORDER BY seq DESC`,
    );
  }

  /** Newest first. A negative limit is none. */
  page(tenantId: number, period: Period, { limit, offset }: { limit: number; offset: number }): Page<Row> {
    const oldest = first<{ seq: number }>(this.#oldest(), tenantId, period.since)?.seq;
    const newest = first<{ seq: number }>(this.#newest(), tenantId, period.until)?.seq;
    if (oldest === undefined || newest === undefined || oldest > newest) return { items: [], total: 0 };
    const top = newest - offset;
    const bottom = limit < 0 ? oldest : Math.max(oldest, top - limit + 1);
    return {
      items: top < bottom ? [] : all<Row>(this.#range(), bottom, top),
      total: newest - oldest + 1,
    };
  }
}

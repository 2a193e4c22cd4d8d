import type { DatabaseSync } from "node:sqlite";
import type { Page } from "../route";
import type { TargetedEntity, Threat, ThreatsOverTimeItem, ThreatTypeCount } from "../schemas";
import { all, first, prepared } from "./database";
import { type Mail, SHARED_MAILBOX, shownThreatColumns } from "./mail";
import { type Period, Timeline } from "./timeline";

type ThreatRow = Omit<Threat, "remediation_time" | "threat_indicators"> & {
  remediation_time: string | null;
  threat_indicators: string;
};

export type EntityType = "user" | "group";

/** Threats, and the metrics that are computed from them. All of it goes by the time at which the message arrived. */
export class ThreatStore {
  readonly #mail;
  readonly #timeline;
  readonly #statements;

  constructor(database: DatabaseSync, mail: Mail) {
    this.#mail = mail;
    this.#timeline = new Timeline<ThreatRow>(database, "threats", "time", shownThreatColumns);
    const columns = shownThreatColumns.join(", ");
    const period = "threats.tenant_id = ? AND time BETWEEN ? AND ?";
    this.#statements = {
      byMessage: prepared(
        database,
        `SELECT ${columns} FROM threats WHERE tenant_id = ? AND internet_message_id = ? ORDER BY seq DESC`,
      ),
      days: prepared(
        database,
        `SELECT substr(time, 1, 10) || 'T00:00:00.000Z' AS date, count(*) AS count_threats
         FROM threats WHERE ${period} GROUP BY date ORDER BY date DESC LIMIT ? OFFSET ?`,
      ),
      dayCount: prepared(
        database,
        `SELECT count(DISTINCT substr(time, 1, 10)) AS total FROM threats WHERE ${period}`,
      ),
      topEntities: prepared(
        database,
        `SELECT full_name, job_title, count_threats FROM (
           SELECT recipient_email, count(*) AS count_threats FROM threats WHERE ${period} GROUP BY recipient_email
         ) JOIN employees ON tenant_id = ? AND email = recipient_email
         WHERE (job_title = '${SHARED_MAILBOX}') = ?
         ORDER BY count_threats DESC, email LIMIT ?`,
      ),
      topTypes: prepared(
        database,
        `SELECT threat_type AS type, count(*) AS count_threats FROM threats WHERE ${period}
         GROUP BY type ORDER BY count_threats DESC, type LIMIT ?`,
      ),
      // Ordered over the index alone; only what is shown is read.
      highlighted: prepared(
        database,
        `SELECT ${columns} FROM threats JOIN (
           SELECT seq AS chosen, ${CRITICALITY_RANK} AS rank FROM threats WHERE ${period}
           ORDER BY rank DESC, seq DESC LIMIT ?
         ) ON chosen = seq ORDER BY rank DESC, seq DESC`,
      ),
      prevented: prepared(
        database,
        `SELECT count(*) AS total FROM threats
         WHERE ${period} AND action_taken NOT IN ('none', 'restored', 'released_from_quarantine')`,
      ),
      inboxes: prepared(
        database,
        `SELECT count(DISTINCT recipient_email) AS total FROM threats WHERE ${period}`,
      ),
    };
  }

  /** Newest first. */
  page(tenantId: number, period: Period, part: { limit: number; offset: number }): Page<Threat> {
    this.#mail.ensure(tenantId, period.until);
    const { items, total } = this.#timeline.page(tenantId, period, part);
    return { items: items.map(shown), total };
  }

  /** Those of one message, by its exact Internet Message ID: one a recipient, newest first. */
  ofMessage(tenantId: number, at: string, messageId: string): Threat[] {
    this.#mail.ensure(tenantId, at);
    return all<ThreatRow>(this.#statements.byMessage(), tenantId, messageId).map(shown);
  }

  /** The days (UTC) on which there were any, newest first. The oldest may be cut by the period's edge. */
  overTime(
    tenantId: number,
    period: Period,
    { limit, offset }: { limit: number; offset: number },
  ): Page<ThreatsOverTimeItem> {
    const values = this.#values(tenantId, period);
    return {
      items: all<ThreatsOverTimeItem>(this.#statements.days(), ...values, limit, offset),
      total: this.#total(this.#statements.dayCount(), values),
    };
  }

  /** Who got the most, by name when they got as many. */
  topTargeted(tenantId: number, period: Period, type: EntityType, limit: number): TargetedEntity[] {
    const values = this.#values(tenantId, period);
    return all(this.#statements.topEntities(), ...values, tenantId, type === "group" ? 1 : 0, limit);
  }

  topTypes(tenantId: number, period: Period, limit: number): ThreatTypeCount[] {
    return all(this.#statements.topTypes(), ...this.#values(tenantId, period), limit);
  }

  /** The most critical, and of those the newest. */
  highlighted(tenantId: number, period: Period, limit: number): Threat[] {
    const values = this.#values(tenantId, period);
    return all<ThreatRow>(this.#statements.highlighted(), ...values, limit).map(shown);
  }

  /** How many were taken out of the recipient's way, and not given back. */
  prevented(tenantId: number, period: Period): number {
    return this.#total(this.#statements.prevented(), this.#values(tenantId, period));
  }

  /** How many mailboxes got any. */
  inboxes(tenantId: number, period: Period): number {
    return this.#total(this.#statements.inboxes(), this.#values(tenantId, period));
  }

  #values(tenantId: number, period: Period): [number, string, string] {
    this.#mail.ensure(tenantId, period.until);
    return [tenantId, period.since, period.until];
  }

  #total(statement: Parameters<typeof first>[0], values: [number, string, string]): number {
    return first<{ total: number }>(statement, ...values)?.total ?? 0;
  }
}

const CRITICALITY_RANK = "CASE criticality WHEN 'high' THEN 2 WHEN 'medium' THEN 1 ELSE 0 END";

function shown({ remediation_time, threat_indicators, ...threat }: ThreatRow): Threat {
  return {
    ...threat,
    ...(remediation_time !== null && { remediation_time }),
    threat_indicators: JSON.parse(threat_indicators),
  };
}

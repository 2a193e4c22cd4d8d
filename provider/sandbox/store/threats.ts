import type { DatabaseSync } from "node:sqlite";
import type { ResultPage } from "../contract/result-page";
import type {
  SandboxTargetedEntity,
  SandboxThreat,
  SandboxThreatTypeCount,
  ThreatsOverTimeItem,
} from "../contract/schemas";
import { prepareLazily, queryAll, queryFirst } from "./database";
import { type MailStore, SHARED_MAILBOX, shownThreatColumns } from "./mail-store";
import type { CountedColumn } from "./schema";
import { type Period, Timeline } from "./timeline";

type ThreatRow = Omit<SandboxThreat, "remediation_time" | "threat_indicators"> & {
  remediation_time: string | null;
  threat_indicators: string;
};

export type EntityType = "user" | "group";

/** Stores threats and computes metrics from them. All periods refer to the arrival time of the message. */
export class ThreatStore {
  readonly #mail;
  readonly #timeline;
  readonly #statements;

  constructor(database: DatabaseSync, mail: MailStore) {
    this.#mail = mail;
    this.#timeline = new Timeline<ThreatRow>(database, "threats", "time", shownThreatColumns);
    const columns = shownThreatColumns.join(", ");
    this.#statements = {
      byMessage: prepareLazily(
        database,
        `SELECT ${columns} FROM threats WHERE tenant_id = ? AND internet_message_id = ? ORDER BY seq DESC`,
      ),
      days: prepareLazily(
        database,
        `SELECT day || 'T00:00:00.000Z' AS date, sum(threats) AS count_threats FROM (${buildCountsSql("threat_type")})
         GROUP BY day ORDER BY day DESC LIMIT :limit OFFSET :offset`,
      ),
      dayCount: prepareLazily(database, `SELECT count(DISTINCT day) AS total FROM (${buildCountsSql("threat_type")})`),
      topEntities: prepareLazily(
        database,
        `SELECT full_name, job_title, count_threats FROM (
           SELECT value, sum(threats) AS count_threats FROM (${buildCountsSql("recipient_email")}) GROUP BY value
         ) JOIN employees ON tenant_id = :tenantId AND email = value
         WHERE (job_title = '${SHARED_MAILBOX}') = :isGroup
         ORDER BY count_threats DESC, email LIMIT :limit`,
      ),
      topTypes: prepareLazily(
        database,
        `SELECT value AS type, sum(threats) AS count_threats FROM (${buildCountsSql("threat_type")})
         GROUP BY type ORDER BY count_threats DESC, type LIMIT :limit`,
      ),
      // Each criticality is sorted in the index, up to the limit; only the rows to show are read in full.
      highlighted: prepareLazily(
        database,
        `SELECT ${columns} FROM threats JOIN (
           ${CRITICALITIES.map(buildNewestSql).join(" UNION ALL ")} ORDER BY rank, chosen DESC LIMIT :limit
         ) ON chosen = seq ORDER BY rank, seq DESC`,
      ),
      prevented: prepareLazily(
        database,
        `SELECT coalesce(sum(threats), 0) AS total FROM (${buildCountsSql("action_taken")})
         WHERE value NOT IN ('none', 'restored', 'released_from_quarantine')`,
      ),
      inboxes: prepareLazily(
        database,
        `SELECT count(DISTINCT value) AS total FROM (${buildCountsSql("recipient_email")})`,
      ),
    };
  }

  page(tenantId: number, period: Period, pageWindow: { limit: number; offset: number }): ResultPage<SandboxThreat> {
    this.#mail.ensureGenerated(tenantId, period.until);
    const { items, total } = this.#timeline.page(tenantId, period, pageWindow);
    return { items: items.map(toThreat), total };
  }

  /** Returns the threats with this exact Internet Message ID, one for each recipient, newest first. */
  listByMessage(tenantId: number, at: string, messageId: string): SandboxThreat[] {
    this.#mail.ensureGenerated(tenantId, at);
    return queryAll<ThreatRow>(this.#statements.byMessage(), tenantId, messageId).map(toThreat);
  }

  /** Returns the days (UTC) that have threats, newest first. The start of the period can cut off part of the oldest day. */
  overTime(
    tenantId: number,
    period: Period,
    { limit, offset }: { limit: number; offset: number },
  ): ResultPage<ThreatsOverTimeItem> {
    const values = this.#values(tenantId, period);
    return {
      items: queryAll<ThreatsOverTimeItem>(this.#statements.days(), { ...values, limit, offset }),
      total: this.#total(this.#statements.dayCount(), values),
    };
  }

  /** Returns the entities with the most threats; ties are sorted by name. */
  topTargeted(tenantId: number, period: Period, type: EntityType, limit: number): SandboxTargetedEntity[] {
    const values = this.#values(tenantId, period);
    return queryAll(this.#statements.topEntities(), { ...values, isGroup: type === "group" ? 1 : 0, limit });
  }

  topTypes(tenantId: number, period: Period, limit: number): SandboxThreatTypeCount[] {
    return queryAll(this.#statements.topTypes(), { ...this.#values(tenantId, period), limit });
  }

  /** Returns the most critical threats, newest first within each criticality. */
  highlighted(tenantId: number, period: Period, limit: number): SandboxThreat[] {
    const values = this.#values(tenantId, period);
    return queryAll<ThreatRow>(this.#statements.highlighted(), { ...values, limit }).map(toThreat);
  }

  /** Counts the threats that were removed from the recipient's inbox and not restored. */
  prevented(tenantId: number, period: Period): number {
    return this.#total(this.#statements.prevented(), this.#values(tenantId, period));
  }

  inboxes(tenantId: number, period: Period): number {
    return this.#total(this.#statements.inboxes(), this.#values(tenantId, period));
  }

  #values(tenantId: number, { since, until }: Period): PeriodValues {
    this.#mail.ensureGenerated(tenantId, until);
    return { tenantId, since, until };
  }

  #total(statement: Parameters<typeof queryFirst>[0], values: PeriodValues): number {
    return queryFirst<{ total: number }>(statement, { ...values })?.total ?? 0;
  }
}

type PeriodValues = Period & { tenantId: number };

const IN_PERIOD = "tenant_id = :tenantId AND time BETWEEN :since AND :until";

/**
 * Builds the SQL for the threats of a period as `day`, `value` and `threats`. Whole days come from the stored counts.
 * Only the one or two days at the edges of the period are counted threat by threat.
 */
function buildCountsSql(column: CountedColumn): string {
  const firstDay = "substr(:since, 1, 10)";
  const lastDay = "substr(:until, 1, 10)";
  const edge = `SELECT substr(time, 1, 10) AS day, ${column} AS value, 1 AS threats FROM threats`;
  return `
    SELECT day, value, threats FROM threat_counts
    WHERE tenant_id = :tenantId AND counted = '${column}' AND day > ${firstDay} AND day < ${lastDay}
    UNION ALL ${edge}
    WHERE tenant_id = :tenantId AND time BETWEEN :since AND min(:until, ${firstDay} || 'T23:59:59.999Z')
    UNION ALL ${edge}
    WHERE tenant_id = :tenantId AND time BETWEEN ${lastDay} || 'T00:00:00.000Z' AND :until
      AND ${firstDay} < ${lastDay}`;
}

/** Most critical first. */
const CRITICALITIES = ["high", "medium", "low"];

function buildNewestSql(criticality: string, rank: number): string {
  return `SELECT * FROM (
    SELECT seq AS chosen, ${rank} AS rank FROM threats WHERE ${IN_PERIOD} AND criticality = '${criticality}'
    ORDER BY time DESC, seq DESC LIMIT :limit)`;
}

function toThreat({ remediation_time, threat_indicators, ...threat }: ThreatRow): SandboxThreat {
  return {
    ...threat,
    ...(remediation_time !== null && { remediation_time }),
    threat_indicators: JSON.parse(threat_indicators),
  };
}

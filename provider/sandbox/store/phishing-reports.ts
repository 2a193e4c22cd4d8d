import type { DatabaseSync } from "node:sqlite";
import { SandboxHttpError } from "../contract/errors";
import type { ResultPage } from "../contract/result-page";
import type { SandboxPhishingReport, SandboxPhishingReportDetail } from "../contract/schemas";
import { prepareLazily, queryAll, queryFirst } from "./database";
import { type MailStore, REPORT_COLUMNS } from "./mail-store";
import { type Period, Timeline } from "./timeline";

export class PhishingReportStore {
  readonly #mail;
  readonly #timeline;
  readonly #byId;
  readonly #byMessage;
  readonly #meanSeconds;

  constructor(database: DatabaseSync, mail: MailStore) {
    const columns = REPORT_COLUMNS.join(", ");
    this.#mail = mail;
    this.#timeline = new Timeline<SandboxPhishingReport>(database, "phishing_reports", "report_date", REPORT_COLUMNS);
    this.#byId = prepareLazily(
      database,
      `SELECT ${columns}, recipients, email_content_url, response_content_url
       FROM phishing_reports WHERE tenant_id = ? AND id = ?`,
    );
    this.#byMessage = prepareLazily(
      database,
      `SELECT ${columns} FROM phishing_reports
       WHERE tenant_id = ? AND report_internet_message_id = ? ORDER BY seq DESC`,
    );
    this.#meanSeconds = prepareLazily(
      database,
      `SELECT avg(analysis_seconds) AS mean FROM phishing_reports
       WHERE tenant_id = ? AND report_date BETWEEN ? AND ?`,
    );
  }

  page(
    tenantId: number,
    period: Period,
    pageWindow: { limit: number; offset: number },
  ): ResultPage<SandboxPhishingReport> {
    this.#mail.ensureGenerated(tenantId, period.until);
    return this.#timeline.page(tenantId, period, pageWindow);
  }

  /** @throws SandboxHttpError 404 if the tenant has no report with this id. */
  detail(tenantId: number, at: string, id: string): SandboxPhishingReportDetail {
    this.#mail.ensureGenerated(tenantId, at);
    type Row = Omit<SandboxPhishingReportDetail, "to" | "cc" | "bcc"> & { recipients: string };
    const row = queryFirst<Row>(this.#byId(), tenantId, id);
    if (row === undefined) throw new SandboxHttpError(404, `the phishing report ${id} does not exist`);
    const { recipients, ...report } = row;
    return { ...report, ...(JSON.parse(recipients) as Pick<SandboxPhishingReportDetail, "to" | "cc" | "bcc">) };
  }

  /** Returns the reports with this exact Internet Message ID of the reporter's message, newest first. */
  listByReportMessage(tenantId: number, at: string, messageId: string): SandboxPhishingReport[] {
    this.#mail.ensureGenerated(tenantId, at);
    return queryAll<SandboxPhishingReport>(this.#byMessage(), tenantId, messageId);
  }

  /** Returns the mean over the reports of the period whose analysis has finished; 0 if there are none. */
  getMeanAnalysisSeconds(tenantId: number, period: Period): number {
    this.#mail.ensureGenerated(tenantId, period.until);
    const row = queryFirst<{ mean: number | null }>(this.#meanSeconds(), tenantId, period.since, period.until);
    return row?.mean ?? 0;
  }
}

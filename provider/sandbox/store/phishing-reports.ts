import type { DatabaseSync } from "node:sqlite";
import { Refusal } from "../contract/errors";
import type { Page } from "../contract/page";
import type { PhishingReport, PhishingReportDetail } from "../contract/schemas";
import { all, first, prepared } from "./database";
import { type Mail, shownReportColumns } from "./mail";
import { type Period, Timeline } from "./timeline";

/** Stores phishing reports. All periods refer to the date of the report. */
export class PhishingReportStore {
  readonly #mail;
  readonly #timeline;
  readonly #byId;
  readonly #byMessage;
  readonly #meanSeconds;

  constructor(database: DatabaseSync, mail: Mail) {
    const columns = shownReportColumns.join(", ");
    this.#mail = mail;
    this.#timeline = new Timeline<PhishingReport>(database, "phishing_reports", "report_date", shownReportColumns);
    this.#byId = prepared(
      database,
      `SELECT ${columns}, recipients, email_content_url, response_content_url
       FROM phishing_reports WHERE tenant_id = ? AND id = ?`,
    );
    this.#byMessage = prepared(
      database,
      `SELECT ${columns} FROM phishing_reports
       WHERE tenant_id = ? AND report_internet_message_id = ? ORDER BY seq DESC`,
    );
    this.#meanSeconds = prepared(
      database,
      `SELECT avg(analysis_seconds) AS mean FROM phishing_reports
       WHERE tenant_id = ? AND report_date BETWEEN ? AND ?`,
    );
  }

  /** Returns a page of reports, newest first. */
  page(tenantId: number, period: Period, pageWindow: { limit: number; offset: number }): Page<PhishingReport> {
    this.#mail.ensure(tenantId, period.until);
    return this.#timeline.page(tenantId, period, pageWindow);
  }

  /** @throws Refusal 404 if the tenant has no report with this id. */
  detail(tenantId: number, at: string, id: string): PhishingReportDetail {
    this.#mail.ensure(tenantId, at);
    type Row = Omit<PhishingReportDetail, "to" | "cc" | "bcc"> & { recipients: string };
    const row = first<Row>(this.#byId(), tenantId, id);
    if (row === undefined) throw new Refusal(404, `there is no phishing report ${id}`);
    const { recipients, ...report } = row;
    return { ...report, ...(JSON.parse(recipients) as Pick<PhishingReportDetail, "to" | "cc" | "bcc">) };
  }

  /** Returns the reports with this exact Internet Message ID of the reporter's message, newest first. */
  ofReportMessage(tenantId: number, at: string, messageId: string): PhishingReport[] {
    this.#mail.ensure(tenantId, at);
    return all<PhishingReport>(this.#byMessage(), tenantId, messageId);
  }

  /** Returns the mean over the reports of the period whose analysis has finished; 0 if there are none. */
  meanSecondsToAnalyze(tenantId: number, period: Period): number {
    this.#mail.ensure(tenantId, period.until);
    const row = first<{ mean: number | null }>(this.#meanSeconds(), tenantId, period.since, period.until);
    return row?.mean ?? 0;
  }
}

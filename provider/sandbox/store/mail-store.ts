import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { SandboxError } from "../contract/errors";
import { generateMail } from "../mail/generate";
import type { MailRecipient } from "../mail/mail-plan";
import type { GeneratedReport } from "../mail/phishing-report";
import type { GeneratedThreat } from "../mail/threat";
import { queryAll, queryFirst, runTransaction } from "./database";
import { buildCountThreatsSql } from "./schema";

export interface MailOptions {
  /** Number of threats in a tenant's half year of mail. Default: set by the scenario, or by its number of mailboxes. */
  threats?: number | undefined;
  seed: number;
}

const THREATS_PER_MAILBOX = 40;

/** The job title that marks a shared mailbox in a directory: an entity of type `group`. */
export const SHARED_MAILBOX = "Shared Mailbox";

/**
 * The mail of the tenants. It is generated on first access, because generation is slow and most sandboxes are started
 * only for the settings.
 */
export class MailStore {
  readonly #database;
  readonly #seed;
  readonly #generatedTenants = new Set<number>();

  /** @throws SandboxError `ERR_SANDBOX_OPTION` if the mail already exists with a different number of threats. */
  constructor(database: DatabaseSync, { threats, seed }: MailOptions) {
    this.#database = database;
    this.#seed = seed;
    if (threats === undefined) return;
    const mismatch = queryFirst<{ name: string; threats: number }>(
      database.prepare(
        `SELECT name, threats FROM mail JOIN tenants ON tenants.id = tenant_id
         WHERE generated_at IS NOT NULL AND threats <> ?`,
      ),
      threats,
    );
    if (mismatch !== undefined) {
      throw new SandboxError(
        "ERR_SANDBOX_OPTION",
        `The data file has ${mismatch.threats} threats of tenant ${mismatch.name}, not ${threats}. Omit the number to continue with them, or specify another file.`,
      );
    }
    database.prepare("UPDATE mail SET threats = ? WHERE generated_at IS NULL").run(threats);
  }

  /** Generates a tenant's mail if it doesn't exist yet. The half year ends at the time of the first call. */
  ensureGenerated(tenantId: number, at: string): void {
    if (this.#generatedTenants.has(tenantId)) return;
    const plan = queryFirst<PlanRow>(
      this.#database.prepare(
        `SELECT name, vips, denied, allowed, threats, generated_at FROM mail JOIN tenants ON tenants.id = tenant_id
         WHERE tenant_id = ?`,
      ),
      tenantId,
    );
    if (plan !== undefined && plan.generated_at === null) {
      runTransaction(this.#database, () => this.#generate(tenantId, at, plan));
    }
    this.#generatedTenants.add(tenantId);
  }

  #generate(tenantId: number, at: string, plan: PlanRow): void {
    const recipients = this.#readRecipients(tenantId, JSON.parse(plan.vips));
    const threats = plan.threats ?? recipients.length * THREATS_PER_MAILBOX;
    const insertThreat = this.#createInserter("threats", threatColumns, tenantId);
    const insertReport = this.#createInserter("phishing_reports", reportColumns, tenantId);
    const reports = generateMail(
      {
        tenant: plan.name,
        seed: this.#seed,
        at,
        threats,
        recipients,
        denied: JSON.parse(plan.denied),
        allowed: JSON.parse(plan.allowed),
      },
      (threat) => insertThreat({ ...threat, remediation_time: threat.remediation_time ?? null }),
    );
    for (const { to, cc, bcc, ...report } of reports) {
      insertReport({ ...report, recipients: JSON.stringify({ to, cc, bcc }) });
    }
    this.#database.prepare(buildCountThreatsSql("tenant_id = :tenantId")).run({ tenantId });
    this.#database
      .prepare("UPDATE mail SET threats = ?, generated_at = ? WHERE tenant_id = ?")
      .run(recipients.length === 0 ? 0 : threats, at, tenantId);
  }

  #readRecipients(tenantId: number, vips: string[]): MailRecipient[] {
    const employees = queryAll<{ email: string; name: string; jobTitle: string; department: string }>(
      this.#database.prepare(
        `SELECT email, full_name AS name, job_title AS jobTitle, department FROM employees
         WHERE tenant_id = ? AND email IS NOT NULL ORDER BY id`,
      ),
      tenantId,
    );
    return employees.map(({ jobTitle, ...employee }) => ({
      ...employee,
      isVip: vips.includes(employee.email),
      isGroup: jobTitle === SHARED_MAILBOX,
    }));
  }

  #createInserter<Row extends object>(
    table: string,
    columns: readonly (keyof Row & string)[],
    tenantId: number,
  ): (row: Row) => void {
    const values = columns.map(() => "?").join(", ");
    const insert = this.#database.prepare(
      `INSERT INTO ${table} (seq, tenant_id, ${columns.join(", ")}) VALUES (?, ?, ${values})`,
    );
    const newest = queryFirst<{ seq: number | null }>(this.#database.prepare(`SELECT max(seq) AS seq FROM ${table}`));
    let seq = newest?.seq ?? 0;
    return (row) => {
      seq += 1;
      insert.run(seq, tenantId, ...columns.map((column) => row[column] as SQLInputValue));
    };
  }
}

interface PlanRow {
  name: string;
  vips: string;
  denied: string;
  allowed: string;
  threats: number | null;
  generated_at: string | null;
}

type ThreatColumns = Omit<GeneratedThreat, "remediation_time"> & { remediation_time: string | null };
type ReportColumns = Omit<GeneratedReport, "to" | "cc" | "bcc"> & { recipients: string };

export const shownThreatColumns = [
  "id",
  "action_taken",
  "criticality",
  "verdict",
  "detection_time",
  "time",
  "remediation_time",
  "reasoning",
  "recipient_email",
  "recipient_name",
  "sender_email",
  "sender_name",
  "sender_domain",
  "sender_registry_date",
  "source",
  "subject",
  "threat_type",
  "threat_indicators",
] as const;

const threatColumns: readonly (keyof ThreatColumns)[] = [...shownThreatColumns, "internet_message_id"];

export const REPORT_COLUMNS = [
  "id",
  "original_email_internet_message_id",
  "report_internet_message_id",
  "reasoning",
  "report_date",
  "reporter",
  "sender",
  "subject",
  "verdict",
] as const;

const reportColumns: readonly (keyof ReportColumns)[] = [
  ...REPORT_COLUMNS,
  "recipients",
  "email_content_url",
  "response_content_url",
  "analysis_seconds",
];

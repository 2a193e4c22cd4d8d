/** "ESsb" in the file's `application_id`, which identifies files of the sandbox. */
export const APPLICATION_ID = 0x45537362;

/**
 * VIPs are always in the directory, so membership is a column of the employee's row: `source` is null, `auto` or
 * `manual`. Exclusions have their own table because they can apply to addresses outside the directory.
 */
const settingsSchemaSql = `
  CREATE TABLE seed (scenario TEXT NOT NULL) STRICT;

  CREATE TABLE tenants (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
  ) STRICT;

  CREATE TABLE api_keys (
    hash      TEXT PRIMARY KEY, -- SHA-256 in hex; the key itself is nowhere
    tenant_id INTEGER NOT NULL REFERENCES tenants (id),
    label     TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE employees (
    id         INTEGER PRIMARY KEY,
    tenant_id  INTEGER NOT NULL REFERENCES tenants (id),
    email      TEXT, -- canonical; null for somebody without a mailbox
    full_name  TEXT NOT NULL,
    job_title  TEXT NOT NULL,
    department TEXT NOT NULL,
    source     TEXT CHECK (source IN ('auto', 'manual')),
    comment    TEXT NOT NULL DEFAULT '',
    added_by   TEXT NOT NULL DEFAULT '',
    date_added TEXT NOT NULL DEFAULT '',
    updated_at TEXT NOT NULL DEFAULT '',
    UNIQUE (tenant_id, email)
  ) STRICT;
  -- One index for each direction: whoever has no mailbox comes last in both.
  CREATE INDEX vips_oldest_first ON employees (tenant_id, (email IS NULL), date_added, id)
    WHERE source IS NOT NULL;
  CREATE INDEX vips_newest_first ON employees (tenant_id, (email IS NULL), date_added DESC, id DESC)
    WHERE source IS NOT NULL;

  CREATE TABLE vip_exclusions (
    tenant_id   INTEGER NOT NULL REFERENCES tenants (id),
    email       TEXT NOT NULL,
    excluded_at TEXT NOT NULL,
    excluded_by TEXT NOT NULL,
    PRIMARY KEY (tenant_id, email)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE allow_deny_entries (
    seq             INTEGER PRIMARY KEY AUTOINCREMENT,
    id              TEXT NOT NULL UNIQUE,
    tenant_id       INTEGER NOT NULL REFERENCES tenants (id),
    list            TEXT NOT NULL CHECK (list IN ('allow', 'deny')),
    entry_type      TEXT NOT NULL,
    value           TEXT NOT NULL, -- as it is shown
    canonical_value TEXT NOT NULL, -- as it is compared
    verdict_scope   TEXT NOT NULL,
    comment         TEXT NOT NULL,
    created_at      TEXT NOT NULL,
    created_by      TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX entries_by_value
    ON allow_deny_entries (tenant_id, entry_type, canonical_value, verdict_scope);
  CREATE INDEX entries_of_list ON allow_deny_entries (tenant_id, list);
  CREATE INDEX entries_of_tenant ON allow_deny_entries (tenant_id);

  CREATE TABLE audit_log (
    id              INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant_id       INTEGER NOT NULL REFERENCES tenants (id),
    time            TEXT NOT NULL,
    action          TEXT NOT NULL,
    target          TEXT NOT NULL,
    before          TEXT NOT NULL, -- JSON
    after           TEXT NOT NULL, -- JSON
    key_label       TEXT NOT NULL,
    key_fingerprint TEXT NOT NULL
  ) STRICT;
  CREATE INDEX audit_of_tenant ON audit_log (tenant_id);
`;

/**
 * The input for generating a tenant's mail later. It copies the seeded lists, so that later writes don't affect the
 * mail. A file of version 1 uses its current lists.
 */
export const planMailSql = `
  INSERT INTO mail (tenant_id, vips, denied, allowed)
  SELECT id,
    (SELECT json_group_array(email ORDER BY email) FROM employees
      WHERE tenant_id = tenants.id AND source IS NOT NULL AND email IS NOT NULL),
    (SELECT json_group_array(value ORDER BY seq) FROM allow_deny_entries
      WHERE tenant_id = tenants.id AND list = 'deny'),
    (SELECT json_group_array(value ORDER BY seq) FROM allow_deny_entries
      WHERE tenant_id = tenants.id AND list = 'allow')
  FROM tenants`;

/**
 * A tenant's threats and reports are written once, oldest first, and never change, so their `seq` values are
 * consecutive. Counting rows between two times is therefore a subtraction, and a page is a range, at any offset.
 */
const mailSchemaSql = `
  CREATE TABLE mail (
    tenant_id    INTEGER PRIMARY KEY REFERENCES tenants (id),
    vips         TEXT NOT NULL, -- JSON arrays
    denied       TEXT NOT NULL,
    allowed      TEXT NOT NULL,
    threats      INTEGER,       -- how many are asked for; null leaves it to the number of mailboxes
    generated_at TEXT           -- null until then
  ) STRICT;

  CREATE TABLE threats (
    seq                  INTEGER PRIMARY KEY,
    tenant_id            INTEGER NOT NULL REFERENCES tenants (id),
    internet_message_id  TEXT NOT NULL,
    id                   TEXT NOT NULL,
    action_taken         TEXT NOT NULL,
    criticality          TEXT NOT NULL,
    verdict              TEXT NOT NULL,
    detection_time       TEXT NOT NULL,
    time                 TEXT NOT NULL,
    remediation_time     TEXT,
    reasoning            TEXT NOT NULL,
    recipient_email      TEXT NOT NULL,
    recipient_name       TEXT NOT NULL,
    sender_email         TEXT NOT NULL,
    sender_name          TEXT NOT NULL,
    sender_domain        TEXT NOT NULL,
    sender_registry_date TEXT NOT NULL,
    source               TEXT NOT NULL,
    subject              TEXT NOT NULL,
    threat_type          TEXT NOT NULL,
    threat_indicators    TEXT NOT NULL -- JSON
  ) STRICT;
  -- Holds all that the metrics look at.
  CREATE INDEX threats_by_time
    ON threats (tenant_id, time, seq, criticality, action_taken, threat_type, recipient_email);
  CREATE INDEX threats_by_message ON threats (tenant_id, internet_message_id);

  CREATE TABLE phishing_reports (
    seq                                INTEGER PRIMARY KEY,
    tenant_id                          INTEGER NOT NULL REFERENCES tenants (id),
    id                                 TEXT NOT NULL,
    original_email_internet_message_id TEXT NOT NULL,
    report_internet_message_id         TEXT NOT NULL,
    reasoning                          TEXT NOT NULL,
    report_date                        TEXT NOT NULL,
    reporter                           TEXT NOT NULL,
    sender                             TEXT NOT NULL,
    subject                            TEXT NOT NULL,
    verdict                            TEXT NOT NULL,
    recipients                         TEXT NOT NULL, -- JSON: to, cc, bcc
    email_content_url                  TEXT NOT NULL,
    response_content_url               TEXT NOT NULL,
    analysis_seconds                   REAL           -- null while the analysis goes on
  ) STRICT;
  CREATE INDEX reports_by_time ON phishing_reports (tenant_id, report_date, seq, analysis_seconds);
  CREATE UNIQUE INDEX reports_by_id ON phishing_reports (tenant_id, id);
  CREATE INDEX reports_by_message ON phishing_reports (tenant_id, report_internet_message_id);

  ${planMailSql};
  -- Nobody has written to the companies of the scenario "empty" yet.
  UPDATE mail SET threats = 0 WHERE (SELECT scenario FROM seed) = 'empty';
`;

export type CountedColumn = "threat_type" | "recipient_email" | "action_taken";

const countedColumns: readonly CountedColumn[] = ["threat_type", "recipient_email", "action_taken"];

/** Builds the SQL that counts threats by value and day (UTC). The condition must select all threats of a tenant. */
export function buildCountThreatsSql(condition: string): string {
  const counts = countedColumns.map(
    (column) => `
      SELECT tenant_id, '${column}', substr(time, 1, 10) AS day, ${column}, count(*)
      FROM threats WHERE ${condition} GROUP BY tenant_id, day, ${column}`,
  );
  return `INSERT INTO threat_counts (tenant_id, counted, day, value, threats) ${counts.join(" UNION ALL ")}`;
}

/** Threats never change, so their counts don't either: a metric sums days, however many threats they have. */
const threatCountsSchemaSql = `
  CREATE TABLE threat_counts (
    tenant_id INTEGER NOT NULL REFERENCES tenants (id),
    counted   TEXT NOT NULL, -- a column of the threats
    day       TEXT NOT NULL,
    value     TEXT NOT NULL, -- what the column holds
    threats   INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, counted, day, value)
  ) STRICT, WITHOUT ROWID;

  ${buildCountThreatsSql("TRUE")};
`;

/** The migrations to the current schema; the index of each is the version that it starts from. */
export const migrations: readonly string[] = [settingsSchemaSql, mailSchemaSql, threatCountsSchemaSql];

/** Stored in the file's `user_version`. */
export const SCHEMA_VERSION = migrations.length;

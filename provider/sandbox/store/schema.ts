/** "ESsb" in the file's `application_id`: how the sandbox knows its own files. */
export const APPLICATION_ID = 0x45537362;

/**
 * A VIP is always somebody in the directory, so membership stands on the employee's row: `source` is null, `auto` or
 * `manual`. Exclusions are their own table, for they hold for addresses that the directory has never heard of.
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
 * What a tenant's mail is to be generated from, when somebody first asks for it: the lists as they were seeded, so that
 * it doesn't matter what was written in the meantime. A file of version 1 takes the lists as they are.
 */
export const planMail = `
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
 * A tenant's threats are written at once, from the oldest to the newest, and never again, and so are its reports:
 * their `seq` are consecutive. How many there are between two moments is a subtraction, then, and a page of them a
 * range, however many there are and however far back it lies.
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

  ${planMail};
  -- Nobody has written to the companies of the scenario "empty" yet.
  UPDATE mail SET threats = 0 WHERE (SELECT scenario FROM seed) = 'empty';
`;

/** The columns of a threat whose values are counted by day. */
export type Counted = "threat_type" | "recipient_email" | "action_taken";

const countedColumns: readonly Counted[] = ["threat_type", "recipient_email", "action_taken"];

/** Counts the threats that fulfil a condition, which are all of a tenant's: the columns' values, day by day (UTC). */
export function countThreats(condition: string): string {
  const counts = countedColumns.map(
    (column) => `
      SELECT tenant_id, '${column}', substr(time, 1, 10) AS day, ${column}, count(*)
      FROM threats WHERE ${condition} GROUP BY tenant_id, day, ${column}`,
  );
  return `INSERT INTO threat_counts (tenant_id, counted, day, value, threats) ${counts.join(" UNION ALL ")}`;
}

/** Threats never change, so neither do their counts: a metric adds up days, however many threats those had. */
const threatCountsSchemaSql = `
  CREATE TABLE threat_counts (
    tenant_id INTEGER NOT NULL REFERENCES tenants (id),
    counted   TEXT NOT NULL, -- a column of the threats
    day       TEXT NOT NULL,
    value     TEXT NOT NULL, -- what the column holds
    threats   INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, counted, day, value)
  ) STRICT, WITHOUT ROWID;

  ${countThreats("TRUE")};
`;

/** The steps to today's schema, each from the version that is its index. */
export const migrations: readonly string[] = [settingsSchemaSql, mailSchemaSql, threatCountsSchemaSql];

/** Kept in the file's `user_version`. */
export const SCHEMA_VERSION = migrations.length;

/** Raised with every change of {@link schema}; kept in the file's `user_version`. */
export const SCHEMA_VERSION = 1;

/** "ESsb" in the file's `application_id`: how the sandbox knows its own files. */
export const APPLICATION_ID = 0x45537362;

/**
 * A VIP is always somebody in the directory, so membership stands on the employee's row: `source` is null, `auto` or
 * `manual`. Exclusions are their own table, for they hold for addresses that the directory has never heard of.
 */
export const schema = `
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

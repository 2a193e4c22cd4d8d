import { createHash } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { parseCanonicalMailbox, parseCanonicalValue } from "../contract/canonical";
import { getApiKeys, type Scenario, type ScenarioTenant } from "../scenarios/scenario";
import { queryFirst } from "./database";
import { planMailSql } from "./schema";
import { hashApiKey } from "./tenants";
import { detectVips } from "./vip-employees";

/** Fills an empty database. The audit log starts empty, because seeding isn't a write by a user. */
export function seedDatabase(database: DatabaseSync, scenario: Scenario): void {
  database.prepare("INSERT INTO seed (scenario) VALUES (?)").run(scenario.name);
  for (const tenant of scenario.tenants) {
    const tenantId = database.prepare("INSERT INTO tenants (name) VALUES (?)").run(tenant.name)
      .lastInsertRowid as number;
    seedKeys(database, tenantId, tenant);
    seedEmployees(database, tenantId, tenant);
    seedEntries(database, tenantId, tenant);
    // Run for each tenant, because their detection dates differ.
    detectVips(database, tenant.detectedAt);
  }
  database.exec(planMailSql);
  const setThreatCount = database.prepare(
    "UPDATE mail SET threats = ? WHERE tenant_id = (SELECT id FROM tenants WHERE name = ?)",
  );
  for (const { name, threats } of scenario.tenants) setThreatCount.run(threats ?? null, name);
}

export function getSeededScenario(database: DatabaseSync): string | undefined {
  return queryFirst<{ scenario: string }>(database.prepare("SELECT scenario FROM seed"))?.scenario;
}

function seedKeys(database: DatabaseSync, tenantId: number, tenant: ScenarioTenant): void {
  const insert = database.prepare("INSERT INTO api_keys (hash, tenant_id, label) VALUES (?, ?, ?)");
  const keys = getApiKeys(tenant.name);
  insert.run(hashApiKey(keys.ci), tenantId, tenant.keyLabels.ci);
  insert.run(hashApiKey(keys.console), tenantId, tenant.keyLabels.console);
}

function seedEmployees(database: DatabaseSync, tenantId: number, tenant: ScenarioTenant): void {
  const insert = database.prepare(
    "INSERT INTO employees (tenant_id, email, full_name, job_title, department) VALUES (?, ?, ?, ?, ?)",
  );
  for (const { email, fullName, jobTitle, department } of tenant.employees) {
    insert.run(tenantId, email === null ? null : parseScenarioMailbox(email), fullName, jobTitle, department);
  }

  const exclude = database.prepare(
    "INSERT INTO vip_exclusions (tenant_id, email, excluded_at, excluded_by) VALUES (?, ?, ?, ?)",
  );
  for (const { email, excludedAt, excludedBy } of tenant.exclusions) {
    exclude.run(tenantId, parseScenarioMailbox(email), excludedAt, excludedBy);
  }

  const promote = database.prepare(
    `UPDATE employees SET source = 'manual', comment = ?, added_by = ?, date_added = ?, updated_at = ?
     WHERE tenant_id = ? AND email = ?`,
  );
  for (const { email, comment, addedBy, dateAdded } of tenant.manualVips) {
    promote.run(comment, addedBy, dateAdded, dateAdded, tenantId, parseScenarioMailbox(email));
  }
}

function seedEntries(database: DatabaseSync, tenantId: number, tenant: ScenarioTenant): void {
  const insert = database.prepare(
    `INSERT INTO allow_deny_entries (tenant_id, id, list, entry_type, value, canonical_value, verdict_scope,
       comment, created_at, created_by)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  for (const entry of tenant.entries) {
    const { list, entryType, verdictScope = "global", comment, createdAt, createdBy } = entry;
    const value = parseCanonicalValue(entryType, entry.value);
    if (value === undefined) throw new TypeError(`scenario: ${entry.value} isn't a valid ${entryType}`);
    // Opaque, like every id, but the same in every run.
    const id = `ade_${createHash("sha256")
      .update(`${tenant.name} ${entryType} ${value} ${verdictScope}`)
      .digest("hex")
      .slice(0, 20)}`;
    insert.run(tenantId, id, list, entryType, value, value, verdictScope, comment, createdAt, createdBy);
  }
}

function parseScenarioMailbox(email: string): string {
  const canonical = parseCanonicalMailbox(email);
  if (canonical === undefined) throw new TypeError(`scenario: ${email} isn't a valid mailbox`);
  return canonical;
}

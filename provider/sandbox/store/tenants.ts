import { createHash } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import { queryAll, queryFirst } from "./database";

/** The caller of a request: a tenant and the API key that it uses (reference, "Authentication"). */
export interface Caller {
  tenantId: number;
  tenant: string;
  keyLabel: string;
  /** The first 12 hex digits of the key's SHA-256. */
  keyFingerprint: string;
}

export class TenantStore {
  readonly #byHash;
  readonly #byName;
  readonly #names;

  constructor(database: DatabaseSync) {
    this.#byHash = database.prepare(
      "SELECT tenant_id, name, label FROM api_keys JOIN tenants ON tenants.id = tenant_id WHERE hash = ?",
    );
    this.#byName = database.prepare("SELECT id FROM tenants WHERE name = ?");
    this.#names = database.prepare("SELECT name FROM tenants ORDER BY id");
  }

  findCaller(key: string): Caller | undefined {
    const hash = hashApiKey(key);
    const row = queryFirst<{ tenant_id: number; name: string; label: string }>(this.#byHash, hash);
    return (
      row && {
        tenantId: row.tenant_id,
        tenant: row.name,
        keyLabel: row.label,
        keyFingerprint: hash.slice(0, 12),
      }
    );
  }

  findId(name: string): number | undefined {
    return queryFirst<{ id: number }>(this.#byName, name)?.id;
  }

  listNames(): string[] {
    return queryAll<{ name: string }>(this.#names).map((row) => row.name);
  }
}

/** Returns the SHA-256 of a key in hex; the key itself is never stored. */
export function hashApiKey(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

import { createHash } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type Sandbox, type SandboxOptions, startSandbox } from "../../provider/sandbox";

/**
 * Starts a sandbox with its data in a directory. Its tenant "acme" accepts the test's key in addition to its own two.
 */
export async function startTestKeySandbox(
  directory: string,
  key: string,
  options: SandboxOptions = {},
): Promise<Sandbox> {
  const data = join(directory, "sandbox.sqlite");
  await (await startSandbox({ scenario: "empty", data })).close();
  const database = new DatabaseSync(data);
  database
    .prepare("INSERT INTO api_keys (hash, tenant_id, label) SELECT ?, id, 'canary' FROM tenants WHERE name = 'acme'")
    .run(createHash("sha256").update(key).digest("hex"));
  database.close();
  return await startSandbox({ ...options, data });
}

import { ConfigurationError } from "../../client";
import type { Database } from "../database/database";
import { endSkips, readActiveSkips, type Skip } from "../journal/tenant-skips";
import { getOperatorName } from "../model/origin";
import type { Target, Targets } from "../model/target";
import { getProjectDirectory, resolveStateBackend } from "../stack/state-backend";

/** Finds the skip of a tenant. A skip belongs to a stack, so it outlives the tenant's line in the targets file. */
export async function findTenantSkip(
  database: Database,
  { stack }: Pick<Target, "stack">,
  { file, project }: Pick<Targets, "file" | "project">,
  environment: NodeJS.ProcessEnv,
): Promise<Skip | undefined> {
  const backend = getBackendFingerprint(file, environment);
  const skips = await readActiveSkips(database, { project, ...(backend === undefined ? {} : { backend }) });
  return skips.get(stack);
}

export async function endTenantSkip(database: Database, skip: Skip, environment: NodeJS.ProcessEnv): Promise<void> {
  await endSkips(database, [skip], { by: getOperatorName(environment), nowMs: Date.now() });
}

/** Undefined if the environment doesn't name a usable state backend. Skips of any backend then match. */
export function getBackendFingerprint(file: string, environment: NodeJS.ProcessEnv): string | undefined {
  try {
    return resolveStateBackend(environment, getProjectDirectory(file)).fingerprint;
  } catch (error) {
    if (error instanceof ConfigurationError) return undefined;
    throw error;
  }
}

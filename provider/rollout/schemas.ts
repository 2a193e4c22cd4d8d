import { gitopsSchemas } from "../gitops/schemas";
import { historySchemas } from "./history/history-schema";
import { noticeJsonSchema } from "./notify/notice";
import { reportJsonSchema } from "./report/report-json";
import { tenantsJsonSchema } from "./targets/targets-schema";

/** The JSON Schemas of settings files and what the verbs write of one tenant, of targets files and of rollouts' reports, by the name of their file. */
export function rolloutSchemas(): Readonly<Record<string, Readonly<Record<string, unknown>>>> {
  return {
    ...gitopsSchemas(),
    "tenants.schema.json": tenantsJsonSchema(),
    "notice.schema.json": noticeJsonSchema(),
    "rollout.schema.json": reportJsonSchema(),
    ...historySchemas(),
  };
}

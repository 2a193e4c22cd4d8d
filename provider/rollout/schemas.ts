import { gitopsSchemas } from "../gitops/schemas";
import { historySchemas } from "./history/history-schema";
import { noticeJsonSchema } from "./notify/notice";
import { reportJsonSchema } from "./report/report-json";
import { tenantsJsonSchema } from "./targets/targets-schema";

/**
 * The JSON Schemas that the package carries in `dist/schemas`, by the name of their file. Editors and pipelines read them
 * there: `pulumi-email-security/schemas/settings.json` is `settings.schema.json`.
 */
export function publishedSchemas(): Readonly<Record<string, Readonly<Record<string, unknown>>>> {
  return {
    ...gitopsSchemas(),
    "tenants.schema.json": tenantsJsonSchema(),
    "notice.schema.json": noticeJsonSchema(),
    "rollout.schema.json": reportJsonSchema(),
    ...historySchemas(),
  };
}

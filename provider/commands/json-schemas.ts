import { z } from "zod";
import { statusSchema } from "../fleet/status/status-schema";
import { driftSchema } from "../gitops/drift-schema";
import { whySchema } from "../gitops/why-schema";
import { planSchema } from "../plan/plan-schema";
import { detailsSchema, differenceSchema, historySchema } from "../rollout/model/history-schema";
import { reportSchema } from "../rollout/model/rollout-report";
import { noticeSchema } from "../rollout/notify/notice";
import { buildTenantsJsonSchema } from "../rollout/targets/targets-schema";
import { buildSettingsJsonSchema } from "../settings-files/settings-schema";
import { syncSchema } from "../sources/sync-report";
import { findSchema } from "./find/find-schema";
import { reviewSchema } from "./review/review-schema";

const OUTPUT_SCHEMAS = {
  plan: planSchema,
  why: whySchema,
  find: findSchema,
  review: reviewSchema,
  drift: driftSchema,
  sync: syncSchema,
  notice: noticeSchema,
  rollout: reportSchema,
  "rollout-history": historySchema,
  "rollout-show": detailsSchema,
  "rollout-diff": differenceSchema,
  "fleet-status": statusSchema,
};

/**
 * Returns the JSON Schemas (draft 2020-12) that the package ships in `dist/schemas`, by file name. Editors and pipelines import them:
 * `pulumi-email-security/schemas/settings.json` resolves to `settings.schema.json`.
 */
export function buildPublishedSchemas(): Readonly<Record<string, Readonly<Record<string, unknown>>>> {
  const outputSchemas = Object.entries(OUTPUT_SCHEMAS).map(([name, schema]) => [
    `${name}.schema.json`,
    {
      $id: `urn:pulumi-email-security:${name}:${schema.unwrap().shape.format.value}`,
      ...z.toJSONSchema(schema),
    },
  ]);
  return {
    "settings.schema.json": buildSettingsJsonSchema(),
    "tenants.schema.json": buildTenantsJsonSchema(),
    ...Object.fromEntries(outputSchemas),
  };
}

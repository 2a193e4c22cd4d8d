import { settingsJsonSchema } from "./files/settings-schema";
import { planJsonSchema } from "./plan/render/json";

/**
 * The JSON Schemas that the package carries in `dist/schemas`, by the name of their file. Editors and pipelines read them
 * there: `pulumi-email-security/schemas/settings.json` is `settings.schema.json`, `…/plan.json` is `plan.schema.json`.
 */
export function publishedSchemas(): Readonly<Record<string, Readonly<Record<string, unknown>>>> {
  return { "settings.schema.json": settingsJsonSchema(), "plan.schema.json": planJsonSchema() };
}

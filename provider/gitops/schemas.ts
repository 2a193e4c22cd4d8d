import { settingsJsonSchema } from "../files/settings-schema";
import { planJsonSchema } from "../plan/render/json";

/** The JSON Schemas of settings files and plans, by the name of their file. */
export function gitopsSchemas(): Readonly<Record<string, Readonly<Record<string, unknown>>>> {
  return { "settings.schema.json": settingsJsonSchema(), "plan.schema.json": planJsonSchema() };
}

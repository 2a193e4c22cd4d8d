import { rolloutSchemas } from "../rollout/schemas";
import { statusJsonSchema } from "./status/status-schema";

/**
 * The JSON Schemas that the package carries in `dist/schemas`, by the name of their file. Editors and pipelines read them
 * there: `pulumi-email-security/schemas/settings.json` is `settings.schema.json`.
 */
export function publishedSchemas(): Readonly<Record<string, Readonly<Record<string, unknown>>>> {
  return { ...rolloutSchemas(), "fleet-status.schema.json": statusJsonSchema() };
}

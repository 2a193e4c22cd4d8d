import { settingsJsonSchema } from "../files/settings-schema";
import { planJsonSchema } from "../plan/render/json";
import { driftJsonSchema } from "./drift-schema";
import { findJsonSchema } from "./find/find-schema";
import { reviewJsonSchema } from "./review/review-schema";
import { whyJsonSchema } from "./why/why-schema";

/** The JSON Schemas of settings files, plans, what `find` finds, drift, reviews and stories, by the name of their file. */
export function gitopsSchemas(): Readonly<Record<string, Readonly<Record<string, unknown>>>> {
  return {
    "settings.schema.json": settingsJsonSchema(),
    "plan.schema.json": planJsonSchema(),
    "why.schema.json": whyJsonSchema(),
    "find.schema.json": findJsonSchema(),
    "review.schema.json": reviewJsonSchema(),
    "drift.schema.json": driftJsonSchema(),
  };
}

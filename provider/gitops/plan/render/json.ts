import { z } from "zod";
import { printableJson } from "../../../settings/text";
import { PLAN_FORMAT, type Plan } from "../plan";
import { planSchema } from "./plan-schema";

/**
 * A plan as JSON (format {@link PLAN_FORMAT}, which {@link planJsonSchema} describes), ended by a line end. It reads back as
 * it was; and printed, nothing from outside does anything in it: control characters are escaped.
 */
export function planJson(plan: Plan): string {
  return `${printableJson(JSON.stringify(plan, null, 2))}\n`;
}

/** The JSON Schema (draft 2020-12) of a plan as JSON. */
export function planJsonSchema(): Record<string, unknown> {
  return {
    $id: SCHEMA_ID,
    title: "Email security plan",
    description:
      "What a run would do to a tenant, and what is known of it, as `email-security plan` writes it.",
    ...(z.toJSONSchema(planSchema) as Record<string, unknown>),
  };
}

const SCHEMA_ID = `urn:pulumi-email-security:plan:${PLAN_FORMAT}`;

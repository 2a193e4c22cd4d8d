import { z } from "zod";
import { ConfigurationError } from "../../client";
import { printableJson, quote } from "../../settings/text";
import { PLAN_FORMAT, type Plan, planSchema } from "../plan-schema";

/**
 * A plan as JSON (format {@link PLAN_FORMAT}, which {@link planJsonSchema} describes), ended by a line end. It reads back as
 * it was; and printed, nothing from outside does anything in it: control characters are escaped.
 */
export function planJson(plan: Plan): string {
  return `${printableJson(JSON.stringify(plan, null, 2))}\n`;
}

/**
 * Reads a plan back.
 *
 * @param from what it is called in an error: its file.
 * @throws {ConfigurationError} when it is none, or of another format.
 */
export function parsePlan(text: string, from: string): Plan {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ConfigurationError(`${quote(from, 300)} is no JSON, so no plan as --json writes it.`, {
      cause,
    });
  }
  const parsed = planSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const at = issue?.path.map(String).join(".") ?? "";
  throw new ConfigurationError(
    `${quote(from, 300)} is no plan of format ${PLAN_FORMAT} as --json writes it: ${quote(at)} ${issue?.message ?? ""}.`,
  );
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

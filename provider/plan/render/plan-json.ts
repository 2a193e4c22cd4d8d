import { ConfigurationError } from "../../client";
import { formatJson, quote } from "../../model/text";
import { PLAN_FORMAT, type Plan, planSchema } from "../plan-schema";

export const formatPlanJson = formatJson<Plan>;

/**
 * Parses a plan from JSON.
 *
 * @throws {ConfigurationError} if the text isn't a valid plan, or has another format.
 */
export function parsePlan(text: string, source: string): Plan {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ConfigurationError(
      `${quote(source, 300)} isn't valid JSON, so it isn't a plan as \`plan --format json\` writes it.`,
      { cause },
    );
  }
  const parsed = planSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const issuePath = issue?.path.map(String).join(".") ?? "";
  throw new ConfigurationError(
    `${quote(source, 300)} isn't a plan of format ${PLAN_FORMAT} as \`plan --format json\` writes it: ${quote(issuePath)} ${issue?.message ?? ""}.`,
  );
}

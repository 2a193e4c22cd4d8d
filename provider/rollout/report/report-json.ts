import { z } from "zod";
import { printableJson } from "../../settings/text";
import { REPORT_FORMAT, type RolloutReport, reportSchema } from "./rollout-report";

/**
 * A report as JSON (format {@link REPORT_FORMAT}, which {@link reportJsonSchema} describes), ended by a line end. It reads
 * back as it was; and printed, nothing from outside does anything in it: control characters are escaped.
 */
export function reportJson(report: RolloutReport): string {
  return `${printableJson(JSON.stringify(report, null, 2))}\n`;
}

/** The JSON Schema (draft 2020-12) of a report as JSON. */
export function reportJsonSchema(): Record<string, unknown> {
  return {
    $id: SCHEMA_ID,
    title: "Email security rollout",
    description: "What a rollout did, tenant by tenant, as `email-security rollout status --json` writes it.",
    ...(z.toJSONSchema(reportSchema) as Record<string, unknown>),
  };
}

const SCHEMA_ID = `urn:pulumi-email-security:rollout:${REPORT_FORMAT}`;

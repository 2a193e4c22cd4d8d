import { z } from "zod";
import { place, standing, subject } from "../plan/plan-schema";
import type { IsSame } from "../settings/is-same";
import { printableJson } from "../settings/text";
import { DRIFT_FORMAT, type Drift } from "./drift";

/**
 * Drift as JSON (format {@link DRIFT_FORMAT}, which {@link driftJsonSchema} describes), ended by a line end. It reads back as it
 * was; and printed, nothing from outside does anything in it: control characters are escaped.
 */
export function driftJson(drift: Drift): string {
  return `${printableJson(JSON.stringify(drift, undefined, 2))}\n`;
}

/** The JSON Schema (draft 2020-12) of drift as JSON. */
export function driftJsonSchema(): Record<string, unknown> {
  return {
    $id: `urn:pulumi-email-security:drift:${DRIFT_FORMAT}`,
    title: "Email security drift",
    description: "How a tenant differs from its settings files, as `email-security drift --json` writes it.",
    ...(z.toJSONSchema(driftSchema) as Record<string, unknown>),
  };
}

const text = (what: string) => z.string().describe(what);

const { unicode: _unicode, ...named } = subject;

const item = z
  .strictObject({
    ...named,
    what: z
      .enum(["added", "changed", "missing", "leaving"])
      .describe(
        "added: there, and nobody declares it. changed: there, otherwise than declared. missing: declared, and not there. leaving: there still, and the next run removes it.",
      ),
    there: standing.describe("As the tenant holds it.").exactOptional(),
    declared: standing.describe("As the files declare it.").exactOptional(),
    place: place.describe("Which line declares it.").exactOptional(),
    why: text(
      "Why it is leaving, and what was done at the tenant since the stack's last run.",
    ).exactOptional(),
    movedBy: z
      .enum(["tenant", "files", "both"])
      .describe("Who departed from what the stack's last run left; absent where no state was read.")
      .exactOptional(),
    id: text("The service's id of an entry that is there.").exactOptional(),
  })
  .readonly()
  .meta({ id: "DriftItem", description: "One entry or VIP that is not as the files declare it." });

const schema = z
  .strictObject({
    format: z.literal(DRIFT_FORMAT).describe("The version of this format."),
    at: text("When the tenant was read (UTC)."),
    host: text("The service's host."),
    file: text("The settings file that was asked for."),
    items: z.array(item).readonly(),
    unchanged: z.int().min(0).describe("How many entries and VIPs are as declared."),
  })
  .readonly();

/** {@link Drift} as JSON holds it. Compiles only when both are the same. */
export const driftSchema: IsSame<z.output<typeof schema>, Drift> extends true ? typeof schema : never =
  schema;

import { Ajv2020 } from "ajv/dist/2020";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { buildPublishedSchemas } from "../../../../provider/commands/json-schemas";
import { planSchema } from "../../../../provider/plan/plan-schema";
import { formatPlanJson } from "../../../../provider/plan/render/plan-json";
import { findTerminalCommands } from "../../../support/hostile-text";
import * as plans from "../../../support/plans";

const published = buildPublishedSchemas()["plan.schema.json"] ?? {};

describe("plan as JSON", () => {
  const validate = new Ajv2020({ strict: true, allErrors: true }).compile(published);

  test.each([
    ["empty", plans.emptyPlan],
    ["calm", plans.calmPlan],
    ["realistic", plans.realisticPlan],
    ["dangerous", plans.dangerousPlan],
    ["without evidence", plans.blindPlan],
    ["hostile", plans.hostilePlan],
    ["huge", plans.buildHugePlan(1_000)],
  ])("matches the published schema for the %s plan", (_, plan) => {
    const read = JSON.parse(formatPlanJson(plan));
    expect(validate(read), JSON.stringify(validate.errors)).toBe(true);
    expect(planSchema.parse(read)).toEqual(JSON.parse(JSON.stringify(plan)));
  });

  test("fails validation with an unknown, invalid or missing property", () => {
    expect(validate({ ...plans.emptyPlan, format: 2 })).toBe(false);
    expect(validate({ ...plans.emptyPlan, note: "x" })).toBe(false);
    expect(validate({ ...plans.emptyPlan, counts: { ...plans.emptyPlan.counts, added: -1 } })).toBe(false);
    const { digest: _digest, ...without } = plans.emptyPlan;
    expect(validate(without)).toBe(false);
  });

  test("publishes its schema with an id and a title", () => {
    expect(published).toMatchObject({
      $id: "urn:pulumi-email-security:plan:1",
      $schema: "https://json-schema.org/draft/2020-12/schema",
      title: "Email security plan",
      additionalProperties: false,
    });
  });

  test("sanitizes external text and round-trips it", () => {
    fc.assert(
      fc.property(plans.markupText, (text) => {
        const json = formatPlanJson(plans.buildTextPlan(text));
        expect(findTerminalCommands(json)).toEqual([]);
        expect(JSON.parse(json)).toEqual(plans.buildTextPlan(text));
      }),
    );
  });
});

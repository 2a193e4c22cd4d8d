import { Ajv2020 } from "ajv/dist/2020";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { buildPublishedSchemas } from "../../../../provider/commands/json-schemas";
import { planSchema } from "../../../../provider/plan/plan-schema";
import { formatPlanJson } from "../../../../provider/plan/render/plan-json";
import { commandsIn } from "../../../support/hostile-text";
import * as plans from "../../../support/plans";

const published = buildPublishedSchemas()["plan.schema.json"] ?? {};

describe("a plan as JSON", () => {
  const validate = new Ajv2020({ strict: true, allErrors: true }).compile(published);

  test.each([
    ["empty", plans.emptyPlan],
    ["calm", plans.calmPlan],
    ["realistic", plans.realisticPlan],
    ["dangerous", plans.dangerousPlan],
    ["without evidence", plans.blindPlan],
    ["hostile", plans.hostilePlan],
    ["huge", plans.hugePlan(1_000)],
  ])("of the %s plan is valid by the published schema, and reads back as it was", (_, plan) => {
    const read = JSON.parse(formatPlanJson(plan));
    expect(validate(read), JSON.stringify(validate.errors)).toBe(true);
    expect(planSchema.parse(read)).toEqual(JSON.parse(JSON.stringify(plan)));
  });

  test("is not valid with something else in it", () => {
    expect(validate({ ...plans.emptyPlan, format: 2 })).toBe(false);
    expect(validate({ ...plans.emptyPlan, note: "x" })).toBe(false);
    expect(validate({ ...plans.emptyPlan, counts: { ...plans.emptyPlan.counts, added: -1 } })).toBe(false);
    const { digest: _digest, ...without } = plans.emptyPlan;
    expect(validate(without)).toBe(false);
  });

  test("the schema has a name, and says of every part what it is", () => {
    expect(published).toMatchObject({
      $id: "urn:pulumi-email-security:plan:1",
      $schema: "https://json-schema.org/draft/2020-12/schema",
      title: "Email security plan",
      additionalProperties: false,
    });
  });

  test("is nothing but text when it is printed, and reads back as it was", () => {
    fc.assert(
      fc.property(plans.markupText, (text) => {
        const json = formatPlanJson(plans.planOf(text));
        expect(commandsIn(json)).toEqual([]);
        expect(JSON.parse(json)).toEqual(plans.planOf(text));
      }),
    );
  });
});

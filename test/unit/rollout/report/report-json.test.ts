import { Ajv2020 } from "ajv/dist/2020";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { buildPublishedSchemas } from "../../../../provider/commands/json-schemas";
import { formatReportJson, reportSchema } from "../../../../provider/rollout/model/rollout-report";
import { findTerminalCommands, hostileText } from "../../../support/hostile-text";
import { playTextRollout, rollouts } from "../../../support/rollouts";

describe("a rollout report as JSON", () => {
  const validate = new Ajv2020({ strict: true, allErrors: true }).compile(
    buildPublishedSchemas()["rollout.schema.json"] ?? {},
  );

  test.each(Object.entries(rollouts))("matches the published schema for the %s rollout", (_, { before, after }) => {
    for (const report of [before, after]) {
      const read = JSON.parse(formatReportJson(report));
      expect(validate(read), JSON.stringify(validate.errors)).toBe(true);
      expect(reportSchema.parse(read)).toEqual(report);
    }
  });

  test("is rejected by the schema with an invalid field", () => {
    const { after } = rollouts.small;
    expect(validate({ ...after, format: 2 })).toBe(false);
    expect(validate({ ...after, key: "x" })).toBe(false);
    expect(validate({ ...after, counts: { ...after.counts, done: -1 } })).toBe(false);
    expect(validate({ ...after, state: "paused" })).toBe(false);
    const { digest: _digest, ...without } = after;
    expect(validate(without)).toBe(false);
  });

  test("reads back hostile text unchanged", () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        const { after } = playTextRollout(text, 4);
        const json = formatReportJson(after);
        expect(findTerminalCommands(json)).toEqual([]);
        expect(JSON.parse(json)).toEqual(after);
      }),
      { numRuns: 50 },
    );
  });
});

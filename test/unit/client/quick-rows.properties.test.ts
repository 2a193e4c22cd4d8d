import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { buildArraySchema } from "../../../provider/client/schema-fields";
import { allowDenyEntry, vipEmployee } from "../../../provider/client/schemas";

/** Values that may appear where a string is expected. */
const field = fc.oneof(
  { weight: 8, arbitrary: fc.string() },
  fc.constantFrom("", " ", "\u{fffd}", "\ud800", "a".repeat(1_000), "a".repeat(1_001), " jane@acme.example "),
  fc.constantFrom(null, undefined, 1, true, [], {}, ["a"]),
);

describe.each([
  ["entry", allowDenyEntry],
  ["VIP", vipEmployee],
] as const)("an array row: %s", (_name, schema: typeof allowDenyEntry | typeof vipEmployee) => {
  test("is parsed exactly as by its own schema", () => {
    const rows = buildArraySchema(schema);
    let read = 0;
    fc.assert(
      fc.property(
        fc.record(Object.fromEntries([...Object.keys(schema.shape), "another"].map((name) => [name, field])), {
          requiredKeys: [],
        }),
        fc.boolean(),
        (odd, isAlmostWhole) => {
          const whole = Object.fromEntries(Object.keys(schema.shape).map((name) => [name, `a ${name}`]));
          const value = JSON.parse(JSON.stringify(isAlmostWhole ? { ...whole, ...odd } : odd)) as unknown;
          const item = schema.safeParse(value);
          const all = rows.safeParse([value]);
          expect(all.success).toBe(item.success);
          expect(all.data).toStrictEqual(item.success ? [item.data] : undefined);
          const listMessages = (error: { readonly issues: readonly { readonly message: string }[] } | undefined) =>
            error?.issues.map(({ message }) => message);
          expect(listMessages(all.error)).toEqual(listMessages(item.error));
          if (item.success) read += 1;
        },
      ),
      { numRuns: 500 },
    );
    expect(read).toBeGreaterThan(50);
  });

  test.each([[null], [undefined], [[]], ["text"], [1], [{ __proto__: null }]])(
    "is accepted or rejected as by its own schema: %j",
    (value) => {
      expect(buildArraySchema(schema).safeParse([value]).success).toBe(schema.safeParse(value).success);
    },
  );

  test("is parsed without its own schema when well-formed", () => {
    const whole = Object.fromEntries(Object.keys(schema.shape).map((name) => [name, `a ${name}`]));
    const rows = Array.from({ length: 3 }, (_, index) => ({ ...whole, another: index }));
    let parsed = 0;
    const { run } = schema._zod;
    schema._zod.run = (...parseArgs) => {
      parsed += 1;
      return run(...parseArgs);
    };
    try {
      expect(buildArraySchema(schema).parse(rows)).toStrictEqual([whole, whole, whole]);
      expect(parsed).toBe(0);
      expect(buildArraySchema(schema).safeParse([{ ...whole, comment: 1 }]).success).toBe(false);
      expect(parsed).toBeGreaterThan(0);
    } finally {
      schema._zod.run = run;
    }
  });
});

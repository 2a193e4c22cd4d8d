import { expect, it, vi } from "vitest";

it("parses an empty value the same on first use", async () => {
  vi.resetModules();
  const { parseEntryValue } = await import("../../../provider/model/entry-value.ts");
  const first = parseEntryValue("");
  expect(first.ok).toBe(false);
  parseEntryValue("evil.example");
  expect(parseEntryValue("")).toEqual(first);
});

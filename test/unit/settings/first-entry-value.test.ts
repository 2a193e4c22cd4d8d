import { expect, it, vi } from "vitest";

it("reads an empty value as the first of a process as it does after others", async () => {
  vi.resetModules();
  const { parseEntryValue } = await import("../../../provider/settings/entry-value.ts");
  const first = parseEntryValue("");
  expect(first.ok).toBe(false);
  parseEntryValue("evil.example");
  expect(parseEntryValue("")).toEqual(first);
});

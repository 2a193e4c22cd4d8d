import { describe, expect, it } from "vitest";
import { formatVersion, isAtLeast, parseVersion } from "../../../provider/engine/version";

describe("parseVersion", () => {
  it.each([
    ["v3.259.0", [3, 259, 0]],
    ["3.260.1-alpha.1+abc", [3, 260, 1]],
    ["go1.26.8", [1, 26, 8]],
    ["go1.27", [1, 27, 0]],
    ["devel go1.28-2f3c4d", [1, 28, 0]],
  ])("parses %s", (text, version) => {
    expect(parseVersion(text)).toEqual(version);
  });

  it("returns undefined for text without a version", () => {
    expect(parseVersion("pulumi: command not found")).toBeUndefined();
  });
});

describe("isAtLeast", () => {
  it.each([
    ["3.250.0", true],
    ["3.250.1", true],
    ["3.1000.0", true],
    ["4.0.0", true],
    ["3.249.9", false],
    ["2.999.0", false],
  ])("compares %s with 3.250.0 numerically", (text, expected) => {
    expect(isAtLeast(parseVersion(text) ?? [0, 0, 0], [3, 250, 0])).toBe(expected);
  });
});

it("formats a parsed version", () => {
  expect(formatVersion([3, 259, 0])).toBe("3.259.0");
});

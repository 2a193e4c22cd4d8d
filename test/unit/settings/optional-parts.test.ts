import { expect, it } from "vitest";
import { isWithin } from "../../../provider/settings/optional-parts";

it.each([
  ["8.23.1", "^8.23.1", true],
  ["8.23.0", "^8.23.1", false],
  ["8.100.0", "^8.23.1", true],
  ["8.9.9", "^8.23.1", false],
  ["9.0.0", "^8.23.1", false],
  ["80.23.1", "^8.23.1", false],
  ["0.301.7", "^0.301.0", true],
  ["0.302.0", "^0.301.0", false],
  ["0.302.0", "^0.301.0 || ^0.302.0", true],
  ["12.35.0", "12.35.0", true],
  ["12.35.1", "12.35.0", false],
])("%s is within %s: %j", (version, range, is) => {
  expect(isWithin(version, range)).toBe(is);
});

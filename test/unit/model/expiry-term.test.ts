import { expect, it } from "vitest";
import { parseTerm } from "../../../provider/model/expiry-term";

const TODAY = "2026-11-23";

it.each([
  ["1d", "2026-11-24"],
  ["30d", "2026-12-23"],
  ["6w", "2027-01-04"],
  ["6W", "2027-01-04"],
  ["2026-11-23", "2026-11-23"],
  ["2028-02-29", "2028-02-29"],
  ["never", "never"],
])("parses %s as %s", (text, value) => {
  expect(parseTerm(text, TODAY)).toEqual({ ok: true, value });
});

it.each([
  ["2026-11-22", "is in the past"],
  ["2027-02-29", "isn't a valid term"],
  ["0d", "isn't a valid term"],
  ["30", "isn't a valid term"],
  ["1 month", "isn't a valid term"],
  ["-3d", "isn't a valid term"],
  ["9999w", "more than ten years"],
  ["", "isn't a valid term"],
])("rejects %s", (text, reason) => {
  expect(parseTerm(text, TODAY)).toEqual({ ok: false, reason: expect.stringContaining(reason) });
});

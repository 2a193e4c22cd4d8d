import { expect, it } from "vitest";
import { findLikelyTypo, findNearestName, formatNameSuggestion } from "../../../provider/settings/nearest-name";

const KNOWN = ["baseUrl", "apiKey", "ownDomains", "timeoutMs", "list"];

it.each([
  ["base_url", "baseUrl"],
  ["BASE-URL", "baseUrl"],
  ["ownDomain", "ownDomains"],
  ["ownDomian", "ownDomains"],
  ["apikeys", "apiKey"],
  ["lsit", "list"],
  ["timeout", "timeoutMs"],
])("%s is meant for %s", (written, meant) => {
  expect(findNearestName(written, KNOWN)).toBe(meant);
});

it.each(["tags", "", "x", "version", "__proto__", "constructor", "toString"])("%s is near to nothing", (written) => {
  expect(findNearestName(written, KNOWN, {})).toBeUndefined();
});

it("a name that differs in its number alone is another thing, and no slip", () => {
  expect(findNearestName("t031.yaml", ["t001.yaml", "t030.yaml"])).toBeUndefined();
  expect(findNearestName("T-001", ["t001", "t002"])).toBe("t001");
  expect(findNearestName("acne1", ["acme1"])).toBe("acme1");
});

it("an alias is meant for its name, where that is known", () => {
  expect(findNearestName("Key", KNOWN, { key: "apiKey" })).toBe("apiKey");
  expect(findNearestName("Key", ["list"], { key: "apiKey" })).toBeUndefined();
});

it("tells what was meant, or all there are", () => {
  expect(formatNameSuggestion("ownDomain", KNOWN)).toBe("did you mean ownDomains?");
  expect(formatNameSuggestion("tags", KNOWN)).toBe("there are baseUrl, apiKey, ownDomains, timeoutMs, list");
  expect(formatNameSuggestion("tags", [])).toBe("there are none");
});

it.each([
  ["ownDomain", "ownDomains"],
  ["own_domians", "ownDomains"],
  ["Timeout", "timeoutMs"],
  ["acmeKey", undefined],
  ["region", undefined],
])("beside names that others made, %s is a slip of %s", (written, meant) => {
  expect(findLikelyTypo(written, KNOWN)).toBe(meant);
});

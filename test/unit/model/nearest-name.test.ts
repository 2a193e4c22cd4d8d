import { expect, it } from "vitest";
import { findLikelyTypo, findNearestName, formatNameSuggestion } from "../../../provider/model/nearest-name";

const KNOWN = ["baseUrl", "apiKey", "ownDomains", "timeoutMs", "list"];

it.each([
  ["base_url", "baseUrl"],
  ["BASE-URL", "baseUrl"],
  ["ownDomain", "ownDomains"],
  ["ownDomian", "ownDomains"],
  ["apikeys", "apiKey"],
  ["lsit", "list"],
  ["timeout", "timeoutMs"],
])("corrects %s to %s", (written, suggestion) => {
  expect(findNearestName(written, KNOWN)).toBe(suggestion);
});

it.each(["tags", "", "x", "version", "__proto__", "constructor", "toString"])("finds no name near %s", (written) => {
  expect(findNearestName(written, KNOWN, {})).toBeUndefined();
});

it("suggests no name that differs only in its number", () => {
  expect(findNearestName("t031.yaml", ["t001.yaml", "t030.yaml"])).toBeUndefined();
  expect(findNearestName("T-001", ["t001", "t002"])).toBe("t001");
  expect(findNearestName("acne1", ["acme1"])).toBe("acme1");
});

it("resolves an alias only to a known name", () => {
  expect(findNearestName("Key", KNOWN, { key: "apiKey" })).toBe("apiKey");
  expect(findNearestName("Key", ["list"], { key: "apiKey" })).toBeUndefined();
});

it("suggests the nearest name or lists all names", () => {
  expect(formatNameSuggestion("ownDomain", KNOWN)).toBe("did you mean ownDomains?");
  expect(formatNameSuggestion("tags", KNOWN)).toBe("the known names are baseUrl, apiKey, ownDomains, timeoutMs, list");
  expect(formatNameSuggestion("tags", [])).toBe("no names are known");
});

it.each([
  ["ownDomain", "ownDomains"],
  ["own_domians", "ownDomains"],
  ["Timeout", "timeoutMs"],
  ["acmeKey", undefined],
  ["region", undefined],
])("takes %s for a typo of %s among custom names", (written, suggestion) => {
  expect(findLikelyTypo(written, KNOWN)).toBe(suggestion);
});

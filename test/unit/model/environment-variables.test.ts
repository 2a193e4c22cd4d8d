import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { findMisspelledVariables } from "../../../provider/model/environment-variables";

const PROVIDER = join(__dirname, "../../../provider");

/** Returns every variable of ours that the package reads or sets, as named in its sources. */
function findVariables(): string[] {
  const files = readdirSync(PROVIDER, { recursive: true, encoding: "utf8" }).filter(
    (file) => /\.(ts|js)$/.test(file) && !/(^|[\\/])(dist|node_modules)[\\/]/.test(file),
  );
  const names = files.flatMap((file) =>
    [...readFileSync(join(PROVIDER, file), "utf8").matchAll(/\bEMAIL_SECURITY_[A-Z]+(?:_[A-Z]+)*\b/g)].map(
      ([name]) => name,
    ),
  );
  return [...new Set(names)].filter((name) => name !== "EMAIL_SECURITY_API_KEY_ACME");
}

it("knows every variable in the sources", () => {
  const named = findVariables();
  expect(named).toContain("EMAIL_SECURITY_OWN_DOMAINS");
  for (const suggestion of named) {
    expect(findMisspelledVariables({ [suggestion]: "x" })).toEqual([]);
    const name = `${suggestion.slice(0, -1)}${suggestion.endsWith("X") ? "Y" : "X"}`;
    expect(findMisspelledVariables({ [name]: "x" }), name).toEqual([{ name, suggestion }]);
  }
});

it.each([
  ["EMAIL_SECURITY_OWN_DOMAIN", "EMAIL_SECURITY_OWN_DOMAINS"],
  ["EMAIL_SECURITY_OWNDOMAINS", "EMAIL_SECURITY_OWN_DOMAINS"],
  ["email_security_own_domains", "EMAIL_SECURITY_OWN_DOMAINS"],
  ["EMAIL_SECURITY_TIMEOUT", "EMAIL_SECURITY_TIMEOUT_MS"],
  ["EMAIL_SECURITY_PLAN_DIGETS", "EMAIL_SECURITY_PLAN_DIGEST"],
])("reports the misspelled variable %s", (name, suggestion) => {
  expect(findMisspelledVariables({ [name]: "x" })).toEqual([{ name, suggestion }]);
});

it.each([
  { EMAIL_SECURITY_API_KEY_ACME: "one tenant's" },
  { EMAIL_SECURITY_API_KEY_2: "another's" },
  { EMAIL_SECURITY_API_KEYS: "beside the one that is set", EMAIL_SECURITY_API_KEY: "x" },
  { EMAIL_SECURITY_OWN_DOMAIN: "" },
  { EMAIL_SECURITY_DEPARTMENT: "the team's" },
  { EMAILS: "others'", API_KEYS: "others'" },
])("reports no typo in %j", (environment) => {
  expect(findMisspelledVariables(environment)).toEqual([]);
});

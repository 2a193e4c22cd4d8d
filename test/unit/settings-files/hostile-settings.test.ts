import { afterEach, expect, it } from "vitest";
import { lintSettings } from "../../../provider/settings-files/lint";

const TODAY = "2026-11-21";
const OWN_DOMAINS = "EMAIL_SECURITY_OWN_DOMAINS";
const before = process.env[OWN_DOMAINS];

afterEach(() => {
  if (before === undefined) delete process.env[OWN_DOMAINS];
  else process.env[OWN_DOMAINS] = before;
});

const listCodes = (text: string): string[] =>
  lintSettings("acme.yaml", { today: TODAY, readFile: () => text }).findings.map(({ code }) => code);

it("matches a hostile ticket pattern quickly", () => {
  const formatSettings = (pattern: string): string =>
    `version: 1\npolicy: { ticketPattern: ${JSON.stringify(pattern)} }\nallow: [{ value: a.example, ticket: ${"a".repeat(60)}b }]\n`;
  expect(listCodes(formatSettings("^(a+)+$"))).toEqual(["policy-ticket"]);
  expect(listCodes(formatSettings("^(?=a)"))).toEqual(["invalid-value"]);
});

it("applies own domains from the environment to files", () => {
  const text = "version: 1\nallow: [acme-login.example]\n";
  delete process.env[OWN_DOMAINS];
  expect(listCodes(text)).toEqual([]);
  process.env[OWN_DOMAINS] = "acme.example";
  expect(listCodes(text)).toEqual(["allow-look-alike"]);
});

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { DocsPage } from "../../support/docs-page";

const threats = new DocsPage("explanation/threat-model.md").text;
const retries = new DocsPage("explanation/retries-and-outcome-checks.md").text;

/** A limit of the client: its file and name, its value, and the page and words that document it. */
const NUMBERS = [
  ["transport", "DEFAULT_MAX_RESPONSE_BYTES", 16 * 1024 * 1024, threats, "| an answer | 16 MiB"],
  ["json", "MAX_JSON_VALUES", 1_000_000, threats, "a million JSON values"],
  ["envelope", "MAX_RESPONSE_ITEMS", 50_000, threats, "50,000 items |"],
  ["paging", "MAX_ITEMS", 500_000, threats, "500,000 items"],
  ["paging", "ABSOLUTE_MAX_PAGES", 50_000, threats, "50,000 pages"],
  ["paging", "MAX_READ_MS", 30 * 60_000, threats, "half an hour"],
  ["fields", "MAX_ID_LENGTH", 1_000, threats, "| an id | 1,000 characters"],
  ["retry-policy", "MAX_ATTEMPTS", 4, retries, "up to 4 attempts in all"],
  ["retry-policy", "MAX_VERIFIED_ATTEMPTS", 3, retries, "is sent again, at most twice"],
  ["retry-policy", "MAX_RATE_LIMITED_ATTEMPTS", 8, retries, "8 attempts and 2 minutes"],
  ["retry-policy", "RETRY_DEADLINE_MS", 120_000, retries, "No attempt begins later than 2 minutes"],
  ["retry-policy", "BASE_DELAY_MS", 250, retries, "250 ms before the second attempt"],
  ["retry-policy", "INITIAL_RETRY_BUDGET", 10, retries, "Retry budget**: 10 retries"],
  ["retry-policy", "REFILL_PER_SUCCESS", 0.1, retries, "one more for every 10 requests"],
  ["retry-policy", "MAX_RETRY_BUDGET", 100, retries, "up to 100."],
  ["retry-policy", "CIRCUIT_FAILURE_BURSTS", 6, retries, "After six consecutive failure bursts"],
  ["retry-policy", "CIRCUIT_OPEN_MS", 30_000, retries, "opens for 30 seconds"],
  ["adaptive-limit", "INITIAL_CONCURRENCY", 16, retries, "16 requests at first"],
] as const;

test.for(NUMBERS)("documents the limit in %s.ts: %s", ([file, name, value, page, words]) => {
  const source = readFileSync(`provider/client/${file}.ts`, "utf8");
  const [, written = ""] = new RegExp(`^(?:export )?const ${name}\\b.*= (.*);$`, "m").exec(source) ?? [];
  // A product, or the last of several.
  const [factors = ""] = /[\d_.* ]+(?=\D*$)/.exec(written) ?? [];
  const number = factors.split("*").reduce((product, one) => product * Number(one.replaceAll("_", "")), 1);
  expect([name, number]).toEqual([name, value]);
  expect(page.replaceAll(/\s+/g, " ")).toContain(words);
});

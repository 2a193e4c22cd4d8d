import { expect, test } from "vitest";
import { INITIAL_CONCURRENCY } from "../../../provider/client/adaptive-limit";
import { MAX_JSON_VALUES } from "../../../provider/client/bounded-json";
import { MAX_RESPONSE_ITEMS } from "../../../provider/client/envelope";
import { ABSOLUTE_MAX_PAGES, MAX_ITEMS, MAX_READ_MS } from "../../../provider/client/paging";
import * as retryPolicy from "../../../provider/client/retry-policy";
import { MAX_ID_LENGTH } from "../../../provider/client/schema-fields";
import { DEFAULT_MAX_RESPONSE_BYTES } from "../../../provider/client/transport";
import { DocsPage } from "../../support/docs-page";

const threats = new DocsPage("explanation/threat-model.md").text;
const retries = new DocsPage("explanation/retries-and-outcome-checks.md").text;

/** The limits of the client, each with the words that document it. The words contain the documented value. */
const LIMITS = {
  DEFAULT_MAX_RESPONSE_BYTES: [threats, `| an answer | ${DEFAULT_MAX_RESPONSE_BYTES / 2 ** 20} MiB`],
  MAX_JSON_VALUES: [threats, `${MAX_JSON_VALUES === 1_000_000 ? "a million" : MAX_JSON_VALUES} JSON values`],
  MAX_RESPONSE_ITEMS: [threats, `${group(MAX_RESPONSE_ITEMS.others)} items |`],
  MAX_ITEMS: [threats, `${group(MAX_ITEMS)} items`],
  ABSOLUTE_MAX_PAGES: [threats, `${group(ABSOLUTE_MAX_PAGES)} pages`],
  MAX_READ_MS: [threats, MAX_READ_MS === 30 * 60_000 ? "half an hour" : `${MAX_READ_MS} ms`],
  MAX_ID_LENGTH: [threats, `| an id | ${group(MAX_ID_LENGTH)} characters`],
  MAX_ATTEMPTS: [retries, `up to ${retryPolicy.MAX_ATTEMPTS} attempts in all`],
  MAX_VERIFIED_ATTEMPTS: [retries, `sent again, at most ${["once", "twice"][retryPolicy.MAX_VERIFIED_ATTEMPTS - 2]}`],
  MAX_RATE_LIMITED_ATTEMPTS: [retries, `${retryPolicy.MAX_RATE_LIMITED_ATTEMPTS} attempts and 2 minutes`],
  RETRY_DEADLINE_MS: [retries, `No attempt begins later than ${retryPolicy.RETRY_DEADLINE_MS / 60_000} minutes`],
  BASE_DELAY_MS: [retries, `${retryPolicy.BASE_DELAY_MS} ms before the second attempt`],
  INITIAL_RETRY_BUDGET: [retries, `Retry budget**: ${retryPolicy.INITIAL_RETRY_BUDGET} retries`],
  REFILL_PER_SUCCESS: [retries, `one more for every ${1 / retryPolicy.REFILL_PER_SUCCESS} requests`],
  MAX_RETRY_BUDGET: [retries, `up to ${retryPolicy.MAX_RETRY_BUDGET}.`],
  CIRCUIT_FAILURE_BURSTS: [retries, `After ${["five", "six"][retryPolicy.CIRCUIT_FAILURE_BURSTS - 5]} consecutive`],
  CIRCUIT_OPEN_MS: [retries, `opens for ${retryPolicy.CIRCUIT_OPEN_MS / 1_000} seconds`],
  INITIAL_CONCURRENCY: [retries, `${INITIAL_CONCURRENCY} requests at first`],
} as const;

test.for(Object.entries(LIMITS))("documents the limit %s", ([_name, [page, words]]) => {
  expect(page.replaceAll(/\s+/g, " ")).toContain(words);
});

function group(count: number): string {
  return count.toLocaleString("en-US");
}

import { expect, test, vi } from "vitest";
import { ApiKey } from "../../../provider/client/api-key";
import { buildResultsSchema, buildSettingsPageSchema } from "../../../provider/client/envelope";
import { parseResponse } from "../../../provider/client/parse-response";
import { allowDenyEntry, vipEmployee } from "../../../provider/client/schemas";

const KEY = "canary-5f1d7c9ae0";

function parseText(text: string, key: ApiKey) {
  return parseResponse(
    { status: 200, headers: { "content-type": "application/json" }, text },
    {
      request: { method: "GET", path: "/api/v1/settings/allow_deny_entries" },
      requestText: "GET /entries",
      key,
      envelope: "settings-page",
      schema: buildSettingsPageSchema(allowDenyEntry),
    },
  );
}

test("builds the schema of a response once per item type", () => {
  expect(buildSettingsPageSchema(allowDenyEntry)).toBe(buildSettingsPageSchema(allowDenyEntry));
  expect(buildSettingsPageSchema(vipEmployee)).not.toBe(buildSettingsPageSchema(allowDenyEntry));
  expect(buildResultsSchema(allowDenyEntry)).toBe(buildResultsSchema(allowDenyEntry));
  expect(buildResultsSchema(allowDenyEntry)).not.toBe(buildSettingsPageSchema(allowDenyEntry));
});

test("redacts parts of the key only in excerpts of unreadable responses", () => {
  const key = new ApiKey(KEY);
  const redactSpy = vi.spyOn(key, "redactParts");
  expect(parseText('{"results": {"items": [], "page": 1, "total": 0}}', key)).toEqual({
    items: [],
    page: 1,
    total: 0,
  });
  expect(redactSpy).toHaveBeenCalledTimes(0);
  expect(() => parseText(`{"results": "${KEY.slice(0, 12)}`, key)).toThrow(
    'GET /entries returned 200 with JSON that is invalid or truncated: \'{"results": "<API_KEY>\'',
  );
  expect(redactSpy).toHaveBeenCalledTimes(1);
});

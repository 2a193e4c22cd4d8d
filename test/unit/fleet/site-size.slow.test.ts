import { expect, it } from "vitest";
import { generateFiles, generateSite, measureFiles } from "../../support/site-fixture";

it("keeps the site under 60 MB for 300 tenants with 500 entries each", () => {
  const files = generateFiles(generateSite({ tenants: 300, entries: 500, own: 500 }));
  expect(measureFiles(files)).toBeLessThan(60_000_000);
  const page = files.get("tenants/t123.html") ?? "";
  // Only the tenant's own entry files: a tenant's page doesn't load all of them.
  expect(page.match(/data\/entries-\d+-/g)?.length).toBeLessThanOrEqual(2);
}, 120_000);

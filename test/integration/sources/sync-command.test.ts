import { existsSync, readFileSync, statSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { lintFiles } from "../../../provider/settings-files/lint-files";
import { readSettings } from "../../../provider/settings-files/read-settings";
import { syncSchema } from "../../../provider/sources/sync-report";
import { syncSources } from "../../../provider/sources/sync-sources";
import { runCli } from "../../support/cli";
import { createTestDirectory, type TestDirectory } from "../../support/test-directory";
import { FeedServer } from "./feed-server";

let feed: FeedServer;
beforeAll(async () => {
  feed = await FeedServer.start();
});
afterAll(() => feed[Symbol.asyncDispose]());

const GENERATED = "settings/sources/phish.yaml";

const createRepository = (max = 5_000): TestDirectory =>
  createTestDirectory({
    ".git/HEAD": "ref: refs/heads/main\n",
    "people.csv": "Name,Mail\nJane <b>Doe</b>,jane@acme.example\nLena,lena@acme.example\n",
    "settings/acme.yaml": `version: 1
include: [sources/phish.yaml, sources/staff.yaml]
sources:
  phish: { kind: url, url: "${feed.origin}/a.txt", into: deny, expires: 14d, max: ${max} }
  staff: { kind: csv, file: ../people.csv, column: Mail, into: vips, comment: "{name}" }
`,
  });

it("writes, checks and reports with the documented exit codes", async () => {
  using directory = createRepository();
  const environment = {
    EMAIL_SECURITY_SOURCES: `phish=${feed.origin}/`,
    EMAIL_SECURITY_SOURCE_PHISH_TOKEN: "canary-token",
  };
  const runSync = (...args: string[]) =>
    runCli(directory.path, ["sync", "--today", "2026-11-29", ...args], environment);
  feed.list(["evil.example"]);

  const check = await runSync("--check", "--format", "json");
  expect(check).toMatchObject({ code: 2, stderr: "" });
  const report = syncSchema.parse(JSON.parse(check.stdout));
  expect(report.sources.map(({ name, outcome }) => [name, outcome])).toEqual([
    ["phish", "changed"],
    ["staff", "changed"],
  ]);
  expect(existsSync(directory.at(GENERATED))).toBe(false);

  expect(await runSync("--source", "phish")).toMatchObject({ code: 0 });
  expect(existsSync(directory.at("settings/sources/staff.yaml"))).toBe(false);
  const written = await runSync("--output", "report.md");
  expect(written).toMatchObject({ code: 0 });
  expect(readFileSync(directory.at("report.md"), "utf8")).toContain("- `jane@acme.example`");
  expect(readFileSync(directory.at("settings/sources/staff.yaml"), "utf8")).toContain(
    "vips:\n  - { email: jane@acme.example, comment: ",
  );

  const before = statSync(directory.at(GENERATED)).mtimeMs;
  expect(await runSync("--check")).toMatchObject({ code: 0 });
  expect(await runSync()).toMatchObject({ code: 0 });
  expect(statSync(directory.at(GENERATED)).mtimeMs).toBe(before);
  expect(await runCli(directory.path, ["lint", "--today", "2026-11-29"])).toMatchObject({ code: 0 });

  expect(feed.requests.at(-1)?.headers.authorization).toBe("Bearer canary-token");

  feed.answer = (_request, response) => response.writeHead(403).end();
  directory.write("people.csv", "Mail\njane@acme.example\n");
  const blocked = await runSync();
  expect(blocked.code).toBe(1);
  expect(blocked.stdout).toMatch(/phish .*: blocked; nothing is changed[\s\S]*ERR_SOURCE[\s\S]*lena@acme\.example/);
  expect(readFileSync(directory.at("settings/sources/staff.yaml"), "utf8")).not.toContain("lena");
});

it("names the closest source for an unknown name", async () => {
  using directory = createRepository();
  const { code, stderr } = await runCli(directory.path, ["sync", "--source", "phis"]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/"phis" isn't declared\. Did you mean phish\?/);
});

it("syncs 50,000 entries with one request per sync", async () => {
  using directory = createRepository(50_000);
  const values = Array.from(
    { length: 50_000 },
    (_, index) => `d${(index * 7_919) % 50_000}.evil-${index % 97}.example`,
  );
  const syncFeed = () =>
    syncSources({
      files: [directory.at("settings")],
      names: ["phish"],
      environment: { EMAIL_SECURITY_SOURCES: `phish=${feed.origin}/` },
      signal: new AbortController().signal,
      today: "2026-11-29",
    });
  feed.list(values);
  feed.requests.length = 0;
  const [first] = await syncFeed();
  expect(first?.report.added).toHaveLength(50_000);
  directory.write(GENERATED, first?.change?.after ?? "");
  directory.write("settings/sources/staff.yaml", "version: 1\n");
  const [second] = await syncFeed();
  expect(second).toMatchObject({ report: { outcome: "unchanged", elements: 50_000 } });
  expect(second).not.toHaveProperty("change");
  expect(feed.requests).toHaveLength(2);

  // A feed in another order, with one new entry and one that left, changes exactly three lines: the entry, the date and the hash.
  feed.list([...values.slice(1).reverse(), "new.example"]);
  const [third] = await syncFeed();
  const before = new Set(first?.change?.after.split("\n"));
  const changed = third?.change?.after.split("\n").filter((line) => !before.has(line));
  expect(changed).toHaveLength(3);

  const file = directory.at("settings/acme.yaml");
  expect(readSettings(file, { today: "2026-11-29" }).entries).toHaveLength(50_000);
  expect(lintFiles([file], { today: "2026-11-29" }).findings).toEqual([]);
});

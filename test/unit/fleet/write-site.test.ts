import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { buildSiteRun, type SiteRun } from "../../../provider/fleet/site/data/site-runs";
import { computeShortDigest } from "../../../provider/fleet/site/pages/paths";
import { openSite, SITE_MARKER, writeSite } from "../../../provider/fleet/site/site-directory";
import type { SiteFile } from "../../../provider/fleet/site/site-files";
import { generateSite } from "../../support/site-fixture";

let top: string;
let directory: string;

beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), "email-security-write-"));
  directory = join(top, "site");
});

afterEach(() => rmSync(top, { recursive: true, force: true }));

const { status } = generateSite({ tenants: 2, entries: 2, own: 1 });
const runAt = (readAt: string): SiteRun => buildSiteRun({ ...status, readAt });
const buildDataFile = (text: string): SiteFile => [`data/fleet-${computeShortDigest(text)}.js`, text];
const buildPageFile = (path: string, text: string): SiteFile => [path, text];

const writeTestSite = (files: Iterable<SiteFile>, timestamp = "2026-11-23T06:00:00.000Z") => {
  return writeSite(openSite(directory), files, runAt(timestamp));
};

/** Returns all files with their contents; the marker and the runs by name only. */
const readSiteFiles = (): Record<string, string> =>
  Object.fromEntries(
    readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => !entry.isDirectory())
      .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
      .sort()
      .map((path) => [
        path,
        path === SITE_MARKER || path.includes("runs") ? "" : readFileSync(join(directory, path), "utf8"),
      ]),
  );

it("removes only files of the previous run", () => {
  const [before, after] = [buildDataFile("before"), buildDataFile("after")];
  expect(
    writeTestSite([
      before,
      buildPageFile("tenants/acme.html", "acme"),
      buildPageFile("tenants/gone.html", "gone"),
      buildPageFile("index.html", "1"),
    ]),
  ).toEqual({
    files: 4,
    bytes: 15,
  });
  expect(statSync(directory).mode & 0o777).toBe(0o700);
  writeFileSync(join(directory, "CNAME"), "fleet.example");
  writeFileSync(join(directory, "tenants/notes.html"), "a person's");
  mkdirSync(join(directory, ".git"));
  writeTestSite(
    [after, buildPageFile("tenants/acme.html", "acme, anew"), buildPageFile("index.html", "2")],
    "2026-11-24T06:00:00.000Z",
  );
  expect(readSiteFiles()).toEqual({
    [SITE_MARKER]: "",
    CNAME: "fleet.example",
    [after[0]]: "after",
    "data/runs/2026-11-23T06-00-00-000Z.json": "",
    "data/runs/2026-11-24T06-00-00-000Z.json": "",
    "index.html": "2",
    "tenants/acme.html": "acme, anew",
    "tenants/notes.html": "a person's",
  });
  expect(existsSync(join(directory, ".git"))).toBe(true);
});

it("leaves the site unchanged when a run is interrupted", () => {
  writeTestSite([buildDataFile("before"), buildPageFile("index.html", "1")]);
  const before = readSiteFiles();
  const yieldThenFail = function* (): Generator<SiteFile> {
    yield buildDataFile("after");
    yield buildPageFile("index.html", "2");
    throw new Error("cut short\u001b[2J");
  };
  expect(() => writeTestSite(yieldThenFail())).toThrow(
    /^The site can't be written to ".*site": cut short\\u\{1b\}\[2J\.$/,
  );
  expect(readSiteFiles()).toEqual(before);

  for (const [name, hours] of [
    ["abc123", 2],
    ["def456", 0],
  ] as const) {
    const stage = join(directory, `.email-security-new-${name}`);
    mkdirSync(stage);
    const timeSeconds = Date.now() / 1_000 - hours * 3_600;
    utimesSync(stage, timeSeconds, timeSeconds);
  }
  writeTestSite([buildDataFile("before"), buildPageFile("index.html", "1")], "2026-11-24T06:00:00.000Z");
  expect(readdirSync(directory).filter((name) => name.startsWith(".email-security-new"))).toEqual([
    ".email-security-new-def456",
  ]);
});

it("recovers from a run killed while publishing", () => {
  writeTestSite([buildDataFile("before"), buildPageFile("index.html", "1")]);
  // The state at that moment: the marker lists both pages, and one of the two is new.
  const [old, fresh] = [buildDataFile("before")[0], buildDataFile("after")[0]];
  const files = [old, "index.html", fresh, "tenants/new.html"];
  writeFileSync(join(directory, SITE_MARKER), JSON.stringify({ format: 1, files }));
  writeFileSync(join(directory, fresh), "after");
  writeTestSite([buildDataFile("later"), buildPageFile("index.html", "3")], "2026-11-24T06:00:00.000Z");
  expect(Object.keys(readSiteFiles()).filter((path) => !path.includes("runs"))).toEqual([
    SITE_MARKER,
    buildDataFile("later")[0],
    "index.html",
  ]);
});

it("replaces files that a concurrent run wrote", () => {
  const late = openSite(directory);
  writeTestSite([
    buildDataFile("other"),
    buildPageFile("tenants/other.html", "other"),
    buildPageFile("index.html", "1"),
  ]);
  writeSite(late, [buildDataFile("late"), buildPageFile("index.html", "2")], runAt("2026-11-24T06:00:00.000Z"));
  expect(Object.keys(readSiteFiles()).filter((path) => !path.includes("runs"))).toEqual([
    SITE_MARKER,
    buildDataFile("late")[0],
    "index.html",
  ]);
});

it("never writes or deletes outside the site directory", () => {
  const outside = join(top, "outside.html");
  writeFileSync(outside, "mine");
  writeTestSite([buildPageFile("index.html", "1")]);
  const files = [
    "index.html",
    "../outside.html",
    "tenants/../../outside.html",
    "/etc/hosts",
    "CNAME",
    "data/runs/x.json",
  ];
  writeFileSync(join(directory, "CNAME"), "fleet.example");
  writeFileSync(join(directory, SITE_MARKER), JSON.stringify({ format: 1, files }));
  writeTestSite([buildPageFile("index.html", "2")], "2026-11-24T06:00:00.000Z");
  expect(readFileSync(outside, "utf8")).toBe("mine");
  expect(readSiteFiles()["CNAME"]).toBe("fleet.example");

  rmSync(join(directory, "tenants"), { recursive: true });
  mkdirSync(join(top, "elsewhere"));
  symlinkSync(join(top, "elsewhere"), join(directory, "tenants"));
  expect(() => writeTestSite([buildPageFile("index.html", "3")])).toThrow(
    /tenants" isn't a directory, or is a link to one/,
  );
  expect(readdirSync(join(top, "elsewhere"))).toEqual([]);
});

it("rejects a directory with foreign files or an invalid marker", () => {
  mkdirSync(directory);
  writeFileSync(join(directory, "index.html"), "somebody's");
  expect(() => openSite(directory)).toThrow(
    /"index\.html" exists, but according to \.email-security-site\.json this command did not write it/,
  );
  rmSync(join(directory, "index.html"));
  mkdirSync(join(directory, "tenants"));
  writeFileSync(join(directory, "tenants/acme.html"), "somebody's");
  expect(() => writeTestSite([buildPageFile("tenants/acme.html", "ours"), buildPageFile("index.html", "1")])).toThrow(
    /"tenants\/acme\.html" exists/,
  );
  expect(readSiteFiles()).toEqual({ "tenants/acme.html": "somebody's" });
  writeFileSync(join(directory, SITE_MARKER), "[]");
  expect(() => openSite(directory)).toThrow(/has a different format than this release writes/);
});

it("keeps runs, only the last of each old day", () => {
  writeTestSite([buildPageFile("index.html", "1")], "2025-01-01T06:00:00.000Z");
  writeTestSite([buildPageFile("index.html", "1")], "2025-01-01T18:00:00.000Z");
  writeFileSync(join(directory, "data/runs/2025-01-02T06-00-00-000Z.json"), "nonsense");
  writeTestSite([buildPageFile("index.html", "2")], "2026-11-23T06:00:00.000Z");
  expect(readdirSync(join(directory, "data/runs"))).toEqual([
    "2025-01-01T18-00-00-000Z.json",
    "2025-01-02T06-00-00-000Z.json",
    "2026-11-23T06-00-00-000Z.json",
  ]);
});

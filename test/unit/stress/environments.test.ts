import { execFileSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { getClockOffset } from "../../stress/clock-jumps.mjs";
import { buildRunEnvironment } from "../../stress/environments";

const MINUTE_MS = 60_000;

function createEmptyDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "email-security-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

it("makes the clock jump by minutes, forth and back", () => {
  const start = Date.UTC(2026, 10, 21, 12);
  const offsets = [0, 10, 20, 30, 40, 50, 60].map((seconds) => getClockOffset(start + seconds * 1_000));
  expect(offsets).toEqual([0, 0, 3, 0, 0, -2, 0].map((minutes) => minutes * MINUTE_MS));
});

it("preloads the jumping clock into processes", () => {
  const trueTime = Date.UTC(2026, 10, 21, 12, 0, 20);
  const stopped = `--import=data:text/javascript,Date.now=()=>${trueTime}`;
  const { NODE_OPTIONS } = buildRunEnvironment("clock", createEmptyDirectory(), { NODE_OPTIONS: stopped });
  const program =
    "console.log(JSON.stringify([Date.now(), +new Date(), Date(), +new Date(0), new Date() instanceof Date]))";
  const output = execFileSync(process.execPath, ["-e", program], {
    encoding: "utf8",
    env: { ...process.env, NODE_OPTIONS },
  });
  const time = trueTime + 3 * MINUTE_MS;
  expect(JSON.parse(output)).toEqual([time, time, new Date(time).toString(), 0, true]);
});

it("keeps the cached engine in a relocated home directory", () => {
  const directory = createEmptyDirectory();
  const cache = createEmptyDirectory();
  const environment = buildRunEnvironment("relocated", directory, { EMAIL_SECURITY_CACHE_DIR: cache });
  expect(environment).toMatchObject({ HOME: join(directory, "home"), LC_ALL: "tr_TR.UTF-8", TZ: "Pacific/Chatham" });
  expect(environment["EMAIL_SECURITY_CACHE_DIR"]).toBeUndefined();
  expect(environment["NODE_OPTIONS"]).toBeUndefined();
  expect(realpathSync(join(directory, "home/.cache/pulumi-email-security"))).toBe(realpathSync(cache));
});

it("changes nothing in the default environment", () => {
  expect(buildRunEnvironment("default", createEmptyDirectory())).toEqual({});
});

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { extractBundle } from "../../../../provider/rollout/planning/file-bundle";

const originalTmpdir = process.env["TMPDIR"];
let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "email-security-temporary-"));
});

afterEach(() => {
  if (originalTmpdir === undefined) delete process.env["TMPDIR"];
  else process.env["TMPDIR"] = originalTmpdir;
  rmSync(directory, { recursive: true });
});

it.each([
  [
    "that is not there",
    "nowhere",
    /nowhere", can't be used: it, or its directory, is missing\. .*To use another, set TMPDIR\./,
  ],
  [
    "that isn't a directory",
    "file",
    /file", can't be used: a part of its path isn't a directory\. .*To use another, set TMPDIR\./,
  ],
])("reports a temporary directory %s with a remedy", (_, name, reasonPattern) => {
  writeFileSync(join(directory, "file"), "");
  process.env["TMPDIR"] = join(directory, name);
  expect(() => extractBundle({ bundle: new Map(), directory: "." }, "project", undefined)).toThrow(
    expect.objectContaining({ code: "ERR_TEMPORARY_DIRECTORY", message: expect.stringMatching(reasonPattern) }),
  );
});

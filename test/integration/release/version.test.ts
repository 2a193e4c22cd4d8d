import { globSync } from "node:fs";
import { cp, mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { readPackageVersion, VERSIONED_FILES, writeVersion } from "#scripts/version-files";
import { createTestDirectory } from "../../support/test-directory";

const FILES = [
  "provider/package.json",
  "package-lock.json",
  ...VERSIONED_FILES,
  ...globSync("examples/*/package.json"),
];

it("changes only the version in all files", async () => {
  using directory = createTestDirectory();
  for (const file of FILES) {
    await mkdir(dirname(join(directory.path, file)), { recursive: true });
    await cp(file, join(directory.path, file));
  }
  const before = readPackageVersion(directory.path);
  writeVersion(directory.path, "9.8.7");
  expect(readPackageVersion(directory.path)).toBe("9.8.7");
  for (const file of FILES) {
    const old = (await readFile(file, "utf8")).split("\n");
    const lines = (await readFile(join(directory.path, file), "utf8")).split("\n");
    expect(lines, file).toHaveLength(old.length);
    const changed = lines.filter((line, index) => line !== old[index]);
    const ours = old.filter((line) => line.includes(`"pulumi-email-security": "^${before}"`)).length;
    expect(changed.length, file).toBeGreaterThanOrEqual(Math.max(1, ours));
    for (const [index, line] of lines.entries()) {
      expect(line.replaceAll("9.8.7", before), `${file}:${index + 1}`).toBe(old[index]);
    }
  }
  // Setting the old version again must leave no trace, so that a release can be undone.
  writeVersion(directory.path, before);
  for (const file of FILES) {
    expect(await readFile(join(directory.path, file), "utf8"), file).toBe(await readFile(file, "utf8"));
  }
});

import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const readme = readFileSync("README.md", "utf8");

it("names only tests that are there", () => {
  const tests = [...readme.matchAll(/`(test\/[\w/.-]+)`/g)].map(([, path = ""]) => path);
  expect(tests.length).toBeGreaterThan(10);
  expect(tests.filter((path) => !existsSync(path))).toEqual([]);
});

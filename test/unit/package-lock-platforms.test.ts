import fs from "node:fs";
import { posix } from "node:path";
import { expect, it } from "vitest";

interface LockedDependencies {
  readonly dependencies?: Record<string, string>;
  readonly optionalDependencies?: Record<string, string>;
}

const file = "package-lock.json";
const packages: Record<string, LockedDependencies> = JSON.parse(fs.readFileSync(file, "utf8")).packages;

// npm leaves packages that it didn't install out of the lock file, such as binaries for other platforms; `npm ci` then
// rejects the file.
it("locks every dependency of a locked package for all platforms", () => {
  const lacking = Object.entries(packages).flatMap(([place, { dependencies, optionalDependencies }]) =>
    Object.keys({ ...dependencies, ...optionalDependencies })
      .filter((name) => !isLocked(name, place))
      .map((name) => `${place}: ${name}`),
  );
  expect(lacking).toEqual([]);
});

/**
 * Returns whether Node.js would find the package from a location: in its own `node_modules`, or in that of a parent
 * directory.
 */
function isLocked(name: string, place: string): boolean {
  for (let directory = place; ; directory = directory.includes("/") ? posix.dirname(directory) : "") {
    if (packages[posix.join(directory, "node_modules", name)]) return true;
    if (directory === "") return false;
  }
}

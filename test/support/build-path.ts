import { resolve } from "node:path";

/**
 * Returns the path of a build output that tests run in subprocesses.
 *
 * @param _sources imports its sources. Never called: `vitest --changed` follows the imports to find the tests that a
 * change affects.
 */
export function getBuildPath(path: string, _sources: () => unknown): string {
  return resolve(__dirname, "../../provider/dist", path);
}

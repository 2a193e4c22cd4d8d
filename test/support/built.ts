import { resolve } from "node:path";

/**
 * What was built, which tests run in processes of their own.
 *
 * @param _sources what it is built of. It is never called: `vitest --changed` follows imports, and so it finds which tests a
 * change concerns.
 */
export function built(path: string, _sources: () => unknown): string {
  return resolve(__dirname, "../../provider/dist", path);
}

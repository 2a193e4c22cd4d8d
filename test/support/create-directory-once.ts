import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Returns a directory, created if it is missing. Creation is atomic: other processes see the complete directory or
 * none. If several create it concurrently, the first one's is kept.
 *
 * @param make fills a new directory, which is then moved into place.
 */
export async function createOnce(directory: string, make: (unfinished: string) => Promise<void>): Promise<string> {
  if (existsSync(directory)) return directory;
  await mkdir(dirname(directory), { recursive: true });
  const unfinished = await mkdtemp(`${directory}-`);
  try {
    await make(unfinished);
    await rename(unfinished, directory).catch((error: NodeJS.ErrnoException) => {
      // Another process was first.
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  return directory;
}

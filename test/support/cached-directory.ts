import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * A folder that is made where it isn't there yet. Others see it as a whole or not at all, and of several that make it at once the
 * first one's is kept.
 *
 * @param make fills a new folder, which is then moved to its place.
 */
export async function madeOnce(directory: string, make: (unfinished: string) => Promise<void>): Promise<string> {
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

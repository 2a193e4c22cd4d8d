import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { withLock } from "./lock";
import type { FoundEngine, WayContext } from "./way";

/** The file that only a finished installation holds. */
const MANIFEST = "engine.json";

/** Where an engine of one version is kept: the programs are in its `bin`. */
export function installationName(version: string): string {
  return `${version}-${process.platform}-${process.arch}`;
}

/** The file name of a program on this platform. */
export function programName(name: string): string {
  return process.platform === "win32" ? `${name}.exe` : name;
}

/** The engine installed under that name, or undefined when there is none or it isn't whole. */
export function findInstalled(engineFolder: string, name: string): FoundEngine | undefined {
  const folder = join(engineFolder, name);
  const command = join(folder, "bin", programName("pulumi"));
  if (!existsSync(command)) return undefined;
  try {
    const { version } = JSON.parse(readFileSync(join(folder, MANIFEST), "utf8")) as { version: string };
    return { command, version };
  } catch {
    return undefined;
  }
}

/**
 * Makes an installation that is there whole or not at all: `fill` works in a folder beside the final one, which takes
 * its name when all is done. Of two processes one does the work and the other waits for it. What a killed process
 * left behind is removed by the next one.
 *
 * @param fill puts the programs into `<folder>/bin` and gives the CLI's version
 */
export async function install(
  { engineFolder, log }: WayContext,
  name: string,
  fill: (folder: string) => Promise<string>,
): Promise<FoundEngine> {
  const final = join(engineFolder, name);
  mkdirSync(engineFolder, { recursive: true });
  const onWait = (holder: string) => log(`Waiting for ${holder}, which is at the same engine ...`);
  return withLock(`${final}.lock`, makeOne, { onWait });

  async function makeOne(): Promise<FoundEngine> {
    const ready = findInstalled(engineFolder, name);
    if (ready) return ready;

    const unfinished = `${final}.unfinished-`;
    for (const entry of readdirSync(engineFolder)) {
      const path = join(engineFolder, entry);
      if (path.startsWith(unfinished)) rmSync(path, { recursive: true, force: true });
    }

    const folder = unfinished + randomUUID();
    try {
      mkdirSync(join(folder, "bin"), { recursive: true });
      const version = await fill(folder);
      writeFileSync(join(folder, MANIFEST), JSON.stringify({ version }));
      rmSync(final, { recursive: true, force: true });
      renameSync(folder, final);
      return { command: join(final, "bin", programName("pulumi")), version };
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
}

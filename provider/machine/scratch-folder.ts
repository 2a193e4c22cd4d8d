import { lstatSync, mkdtempSync, readdirSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isOwn } from "./own-folder";
import { isRunning, startOf, thisMachine } from "./processes";

/** A private directory for one piece of work. */
export interface ScratchFolder extends Disposable {
  readonly path: string;
}

const HOUR_MS = 3_600_000;
/** A directory untouched for this long is abandoned: a live process touches its own hourly. */
const FORSAKEN_MS = 24 * HOUR_MS;

const NAME = /^email-security-[a-z]+-([0-9a-f]{6})-([0-9a-z]+)-([0-9a-z]+)-\w{6}$/;

const live = new Set<string>();
let isBegun = false;

/**
 * Creates a directory among the temporary files. It is removed on disposal or at process exit; after a kill, the next process
 * that creates one removes it.
 *
 * @param purpose a lower-case word, to recognize the directory by.
 */
export function scratchFolder(purpose: string): ScratchFolder {
  if (!isBegun) begin();
  const owner = [thisMachine(), process.pid.toString(36), (startOf(process.pid) ?? 0).toString(36)].join("-");
  const path = mkdtempSync(join(tmpdir(), `email-security-${purpose}-${owner}-`));
  live.add(path);
  return {
    path,
    [Symbol.dispose]() {
      live.delete(path);
      rmSync(path, { recursive: true, force: true });
    },
  };
}

function begin(): void {
  isBegun = true;
  removeLeftBehind();
  process.once("exit", () => {
    for (const path of live) quietly(() => rmSync(path, { recursive: true, force: true }));
  });
  setInterval(() => {
    for (const path of live) quietly(() => utimesSync(path, new Date(), new Date()));
  }, HOUR_MS).unref();
}

/** Removes this user's directories of killed processes. */
function removeLeftBehind(): void {
  quietly(() => {
    for (const name of readdirSync(tmpdir())) {
      const path = join(tmpdir(), name);
      quietly(() => {
        if (isLeftBehind(name, path)) rmSync(path, { recursive: true, force: true });
      });
    }
  });
}

function isLeftBehind(name: string, path: string): boolean {
  const [, machine, pid = "", start = ""] = NAME.exec(name) ?? [];
  if (machine === undefined) return false;
  const stat = lstatSync(path);
  if (!isOwn(stat)) return false;
  // Directories of another machine, or an earlier boot, are judged by age alone.
  if (machine !== thisMachine()) return Date.now() - stat.mtimeMs > FORSAKEN_MS;
  const began = Number.parseInt(start, 36);
  return !isRunning(Number.parseInt(pid, 36), began === 0 ? undefined : began);
}

/** Failing to clean up must not fail the work. */
function quietly(work: () => void): void {
  try {
    work();
  } catch {
    // The next process retries.
  }
}

import { lstatSync, mkdtempSync, readdirSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isOwn } from "./own-folder";
import { isRunning, startOf, thisMachine } from "./processes";

/** A folder for one piece of work, which only this user may enter. */
export interface ScratchFolder extends Disposable {
  readonly path: string;
}

const HOUR_MS = 3_600_000;
/** One that was not touched for so long is nobody's: its process would have, each hour. */
const FORSAKEN_MS = 24 * HOUR_MS;

const NAME = /^email-security-[a-z]+-([0-9a-f]{6})-([0-9a-z]+)-([0-9a-z]+)-\w{6}$/;

const live = new Set<string>();
let isBegun = false;

/**
 * Makes a folder in that for temporary files. It goes when it is disposed of, or with this process; one whose process was killed is
 * taken away by the next process that makes one.
 *
 * @param purpose a word of small letters, for who looks into the folder of temporary files.
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

/** Takes away what killed processes have left: of this user, and of nobody who may still be at it. */
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
  // Of another machine, or of this one before it was started anew, only the time tells.
  if (machine !== thisMachine()) return Date.now() - stat.mtimeMs > FORSAKEN_MS;
  const began = Number.parseInt(start, 36);
  return !isRunning(Number.parseInt(pid, 36), began === 0 ? undefined : began);
}

/** What is left behind once more is no failure of what is to be done. */
function quietly(work: () => void): void {
  try {
    work();
  } catch {
    // The next one does it.
  }
}

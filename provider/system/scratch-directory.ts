import { lstatSync, mkdtempSync, readdirSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isPrivateDirectory } from "./private-directory";
import { getMachineId, getProcessStart, isRunning } from "./processes";

export interface ScratchDirectory extends Disposable {
  readonly path: string;
}

const HOUR_MS = 3_600_000;
/** A directory that was not touched for this long is abandoned: a running process touches its own every hour. */
const ABANDONED_MS = 24 * HOUR_MS;

const DIRECTORY_NAME = /^email-security-[a-z]+-([0-9a-f]{6})-([0-9a-z]+)-([0-9a-z]+)-\w{6}$/;

const livePaths = new Set<string>();
let isStarted = false;

/**
 * Creates a directory among the temporary files. It is removed on disposal or at process exit; after a kill, the next process
 * that creates one removes it.
 *
 * @param purpose a lower-case word, to recognize the directory by.
 */
export function createScratchDirectory(purpose: string): ScratchDirectory {
  if (!isStarted) startCleanup();
  const owner = [getMachineId(), process.pid.toString(36), (getProcessStart(process.pid) ?? 0).toString(36)].join("-");
  const path = mkdtempSync(join(tmpdir(), `email-security-${purpose}-${owner}-`));
  livePaths.add(path);
  return {
    path,
    [Symbol.dispose]() {
      livePaths.delete(path);
      rmSync(path, { recursive: true, force: true });
    },
  };
}

function startCleanup(): void {
  isStarted = true;
  removeAbandoned();
  process.once("exit", () => {
    for (const path of livePaths) ignoreErrors(() => rmSync(path, { recursive: true, force: true }));
  });
  setInterval(() => {
    for (const path of livePaths) ignoreErrors(() => utimesSync(path, new Date(), new Date()));
  }, HOUR_MS).unref();
}

function removeAbandoned(): void {
  ignoreErrors(() => {
    for (const name of readdirSync(tmpdir())) {
      const path = join(tmpdir(), name);
      ignoreErrors(() => {
        if (isAbandoned(name, path)) rmSync(path, { recursive: true, force: true });
      });
    }
  });
}

function isAbandoned(name: string, path: string): boolean {
  const [, machine, pid = "", start = ""] = DIRECTORY_NAME.exec(name) ?? [];
  if (machine === undefined) return false;
  const stat = lstatSync(path);
  if (!isPrivateDirectory(stat)) return false;
  // For another machine, or an earlier boot of this one, only the modification time is known.
  if (machine !== getMachineId()) return Date.now() - stat.mtimeMs > ABANDONED_MS;
  const processStart = Number.parseInt(start, 36);
  return !isRunning(Number.parseInt(pid, 36), processStart === 0 ? undefined : processStart);
}

/** A failed cleanup must not fail the actual work. */
function ignoreErrors(work: () => void): void {
  try {
    work();
  } catch {
    // The next process retries.
  }
}

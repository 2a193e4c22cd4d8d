// @ts-check
// Plain JavaScript, because scripts/setup.mjs takes a lock before anything is installed or compiled.
"use strict";

const { randomUUID } = require("node:crypto");
const fs = require("node:fs");
const { hostname } = require("node:os");
const { setTimeout: sleep } = require("node:timers/promises");

/**
 * @typedef {object} LockOptions
 * @property {(holder: string) => void} [onWait] called once when another process holds the lock, with a description of the holder
 * @property {number} [pollMs] the interval between attempts of a waiter. Default: 200
 * @property {number} [staleMs] a holder without a heartbeat for this time is considered dead. Default: 60,000
 * @property {number} [timeoutMs] how long to wait for another holder before {@link LockTimeout} is thrown. Default: no limit
 */

/** Another process held the lock for longer than the caller waits. */
class LockTimeout extends Error {
  /** @param {string} holder a description of the holder */
  constructor(holder) {
    super(`the lock is held by ${holder}`);
    this.holder = holder;
  }
}
exports.LockTimeout = LockTimeout;

/**
 * Runs `work` while holding a lock between processes: a file that names its holder. The lock of a killed holder doesn't block
 * others. On this machine, a waiter checks the holder's process. For another machine or container that shares the directory, it
 * checks the file's modification time, which a holder updates regularly.
 *
 * @template T
 * @param {string} path the lock file, in an existing directory
 * @param {() => Promise<T>} work
 * @param {LockOptions} [options]
 * @returns {Promise<T>} the result of `work`
 */
exports.withLock = async function withLock(path, work, options = {}) {
  const release = await acquire(path, options);
  try {
    return await work();
  } finally {
    release();
  }
};

/** How long a holder may take to write the lock file. */
const MAX_WRITE_MS = 2_000;

exports.acquireLock = acquire;

/**
 * Acquires a lock like {@link withLock}, for callers that release it themselves. The end of the process also releases it.
 *
 * @param {string} path the lock file, in an existing directory
 * @param {LockOptions} options
 * @returns {Promise<() => void>} releases the lock
 */
async function acquire(path, { onWait, pollMs = 200, staleMs = 60_000, timeoutMs = Number.POSITIVE_INFINITY }) {
  const ownText = JSON.stringify({ ...describeOwnProcess(), id: randomUUID() });
  const startedAt = performance.now();
  let lastSeen = { text: "", mtimeMs: 0, at: 0 };
  for (let waiting = false; ; ) {
    if (create(path, ownText)) return keepAlive(path, ownText, staleMs);
    const current = readLock(path) ?? { text: "", mtimeMs: 0 };
    const hasChanged = current.text !== lastSeen.text || current.mtimeMs !== lastSeen.mtimeMs;
    // Only this process's clock measures the time, because the clocks of two machines may differ.
    if (hasChanged) lastSeen = { ...current, at: performance.now() };
    const state = getHolderState(current.text);
    // A holder that was killed while it wrote the file left it empty or truncated.
    const silenceMs = parseHolder(current.text) === undefined ? Math.min(staleMs, MAX_WRITE_MS) : staleMs;
    // A live holder is never considered dead, because it may be suspended and continue later with the data that it read.
    if (state === "dead" || (state === "unknown" && performance.now() - lastSeen.at > silenceMs)) {
      if (discardGuarded(path, current.text, staleMs)) continue;
    } else if (performance.now() - startedAt >= timeoutMs) throw new LockTimeout(describeHolder(current.text));
    if (!waiting) onWait?.(describeHolder(current.text));
    waiting = true;
    await sleep(pollMs);
  }
}

/** @param {string} path @param {string} text */
function create(path, text) {
  try {
    fs.writeFileSync(path, text, { flag: "wx" });
    return true;
  } catch (error) {
    // On Windows, EPERM and EBUSY are also the errors for a file that is being deleted.
    if (["EEXIST", "EPERM", "EBUSY"].includes(getErrorCode(error)) && fs.existsSync(path)) return false;
    if (getErrorCode(error) === "EEXIST") return false;
    throw error;
  }
}

/** @param {string} path @param {string} text @param {number} staleMs */
function keepAlive(path, text, staleMs) {
  const heartbeat = setInterval(() => {
    const now = new Date();
    fs.utimes(path, now, now, () => {});
  }, staleMs / 6).unref();
  const release = () => {
    clearInterval(heartbeat);
    process.removeListener("exit", release);
    if (readLock(path)?.text === text) fs.rmSync(path, { force: true });
  };
  process.once("exit", release);
  return release;
}

/** @param {string} path */
function readLock(path) {
  try {
    return { text: fs.readFileSync(path, "utf8"), mtimeMs: fs.statSync(path).mtimeMs };
  } catch {
    return undefined;
  }
}

/**
 * @param {string} text
 * @returns {"alive" | "dead" | "unknown"}
 */
function getHolderState(text) {
  const holder = parseHolder(text);
  if (holder === undefined || holder.host !== hostname()) return "unknown";
  // Containers may share a host name and a directory, but each numbers its own processes.
  if (holder.machine !== undefined && holder.machine !== getMachineId()) return "unknown";
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    if (getErrorCode(error) === "ESRCH") return "dead";
  }
  const start = getProcessStart(holder.pid);
  if (holder.start === undefined || start === undefined) return "unknown";
  // If the start times differ, another process has got the number since.
  return holder.start === start ? "alive" : "dead";
}

function describeOwnProcess() {
  return { pid: process.pid, host: hostname(), machine: getMachineId(), start: getProcessStart(process.pid) };
}

/** Identifies the scope of process numbers: this boot of the machine and, on Linux, the container. */
function getMachineId() {
  return [
    tryRead(() => fs.readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()),
    tryRead(() => fs.readlinkSync("/proc/self/ns/pid")),
  ].join(" ");
}

/**
 * @param {number} pid
 * @returns {string | undefined} the start time of a process; undefined if the system doesn't provide it
 */
function getProcessStart(pid) {
  // The name, in parentheses, may contain any text. The start time is the 20th field after it.
  return tryRead(() => fs.readFileSync(`/proc/${pid}/stat`, "utf8"))
    ?.split(") ")
    .at(-1)
    ?.split(" ")[19];
}

/**
 * @template T
 * @param {() => T} read
 */
function tryRead(read) {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/**
 * Removes the lock of a dead holder. Only one waiter may do this at a time, or else a slow waiter could remove the lock that
 * another waiter acquired meanwhile.
 *
 * @param {string} path
 * @param {string} text
 * @param {number} staleMs after this time, the guard of a killed waiter no longer blocks others
 * @returns {boolean} false while another waiter removes it
 */
function discardGuarded(path, text, staleMs) {
  const guard = `${path}.guard`;
  if (!create(guard, JSON.stringify(describeOwnProcess()))) {
    const other = readLock(guard);
    if (other === undefined) return false;
    const isOld = Date.now() - other.mtimeMs > staleMs;
    if (isOld || getHolderState(other.text) === "dead") discard(guard, other.text);
    return false;
  }
  try {
    if (readLock(path)?.text === text) fs.rmSync(path, { force: true });
  } finally {
    fs.rmSync(guard, { force: true });
  }
  return true;
}

/**
 * Removes the lock of a dead holder. The file is renamed first, because only one rename can succeed. If the renamed file is a
 * lock that another waiter acquired meanwhile, it is restored.
 *
 * @param {string} path
 * @param {string} text
 */
function discard(path, text) {
  const renamedPath = `${path}.${randomUUID()}`;
  try {
    fs.renameSync(path, renamedPath);
    if (fs.readFileSync(renamedPath, "utf8") !== text) fs.linkSync(renamedPath, path);
  } catch (error) {
    if (!["ENOENT", "EEXIST", "EPERM", "EBUSY"].includes(getErrorCode(error))) throw error;
  } finally {
    fs.rmSync(renamedPath, { force: true });
  }
}

/** @param {string} text */
function describeHolder(text) {
  const holder = parseHolder(text);
  if (holder === undefined) return "another process";
  return `process ${holder.pid}${holder.host === hostname() ? "" : ` on ${holder.host}`}`;
}

/**
 * @param {string} text
 * @returns {{ pid: number, host: string, machine?: string, start?: string } | undefined} undefined while its holder writes it
 */
function parseHolder(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @param {unknown} error */
function getErrorCode(error) {
  return /** @type {NodeJS.ErrnoException} */ (error).code ?? "";
}

// @ts-check
// Plain JavaScript, because scripts/setup.mjs takes a lock before anything is installed or compiled.
"use strict";

const { randomUUID } = require("node:crypto");
const fs = require("node:fs");
const { hostname } = require("node:os");
const { setTimeout: sleep } = require("node:timers/promises");

/**
 * @typedef {object} LockOptions
 * @property {(holder: string) => void} [onWait] called once when the lock is another's, with words for who holds it
 * @property {number} [pollMs] how often a waiter looks again; 200
 * @property {number} [staleMs] a holder that gave no sign of life for so long is taken for dead; 60,000
 * @property {number} [timeoutMs] how long to wait for another holder before {@link LockTimeout} is thrown; for ever
 */

/** The lock was another's for longer than the caller wanted to wait. */
class LockTimeout extends Error {
  /** @param {string} holder words for who holds it */
  constructor(holder) {
    super(`the lock is held by ${holder}`);
    this.holder = holder;
  }
}
exports.LockTimeout = LockTimeout;

/**
 * Runs `work` while holding a lock between processes: a file that names its holder. A holder that was killed
 * doesn't block: on this machine its process is looked up, on another (a shared folder, a container) the file's
 * modification time must move, since a holder touches it all along.
 *
 * @template T
 * @param {string} path the lock file, in a folder that exists
 * @param {() => Promise<T>} work
 * @param {LockOptions} [options]
 * @returns {Promise<T>} what `work` gives
 */
exports.withLock = async function withLock(path, work, options = {}) {
  const release = await acquire(path, options);
  try {
    return await work();
  } finally {
    release();
  }
};

const UNWRITTEN_MS = 2_000;

exports.acquireLock = acquire;

/**
 * Takes a lock as {@link withLock} does, for callers that release it themselves. A process that ends releases it too.
 *
 * @param {string} path the lock file, in a directory that exists
 * @param {LockOptions} options
 * @returns {Promise<() => void>} releases the lock
 */
async function acquire(path, { onWait, pollMs = 200, staleMs = 60_000, timeoutMs = Number.POSITIVE_INFINITY }) {
  const mine = JSON.stringify({ ...thisProcess(), id: randomUUID() });
  const startedAt = performance.now();
  let seen = { text: "", mtimeMs: 0, at: 0 };
  for (let waiting = false; ; ) {
    if (create(path, mine)) return hold(path, mine, staleMs);
    const found = look(path) ?? { text: "", mtimeMs: 0 };
    const moved = found.text !== seen.text || found.mtimeMs !== seen.mtimeMs;
    // The time is measured by this process's own clock: two machines' clocks may differ.
    if (moved) seen = { ...found, at: performance.now() };
    const state = stateOf(found.text);
    // To write the file takes a moment; a holder that was killed within it has left none of it or a part.
    const silenceMs = parse(found.text) === undefined ? Math.min(staleMs, UNWRITTEN_MS) : staleMs;
    // A holder that is known to run may be suspended, and goes on with what it has read.
    if (state === "dead" || (state === "unknown" && performance.now() - seen.at > silenceMs)) {
      if (discardGuarded(path, found.text, staleMs)) continue;
    } else if (performance.now() - startedAt >= timeoutMs) throw new LockTimeout(describe(found.text));
    if (!waiting) onWait?.(describe(found.text));
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
    // EPERM, EBUSY: Windows says so while the file is on its way out.
    if (["EEXIST", "EPERM", "EBUSY"].includes(codeOf(error)) && fs.existsSync(path)) return false;
    if (codeOf(error) === "EEXIST") return false;
    throw error;
  }
}

/** @param {string} path @param {string} text @param {number} staleMs */
function hold(path, text, staleMs) {
  const heartbeat = setInterval(() => {
    const now = new Date();
    fs.utimes(path, now, now, () => {});
  }, staleMs / 6).unref();
  const release = () => {
    clearInterval(heartbeat);
    process.removeListener("exit", release);
    if (look(path)?.text === text) fs.rmSync(path, { force: true });
  };
  process.once("exit", release);
  return release;
}

/** @param {string} path */
function look(path) {
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
function stateOf(text) {
  const holder = parse(text);
  if (holder === undefined || holder.host !== hostname()) return "unknown";
  // Containers may share a host name and a directory, and number their processes each for itself.
  if (holder.machine !== undefined && holder.machine !== machine()) return "unknown";
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    if (codeOf(error) === "ESRCH") return "dead";
  }
  const start = startOf(holder.pid);
  if (holder.start === undefined || start === undefined) return "unknown";
  // Another process has been given the same number since.
  return holder.start === start ? "alive" : "dead";
}

function thisProcess() {
  return { pid: process.pid, host: hostname(), machine: machine(), start: startOf(process.pid) };
}

/** Where process numbers mean the same: the machine since its boot, and on Linux the container. */
function machine() {
  return [
    quietly(() => fs.readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()),
    quietly(() => fs.readlinkSync("/proc/self/ns/pid")),
  ].join(" ");
}

/**
 * @param {number} pid
 * @returns {string | undefined} when a process began; undefined where this can't be seen
 */
function startOf(pid) {
  // The name, in parentheses, may hold anything; the start is the 20th field after it.
  return quietly(() => fs.readFileSync(`/proc/${pid}/stat`, "utf8"))
    ?.split(") ")
    .at(-1)
    ?.split(" ")[19];
}

/**
 * @template T
 * @param {() => T} read
 */
function quietly(read) {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/**
 * Removes the lock of a dead holder, one waiter at a time: else a slow waiter could remove the lock that another waiter
 * took meanwhile.
 *
 * @param {string} path
 * @param {string} text
 * @param {number} staleMs after which a waiter that was killed meanwhile keeps nobody from it
 * @returns {boolean} false while another waiter is at it
 */
function discardGuarded(path, text, staleMs) {
  const guard = `${path}.guard`;
  if (!create(guard, JSON.stringify(thisProcess()))) {
    const other = look(guard);
    if (other === undefined) return false;
    const isOld = Date.now() - other.mtimeMs > staleMs;
    if (isOld || stateOf(other.text) === "dead") discard(guard, other.text);
    return false;
  }
  try {
    if (look(path)?.text === text) fs.rmSync(path, { force: true });
  } finally {
    fs.rmSync(guard, { force: true });
  }
  return true;
}

/**
 * Removes the lock of a dead holder. Moved away first, since a rename has one winner: when what was moved turns out
 * to be a lock that another waiter took meanwhile, it is put back.
 *
 * @param {string} path
 * @param {string} text
 */
function discard(path, text) {
  const aside = `${path}.${randomUUID()}`;
  try {
    fs.renameSync(path, aside);
    if (fs.readFileSync(aside, "utf8") !== text) fs.linkSync(aside, path);
  } catch (error) {
    if (!["ENOENT", "EEXIST", "EPERM", "EBUSY"].includes(codeOf(error))) throw error;
  } finally {
    fs.rmSync(aside, { force: true });
  }
}

/** @param {string} text */
function describe(text) {
  const holder = parse(text);
  if (holder === undefined) return "another process";
  return `process ${holder.pid}${holder.host === hostname() ? "" : ` on ${holder.host}`}`;
}

/**
 * @param {string} text
 * @returns {{ pid: number, host: string, machine?: string, start?: string } | undefined} undefined when its holder is just writing it
 */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** @param {unknown} error */
function codeOf(error) {
  return /** @type {NodeJS.ErrnoException} */ (error).code ?? "";
}

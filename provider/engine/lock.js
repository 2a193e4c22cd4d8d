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
 */

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

/**
 * @param {string} path
 * @param {LockOptions} options
 * @returns {Promise<() => void>} releases the lock
 */
async function acquire(path, { onWait, pollMs = 200, staleMs = 60_000 }) {
  const mine = JSON.stringify({ pid: process.pid, host: hostname(), id: randomUUID() });
  let seen = { text: "", mtimeMs: 0, at: 0 };
  for (let waiting = false; ; ) {
    if (create(path, mine)) return hold(path, mine, staleMs);
    const found = look(path) ?? { text: "", mtimeMs: 0 };
    const moved = found.text !== seen.text || found.mtimeMs !== seen.mtimeMs;
    // The time is measured by this process's own clock: two machines' clocks may differ.
    if (moved) seen = { ...found, at: performance.now() };
    if (isDead(found.text) || performance.now() - seen.at > staleMs) {
      discard(path, found.text);
      continue;
    }
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

/** @param {string} text */
function isDead(text) {
  const holder = parse(text);
  if (holder === undefined || holder.host !== hostname()) return false;
  try {
    process.kill(holder.pid, 0);
    return false;
  } catch (error) {
    return codeOf(error) === "ESRCH";
  }
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
 * @returns {{ pid: number, host: string } | undefined} undefined when its holder is just writing it
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

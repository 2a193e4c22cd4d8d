"use strict";

/**
 * Stores the data of the pages. Scripts and data files are classic scripts that share this one global name, because a browser
 * loads no modules from `file:` pages.
 *
 * @typedef {{ number: number, list: string, value: string, type: string, scope: string, unicode: string, comment: string,
 *   ticket: string, owner: string, expires: string, place: string }} Entry
 * @typedef {{ fields: string[], facts: [field: string, label: string][] }} EntryFormat
 * @typedef {[entry: number, kind: string, createdBy: string, createdAt: string]} Deviation
 * @typedef {[entry: number, evidence: string]} Mail
 * @typedef {{ name: string, page: string, syncStatus: string, ranges: [number, number][], deviations: Deviation[], mail?: Mail[] }} Tenant
 * @typedef {EntryFormat & { tenants: Tenant[], chunks: string[] }} Fleet
 */
const fleetSite = (() => {
  /** @type {Entry[]} */
  const entries = [];
  /** @type {Fleet | undefined} */
  let fleet;
  /** @type {string[]} */
  let fields = [];
  /** @type {EntryFormat["facts"]} */
  let facts = [];
  /** @type {Map<string, Promise<void>>} */
  const loadsByFile = new Map();
  /** Entries that were loaded before their format. @type {[number, string[][]][]} */
  const pendingEntries = [];

  /** @param {EntryFormat} format */
  const setEntryFormat = (format) => {
    ({ fields, facts } = format);
    for (const [first, rows] of pendingEntries.splice(0)) takeEntries(first, rows);
  };

  /** @param {number} first @param {string[][]} rows */
  const takeEntries = (first, rows) => {
    if (fields.length === 0) {
      pendingEntries.push([first, rows]);
      return;
    }
    for (const [index, row] of rows.entries()) {
      const values = Object.fromEntries(fields.map((field, at) => [field, row[at] ?? ""]));
      entries[first + index] = /** @type {Entry} */ (/** @type {unknown} */ ({ ...values, number: first + index }));
    }
  };

  /** @param {string} file @returns {Promise<void>} */
  const load = (file) => {
    const pending = loadsByFile.get(file);
    if (pending !== undefined) return pending;
    const loading = /** @type {Promise<void>} */ (
      new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = file;
        script.addEventListener("load", () => resolve());
        script.addEventListener("error", () => reject(new Error(`${file} can't be loaded`)));
        document.head.append(script);
      })
    );
    loadsByFile.set(file, loading);
    return loading;
  };

  /**
   * Loads the entries of all tenants, each file once.
   *
   * @param {string} file the index of the fleet
   * @param {(done: number, total: number) => void} onProgress
   */
  const loadAll = async (file, onProgress) => {
    await load(file);
    const { chunks = [] } = fleet ?? {};
    const directory = file.slice(0, file.lastIndexOf("/") + 1);
    let done = 0;
    const pendingChunks = chunks.values();
    const worker = async () => {
      for (const chunk of pendingChunks) {
        await load(directory + chunk);
        done += 1;
        onProgress(done, chunks.length);
      }
    };
    await Promise.all([worker(), worker(), worker(), worker()]);
  };

  return {
    entries,
    setEntryFormat,
    loadAll,
    // The generated data files call these two.
    takeEntries,
    /** @param {Fleet} data */
    takeFleet: (data) => {
      fleet = data;
      setEntryFormat(data);
    },
    fleet: () => fleet,
    facts: () => facts,
  };
})();

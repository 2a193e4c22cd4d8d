"use strict";

/**
 * What the pages know. They are classic scripts, and their data are too: a page from a file can load no other. All parts share
 * this one name.
 *
 * @typedef {{ number: number, list: string, value: string, type: string, scope: string, unicode: string, comment: string,
 *   ticket: string, owner: string, expires: string, place: string }} Entry
 * @typedef {{ fields: string[], facts: [field: string, label: string][] }} Known
 * @typedef {[entry: number, what: string, by: string, at: string]} Unlike
 * @typedef {[entry: number, told: string]} Mail
 * @typedef {{ name: string, page: string, syncStatus: string, ranges: [number, number][], unlike: Unlike[], mail?: Mail[] }} Tenant
 * @typedef {Known & { tenants: Tenant[], chunks: string[] }} Fleet
 */
const fleetSite = (() => {
  /** @type {Entry[]} */
  const entries = [];
  /** @type {Fleet | undefined} */
  let fleet;
  /** @type {string[]} */
  let fields = [];
  /** @type {Known["facts"]} */
  let facts = [];
  /** @type {Map<string, Promise<void>>} */
  const loaded = new Map();
  /** @type {[number, string[][]][]} */
  const early = [];

  /** @param {Known} known */
  const know = (known) => {
    ({ fields, facts } = known);
    for (const [first, rows] of early.splice(0)) takeEntries(first, rows);
  };

  /** @param {number} first @param {string[][]} rows */
  const takeEntries = (first, rows) => {
    if (fields.length === 0) {
      early.push([first, rows]);
      return;
    }
    for (const [index, row] of rows.entries()) {
      const told = Object.fromEntries(fields.map((field, at) => [field, row[at] ?? ""]));
      entries[first + index] = /** @type {Entry} */ (/** @type {unknown} */ ({ ...told, number: first + index }));
    }
  };

  /** @param {string} file @returns {Promise<void>} */
  const load = (file) => {
    const known = loaded.get(file);
    if (known !== undefined) return known;
    const loading = /** @type {Promise<void>} */ (
      new Promise((done, fail) => {
        const script = document.createElement("script");
        script.src = file;
        script.addEventListener("load", () => done());
        script.addEventListener("error", () => fail(new Error(`${file} can't be loaded`)));
        document.head.append(script);
      })
    );
    loaded.set(file, loading);
    return loading;
  };

  /**
   * Loads what all tenants have, once.
   *
   * @param {string} file of what there is
   * @param {(done: number, all: number) => void} progress
   */
  const loadAll = async (file, progress) => {
    await load(file);
    const { chunks = [] } = fleet ?? {};
    const folder = file.slice(0, file.lastIndexOf("/") + 1);
    let done = 0;
    const waiting = chunks.values();
    const worker = async () => {
      for (const chunk of waiting) {
        await load(folder + chunk);
        done += 1;
        progress(done, chunks.length);
      }
    };
    await Promise.all([worker(), worker(), worker(), worker()]);
  };

  return {
    entries,
    know,
    loadAll,
    /** What the files of data call. */
    takeEntries,
    /** @param {Fleet} told */
    takeFleet: (told) => {
      fleet = told;
      know(told);
    },
    fleet: () => fleet,
    facts: () => facts,
  };
})();

"use strict";

/** Finds entries: what a person types, in all values, comments, tickets and owners. Pure. */
const fleetSearch = (() => {
  /**
   * What is looked through: a line an entry.
   *
   * @param {readonly Entry[]} entries
   */
  const indexOf = (entries) => {
    /** @type {Map<string, number[]>} */
    const byValue = new Map();
    const starts = new Uint32Array(entries.length);
    /** @type {string[]} */
    const lines = [];
    let at = 0;
    for (const [number, entry] of entries.entries()) {
      const { value, unicode, comment, ticket, owner } = entry;
      const line = [value, unicode, comment, ticket, owner].join("\u0001").toLowerCase();
      starts[number] = at;
      at += line.length + 1;
      lines.push(line);
      const known = byValue.get(value);
      if (known === undefined) byValue.set(value, [number]);
      else known.push(number);
    }
    return { entries, byValue, starts, text: lines.join("\n") };
  };

  /**
   * What a person means: values are passed on as `hxxps://evil[.]example/path`, `hxxps[:]//…`, `<user@evil.example>`.
   *
   * @param {string} typed
   */
  const normal = (typed) => {
    const text = typed
      .normalize("NFC")
      .replace(/\p{Cf}/gu, "")
      .toLowerCase()
      .replace(/[[({]\s*(?:\.|dot)\s*[\])}]/g, ".")
      .replace(/[[({]\s*(?:@|at)\s*[\])}]/g, "@")
      .replace(/[[({]\s*(:(?:\/\/)?)\s*[\])}]/g, "$1")
      .replace(/^.*<([^<>\s]+@[^<>\s]+)>/, "$1")
      .replace(/^[\s"'<]+|[\s"'>,;]+$/g, "")
      .replace(/^mailto:/, "");
    const [, host] = /^(?:[a-z]+:\/\/)([^/?#\s]+)/.exec(text) ?? [];
    const meant = host === undefined ? text : host.replace(/^.*@/, "").replace(/:\d+$/, "");
    return meant.replace(/(?<=\w)\.$/, "");
  };

  /** The form in which values stand in lists: of `mail.münchen.example/path` its ASCII host. @param {string} wanted */
  const listedForm = (wanted) => {
    const at = wanted.lastIndexOf("@");
    const [, host = wanted.slice(at + 1)] =
      (at < 0 ? /^([^\s:/?#]+\.[^\s:/?#]+)(?::\d+)?(?:[/?#]|$)/.exec(wanted) : null) ?? [];
    if (/^[a-z0-9._-]*$/.test(host) || /[\s/?#@\\]/.test(host)) return wanted.slice(0, at + 1) + host;
    const bare = host.replace(/^\[|\]$/g, "");
    const address = `http://${bare.includes(":") ? `[${bare}]` : bare}`;
    return (
      wanted.slice(0, at + 1) +
      (URL.canParse(address) ? new URL(address).hostname.replace(/^\[|\]$/g, "") : host)
    );
  };

  /** The domains above a value, the nearest first; of a mailbox its own too. @param {string} value */
  const above = (value) => {
    const at = value.lastIndexOf("@");
    const labels = value.slice(at + 1).split(".");
    if (labels.some((label) => !/^[\p{L}\p{N}_-]+$/u.test(label)) || /^\d+$/.test(labels.at(-1) ?? ""))
      return [];
    return labels.map((_, index) => labels.slice(index).join(".")).slice(at < 0 ? 1 : 0);
  };

  /**
   * @param {ReturnType<typeof indexOf>} index
   * @param {string} typed
   * @param {{ list?: string, most?: number }} [options] `list`: only of it; `most`: so many are found, and no more looked for
   */
  const search = ({ entries, byValue, starts, text }, typed, { list = "", most = 100 } = {}) => {
    const wanted = normal(typed);
    const value = listedForm(wanted);
    /** @type {Set<number>} */
    const found = new Set();
    /** How many places were looked at. */
    let looked = 0;
    let isMore = false;
    /** @param {string} value */
    const ofValue = (value) => {
      looked += 1;
      const some = (byValue.get(value) ?? []).filter(
        (number) => !found.has(number) && (list === "" || entries[number]?.list === list),
      );
      for (const number of some) found.add(number);
      return some;
    };
    const exact = wanted === "" ? [] : ofValue(value);
    const covering = wanted === "" ? [] : above(value).flatMap((domain) => ofValue(domain));
    /** @type {number[]} */
    const containing = [];
    let at = wanted === "" ? -1 : text.indexOf(wanted);
    while (at >= 0) {
      looked += 1;
      const number = lineAt(starts, at);
      if (!found.has(number) && (list === "" || entries[number]?.list === list)) {
        if (containing.length === most) {
          isMore = true;
          break;
        }
        containing.push(number);
      }
      // One find a line is enough.
      const next = starts[number + 1];
      at = next === undefined ? -1 : text.indexOf(wanted, next);
    }
    return { wanted, exact, covering, containing, isMore, looked };
  };

  /** The last line that begins at or before a place. @param {Uint32Array} starts @param {number} at */
  const lineAt = (starts, at) => {
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= at) low = middle;
      else high = middle - 1;
    }
    return low;
  };

  return { indexOf, normal, above, search };
})();

"use strict";

/** Searches entries by value, comment, ticket and owner. Pure. */
const fleetSearch = (() => {
  /**
   * Builds the index of a search. Its text has one line for each entry.
   *
   * @param {readonly Entry[]} entries
   */
  const indexOf = (entries) => {
    /** @type {Map<string, number[]>} */
    const byValue = new Map();
    /** @type {{ number: number, first: bigint, last: bigint, bits: number }[]} */
    const ranges = [];
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
      const range = parseRange(value);
      if (range !== undefined) ranges.push({ number, ...range });
      const numbers = byValue.get(value);
      if (numbers === undefined) byValue.set(value, [number]);
      else numbers.push(number);
    }
    return { entries, byValue, ranges, starts, text: lines.join("\n") };
  };

  /**
   * Normalizes a search term. People paste values in forms such as `hxxps://evil[.]example/path`, `hxxps[:]//…`, `<user@evil.example>`.
   *
   * @param {string} typed
   */
  const normalize = (typed) => {
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
    const target = host === undefined ? text : host.replace(/^.*@/, "").replace(/:\d+$/, "");
    // A prefix of one address is that address.
    const single = /^([\d.]+)\/(?:32|255\.255\.255\.255)$|^([\da-f:.]*:[\da-f:.]*)\/128$/.exec(target);
    return (single?.[1] ?? single?.[2] ?? target).replace(/(?<=\w)\.$/, "");
  };

  /** Converts a search term to the form of listed values: the ASCII host for `mail.münchen.example/path`. @param {string} query */
  const toListedForm = (query) => {
    const at = query.lastIndexOf("@");
    const [, host = query.slice(at + 1)] =
      (at < 0 ? /^([^\s:/?#]+\.[^\s:/?#]+)(?::\d+)?(?:[/?#]|$)/.exec(query) : null) ?? [];
    if (/^[a-z0-9._-]*$/.test(host) || /[\s/?#@\\]/.test(host)) return query.slice(0, at + 1) + host;
    const bare = host.replace(/^\[|\]$/g, "");
    const address = `http://${bare.includes(":") ? `[${bare}]` : bare}`;
    const listed = URL.canParse(address) ? new URL(address).hostname.replace(/^\[|\]$/g, "") : host;
    return query.slice(0, at + 1) + unmapAddress(listed);
  };

  /** Converts an IPv4-mapped address to IPv4, the form of listed values. Other hosts stay the same. @param {string} host */
  const unmapAddress = (host) => {
    const [, high, low] = /^::ffff:([\da-f]{1,4}):([\da-f]{1,4})$/.exec(host) ?? [];
    if (high === undefined || low === undefined) return host;
    return [high, low].flatMap((group) => [Number(`0x${group}`) >> 8, Number(`0x${group}`) & 255]).join(".");
  };

  /** Parses an IP address, an IPv4-mapped one as IPv4; undefined for other text. @param {string} text */
  const parseAddress = (text) => {
    const v4 = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text);
    if (v4 !== null) return { bits: 32, value: v4.slice(1).reduce((sum, one) => sum * 256n + BigInt(one), 0n) };
    if (!/^[0-9a-f:]+$/.test(text) || !/:.*:/.test(text)) return undefined;
    const [left = [], right] = text.split("::").map((half) => half.split(":").filter((one) => one !== ""));
    const zeros = right === undefined ? [] : new Array(Math.max(0, 8 - left.length - right.length)).fill("0");
    const value = [...left, ...zeros, ...(right ?? [])].reduce((sum, one) => sum * 65536n + BigInt(`0x${one}`), 0n);
    return value >> 32n === 0xffffn ? { bits: 32, value: value & 0xffffffffn } : { bits: 128, value };
  };

  /** Parses a range as listed: `203.0.113.0/24` or `192.0.2.1-192.0.2.9`. @param {string} text */
  const parseRange = (text) => {
    const [, from = "", sign, to = ""] = /^([0-9a-f.:]+)([/-])([0-9a-f.:]+)$/.exec(text) ?? [];
    const [first, last] = [parseAddress(from), sign === "-" ? parseAddress(to) : undefined];
    if (first === undefined) return undefined;
    if (sign === "-") return last && { bits: first.bits, first: first.value, last: last.value };
    const size = 1n << BigInt(Math.max(0, first.bits - Number(to)));
    return { bits: first.bits, first: first.value, last: first.value + size - 1n };
  };

  /** Lists the domains and wildcards that cover a value, the nearest first. For a mailbox, its own domain is one. @param {string} value */
  const listCoveringDomains = (value) => {
    const at = value.lastIndexOf("@");
    const labels = value.slice(at + 1).split(".");
    if (labels.some((label) => !/^[\p{L}\p{N}_-]+$/u.test(label)) || /^\d+$/.test(labels.at(-1) ?? "")) return [];
    const domains = labels.map((_, index) => labels.slice(index).join("."));
    const [own = "", ...parents] = domains;
    const isMailbox = at >= 0;
    return [
      ...(isMailbox ? [`*@${own}`, own] : []),
      ...parents.flatMap((parent) => [...(isMailbox ? [`*@*.${parent}`] : []), `*.${parent}`, parent]),
      ...(isMailbox ? ["*@*"] : []),
      "*",
    ];
  };

  /**
   * @param {ReturnType<typeof indexOf>} index
   * @param {string} typed
   * @param {{ list?: string, most?: number }} [options] `list`: search only this list; `most`: the maximum number of other matches
   */
  const search = ({ entries, byValue, ranges, starts, text }, typed, { list = "", most = 100 } = {}) => {
    const query = normalize(typed);
    const value = toListedForm(query);
    /** @type {Set<number>} */
    const matchedNumbers = new Set();
    /** The number of lookups and matches, a measure of the search's cost. */
    let lookupCount = 0;
    let isMore = false;
    /** @param {string} value */
    const findByValue = (value) => {
      lookupCount += 1;
      const matches = (byValue.get(value) ?? []).filter(
        (number) => !matchedNumbers.has(number) && (list === "" || entries[number]?.list === list),
      );
      for (const number of matches) matchedNumbers.add(number);
      return matches;
    };
    const exact = query === "" ? [] : findByValue(value);
    const address = parseAddress(value);
    const coveringRanges = ranges.filter(
      ({ bits, first, last }) => bits === address?.bits && first <= address.value && address.value <= last,
    );
    const covering =
      query === ""
        ? []
        : [
            ...listCoveringDomains(value),
            ...coveringRanges.flatMap(({ number }) => entries[number]?.value ?? []),
          ].flatMap((covers) => findByValue(covers));
    /** @type {number[]} */
    const containing = [];
    let at = query === "" ? -1 : text.indexOf(query);
    while (at >= 0) {
      lookupCount += 1;
      const number = findLine(starts, at);
      if (!matchedNumbers.has(number) && (list === "" || entries[number]?.list === list)) {
        if (containing.length === most) {
          isMore = true;
          break;
        }
        containing.push(number);
      }
      // Skip further matches in the same line.
      const next = starts[number + 1];
      at = next === undefined ? -1 : text.indexOf(query, next);
    }
    return { wanted: query, exact, covering, containing, isMore, lookupCount };
  };

  /** Finds the line that contains an offset. @param {Uint32Array} starts @param {number} at */
  const findLine = (starts, at) => {
    let [low, high] = [0, starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= at) low = middle;
      else high = middle - 1;
    }
    return low;
  };

  return { indexOf, normalize, listCoveringValues: listCoveringDomains, search };
})();

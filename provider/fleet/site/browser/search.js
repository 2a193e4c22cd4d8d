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
      const range = rangeOf(value);
      if (range !== undefined) ranges.push({ number, ...range });
      const known = byValue.get(value);
      if (known === undefined) byValue.set(value, [number]);
      else known.push(number);
    }
    return { entries, byValue, ranges, starts, text: lines.join("\n") };
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
    // A prefix of one address is that address.
    const single = /^([\d.]+)\/(?:32|255\.255\.255\.255)$|^([\da-f:.]*:[\da-f:.]*)\/128$/.exec(meant);
    return (single?.[1] ?? single?.[2] ?? meant).replace(/(?<=\w)\.$/, "");
  };

  /** The form in which values stand in lists: of `mail.münchen.example/path` its ASCII host. @param {string} wanted */
  const listedForm = (wanted) => {
    const at = wanted.lastIndexOf("@");
    const [, host = wanted.slice(at + 1)] =
      (at < 0 ? /^([^\s:/?#]+\.[^\s:/?#]+)(?::\d+)?(?:[/?#]|$)/.exec(wanted) : null) ?? [];
    if (/^[a-z0-9._-]*$/.test(host) || /[\s/?#@\\]/.test(host)) return wanted.slice(0, at + 1) + host;
    const bare = host.replace(/^\[|\]$/g, "");
    const address = `http://${bare.includes(":") ? `[${bare}]` : bare}`;
    const listed = URL.canParse(address) ? new URL(address).hostname.replace(/^\[|\]$/g, "") : host;
    return wanted.slice(0, at + 1) + unmapped(listed);
  };

  /** The IPv4 address of an IPv4-mapped one, as values stand in lists; all else as it is. @param {string} host */
  const unmapped = (host) => {
    const [, high, low] = /^::ffff:([\da-f]{1,4}):([\da-f]{1,4})$/.exec(host) ?? [];
    if (high === undefined || low === undefined) return host;
    return [high, low].flatMap((group) => [Number(`0x${group}`) >> 8, Number(`0x${group}`) & 255]).join(".");
  };

  /** An address as a number, an IPv4-mapped one as the IPv4 address; undefined for all else. @param {string} text */
  const addressOf = (text) => {
    const v4 = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text);
    if (v4 !== null) return { bits: 32, value: v4.slice(1).reduce((sum, one) => sum * 256n + BigInt(one), 0n) };
    if (!/^[0-9a-f:]+$/.test(text) || !/:.*:/.test(text)) return undefined;
    const [left = [], right] = text.split("::").map((half) => half.split(":").filter((one) => one !== ""));
    const zeros = right === undefined ? [] : new Array(Math.max(0, 8 - left.length - right.length)).fill("0");
    const value = [...left, ...zeros, ...(right ?? [])].reduce((sum, one) => sum * 65536n + BigInt(`0x${one}`), 0n);
    return value >> 32n === 0xffffn ? { bits: 32, value: value & 0xffffffffn } : { bits: 128, value };
  };

  /** `203.0.113.0/24`, `192.0.2.1-192.0.2.9`, as values stand in lists. @param {string} text */
  const rangeOf = (text) => {
    const [, from = "", sign, to = ""] = /^([0-9a-f.:]+)([/-])([0-9a-f.:]+)$/.exec(text) ?? [];
    const [first, last] = [addressOf(from), sign === "-" ? addressOf(to) : undefined];
    if (first === undefined) return undefined;
    if (sign === "-") return last && { bits: first.bits, first: first.value, last: last.value };
    const size = 1n << BigInt(Math.max(0, first.bits - Number(to)));
    return { bits: first.bits, first: first.value, last: first.value + size - 1n };
  };

  /** The domains and wildcards above a value, the nearest first; of a mailbox its own too. @param {string} value */
  const above = (value) => {
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
   * @param {{ list?: string, most?: number }} [options] `list`: only of it; `most`: so many are found, and no more looked for
   */
  const search = ({ entries, byValue, ranges, starts, text }, typed, { list = "", most = 100 } = {}) => {
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
    const address = addressOf(value);
    const including = ranges.filter(
      ({ bits, first, last }) => bits === address?.bits && first <= address.value && address.value <= last,
    );
    const covering =
      wanted === ""
        ? []
        : [...above(value), ...including.flatMap(({ number }) => entries[number]?.value ?? [])].flatMap((covers) =>
            ofValue(covers),
          );
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

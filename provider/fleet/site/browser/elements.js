"use strict";

/** What pages tell of entries, as elements. Nothing from outside is ever markup: it is set as text. */
const fleetTold = (() => {
  const LISTS = /** @type {Record<string, string>} */ ({ allow: "allow", deny: "deny", vip: "VIP" });
  const WHATS = /** @type {Record<string, string>} */ ({
    undeclared: "unmanaged",
    ignored: "unmanaged, and ignored by its files",
    "pending-removal": "to be removed by the next rollout",
    changed: "changed outside its files",
    missing: "missing at the tenant",
    "to-change": "to be changed by the next rollout",
    "to-add": "to be added by the next rollout",
  });
  const UNREAD = new Set(["wrong-key", "unreachable", "unusable"]);

  /**
   * @param {string} tag
   * @param {Record<string, string>} attributes
   * @param {(Node | string)[]} children
   */
  const el = (tag, attributes, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };

  /** @param {string} text */
  const bdi = (text) => el("bdi", {}, text);

  /** @param {string} list */
  const badge = (list) => {
    const name = Object.hasOwn(LISTS, list) ? list : "other";
    return el("span", { class: `badge l-${name}` }, LISTS[name] ?? list);
  };

  /** @param {Entry} entry @param {string} root */
  const valueLink = ({ value, unicode, type, scope }, root) => {
    const link = el("a", { class: "value", href: `${root}entry.html#${encodeURIComponent(value)}` }, bdi(value));
    const kind = [
      type === "" || type === "domain" ? "" : type === "ip" ? "IP address" : type.replaceAll("_", " "),
      scope,
    ].filter((one) => one !== "");
    return [
      link,
      ...(unicode === "" ? [] : [" ", el("span", { class: "script" }, "(", bdi(unicode), ")")]),
      ...(kind.length === 0 ? [] : [" ", el("span", { class: "kind" }, kind.join(", "))]),
    ];
  };

  /** What the files say beside it. @param {Entry} entry */
  const factsOf = (entry) => {
    const told = /** @type {Record<string, string>} */ (/** @type {unknown} */ (entry));
    const facts = fleetSite.facts().filter(([field]) => told[field]);
    return facts.flatMap(([field, label], index) => [
      ...(index === 0 ? [] : [" · "]),
      ...(label === "" ? [] : [`${label} `]),
      bdi(told[field] ?? ""),
    ]);
  };

  /** Whether a number is in ranges. @param {[number, number][]} ranges @param {number} number */
  const isIn = (ranges, number) => {
    let [low, high] = [0, ranges.length - 1];
    while (low <= high) {
      const middle = (low + high) >> 1;
      const [first, last] = ranges[middle] ?? [0, -1];
      if (number < first) high = middle - 1;
      else if (number > last) low = middle + 1;
      else return true;
    }
    return false;
  };

  /** @type {WeakMap<Tenant, Map<number, Unlike>>} */
  const unlikes = new WeakMap();

  /** How a tenant holds an entry otherwise: a look into a map, for a tenant may have thousands. @param {Tenant} tenant @param {number} number */
  const unlikeOf = (tenant, number) => {
    let known = unlikes.get(tenant);
    if (known === undefined) {
      known = new Map(tenant.unlike.map((one) => [one[0], one]));
      unlikes.set(tenant, known);
    }
    return known.get(number);
  };

  /** What a tenant's mail says of an entry; empty where there is none, or none was read. @param {Tenant} tenant @param {number} number */
  const mailOf = ({ mail = [] }, number) => mail.find(([entry]) => entry === number)?.[1] ?? "";

  /**
   * Who has an entry, and how: first who holds it otherwise than declared.
   *
   * @param {number} number
   * @param {Fleet} fleet
   */
  const holdersOf = (number, { tenants }) => {
    /** @type {{ tenant: Tenant, what: string, by: string, at: string, mail: string }[]} */
    const holders = [];
    for (const tenant of tenants) {
      const unlike = unlikeOf(tenant, number);
      if (unlike !== undefined) {
        const [, what, by, at] = unlike;
        holders.push({ tenant, what: WHATS[what] ?? what, by, at, mail: mailOf(tenant, number) });
      } else if (isIn(tenant.ranges, number)) {
        const what = UNREAD.has(tenant.syncStatus) ? "declared; the tenant could not be read" : "";
        holders.push({ tenant, what, by: "", at: "", mail: mailOf(tenant, number) });
      }
    }
    return holders;
  };

  /** @param {Tenant} tenant @param {string} root */
  const tenantLink = ({ name, page }, root) => el("a", { href: `${root}${page}` }, bdi(name));

  /** What is found, with the tenants that have it. @param {Entry} entry @param {Fleet} fleet */
  const hit = (entry, fleet) => {
    const holders = holdersOf(entry.number, fleet);
    const lines = [...Map.groupBy(holders, ({ what }) => what)].map(([what, some]) => {
      const named = some
        .slice(0, 8)
        .flatMap(({ tenant }, index) => [...(index === 0 ? [] : [", "]), tenantLink(tenant, "")]);
      const more = some.length > 8 ? ` and ${some.length - 8} more` : "";
      const many = `${some.length.toLocaleString("en-US")} ${some.length === 1 ? "tenant" : "tenants"}`;
      const said = what === "" ? `in ${many}: ` : `${what}, ${many}: `;
      return el("p", { class: what === "" || what === WHATS["ignored"] ? "who" : "who odd" }, said, ...named, more);
    });
    const facts = factsOf(entry);
    const { expires, place } = entry;
    const where = [
      ...(expires === "" ? [] : [expires === "never" ? "never expires" : `until ${expires}`]),
      ...(place === "" ? ["not in any file"] : [place]),
    ].join(" · ");
    return el(
      "li",
      { class: "hit" },
      el("p", { class: "head" }, badge(entry.list), " ", ...valueLink(entry, "")),
      ...(facts.length === 0 ? [] : [el("p", { class: "facts" }, ...facts)]),
      el("p", { class: "facts" }, bdi(where)),
      ...lines,
    );
  };

  return { el, bdi, badge, valueLink, factsOf, holdersOf, tenantLink, hit, UNREAD, WHATS };
})();

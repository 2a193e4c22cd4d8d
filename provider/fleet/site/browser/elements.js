"use strict";

/** Builds the elements that show entries. Data is only ever set as text, so that it can't become markup. */
const fleetElements = (() => {
  const LISTS = /** @type {Record<string, string>} */ ({ allow: "allow", deny: "deny", vip: "VIP" });
  const DEVIATION_LABELS = /** @type {Record<string, string>} */ ({
    undeclared: "unmanaged",
    ignored: "unmanaged, and ignored by its files",
    "pending-removal": "to be removed by the next rollout",
    changed: "changed outside its files",
    missing: "missing at the tenant",
    "to-change": "to be changed by the next rollout",
    "to-add": "to be added by the next rollout",
  });
  const UNREAD_STATUSES = new Set(["wrong-key", "unreachable", "unusable"]);

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
  const buildBadge = (list) => {
    const name = Object.hasOwn(LISTS, list) ? list : "other";
    return el("span", { class: `badge l-${name}` }, LISTS[name] ?? list);
  };

  /** @param {Entry} entry @param {string} root */
  const buildValueLink = ({ value, unicode, type, scope }, root) => {
    const link = el("a", { class: "value", href: `${root}entry.html#${encodeURIComponent(value)}` }, bdi(value));
    const kind = [
      type === "" || type === "domain" ? "" : type === "ip" ? "IP address" : type.replaceAll("_", " "),
      scope,
    ].filter((text) => text !== "");
    return [
      link,
      ...(unicode === "" ? [] : [" ", el("span", { class: "script" }, "(", bdi(unicode), ")")]),
      ...(kind.length === 0 ? [] : [" ", el("span", { class: "kind" }, kind.join(", "))]),
    ];
  };

  /** Builds the metadata that the files declare for an entry. @param {Entry} entry */
  const buildFacts = (entry) => {
    const fields = /** @type {Record<string, string>} */ (/** @type {unknown} */ (entry));
    const facts = fleetSite.facts().filter(([field]) => fields[field]);
    return facts.flatMap(([field, label], index) => [
      ...(index === 0 ? [] : [" · "]),
      ...(label === "" ? [] : [`${label} `]),
      bdi(fields[field] ?? ""),
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

  /** A tenant may have thousands of deviations, so they are indexed by entry. @type {WeakMap<Tenant, Map<number, Deviation>>} */
  const deviationsByTenant = new WeakMap();

  /** @param {Tenant} tenant @param {number} number */
  const getDeviation = (tenant, number) => {
    let deviations = deviationsByTenant.get(tenant);
    if (deviations === undefined) {
      deviations = new Map(tenant.deviations.map((deviation) => [deviation[0], deviation]));
      deviationsByTenant.set(tenant, deviations);
    }
    return deviations.get(number);
  };

  /** Returns the evidence for an entry in a tenant's mail; empty without evidence, or if no mail was read. @param {Tenant} tenant @param {number} number */
  const getMailEvidence = ({ mail = [] }, number) => mail.find(([entry]) => entry === number)?.[1] ?? "";

  /**
   * Lists the tenants that declare or hold an entry. The state is empty for a tenant that holds it as declared.
   *
   * @param {number} number
   * @param {Fleet} fleet
   */
  const listHolders = (number, { tenants }) => {
    /** @type {{ tenant: Tenant, state: string, createdBy: string, createdAt: string, mail: string }[]} */
    const holders = [];
    for (const tenant of tenants) {
      const deviation = getDeviation(tenant, number);
      const mail = getMailEvidence(tenant, number);
      if (deviation !== undefined) {
        const [, kind, createdBy, createdAt] = deviation;
        holders.push({ tenant, state: DEVIATION_LABELS[kind] ?? kind, createdBy, createdAt, mail });
      } else if (isIn(tenant.ranges, number)) {
        const state = UNREAD_STATUSES.has(tenant.syncStatus) ? "declared; the tenant could not be read" : "";
        holders.push({ tenant, state, createdBy: "", createdAt: "", mail });
      }
    }
    return holders;
  };

  /** @param {Tenant} tenant @param {string} root */
  const buildTenantLink = ({ name, page }, root) => el("a", { href: `${root}${page}` }, bdi(name));

  /** Builds a search result: an entry with its tenants. @param {Entry} entry @param {Fleet} fleet */
  const buildHit = (entry, fleet) => {
    const holders = listHolders(entry.number, fleet);
    const lines = [...Map.groupBy(holders, ({ state }) => state)].map(([state, group]) => {
      const names = group
        .slice(0, 8)
        .flatMap(({ tenant }, index) => [...(index === 0 ? [] : [", "]), buildTenantLink(tenant, "")]);
      const more = group.length > 8 ? ` and ${group.length - 8} more` : "";
      const count = `${group.length.toLocaleString("en-US")} ${group.length === 1 ? "tenant" : "tenants"}`;
      const label = state === "" ? `in ${count}: ` : `${state}, ${count}: `;
      const isExpected = state === "" || state === DEVIATION_LABELS["ignored"];
      return el("p", { class: isExpected ? "tenants" : "tenants differs" }, label, ...names, more);
    });
    const facts = buildFacts(entry);
    const { expires, place } = entry;
    const expiryAndLocation = [
      ...(expires === "" ? [] : [expires === "never" ? "never expires" : `until ${expires}`]),
      ...(place === "" ? ["not in any file"] : [place]),
    ].join(" · ");
    return el(
      "li",
      { class: "hit" },
      el("p", { class: "head" }, buildBadge(entry.list), " ", ...buildValueLink(entry, "")),
      ...(facts.length === 0 ? [] : [el("p", { class: "facts" }, ...facts)]),
      el("p", { class: "facts" }, bdi(expiryAndLocation)),
      ...lines,
    );
  };

  return {
    el,
    bdi,
    buildBadge,
    buildValueLink,
    buildFacts,
    listHolders,
    buildTenantLink,
    buildHit,
    UNREAD_STATUSES,
    DEVIATION_LABELS,
  };
})();

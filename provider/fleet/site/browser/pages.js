"use strict";

/** Starts the scripts of the page when it is loaded. */
document.addEventListener("DOMContentLoaded", () => {
  const {
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
  } = fleetElements;

  /** @param {string} id */
  const byId = (id) => document.getElementById(id);

  /** @param {string} id */
  const input = (id) => /** @type {HTMLInputElement} */ (byId(id));

  /** Returns the selected value of a group of radio buttons. @param {string} name */
  const getChoice = (name) => {
    const button = document.querySelector(`input[name="${name}"]:checked`);
    return button instanceof HTMLInputElement ? button.value : "";
  };

  /** @param {string} name @param {() => void} onChange */
  const onChoice = (name, onChange) => {
    for (const button of document.querySelectorAll(`input[name="${name}"]`))
      button.addEventListener("change", onChange);
  };

  /** @param {number} count @param {string} noun */
  const formatNounCount = (count, noun) =>
    `${count.toLocaleString("en-US")} ${count === 1 ? noun : noun.replace(/y$/, "ie").concat("s")}`;

  /** Returns the decoded text after `#` in the address; empty if it isn't valid. */
  const getFragment = () => {
    try {
      return decodeURIComponent(location.hash.slice(1));
    } catch {
      return "";
    }
  };

  /** Loads all entries, and shows the progress. @param {HTMLElement} status */
  const loadFleet = async (status) => {
    const file = document.body.dataset["fleet"] ?? "";
    try {
      await fleetSite.loadAll(file, (done, total) => {
        if (total > 4) status.textContent = `Reading the entries: ${done} of ${total} parts …`;
      });
      return fleetSite.fleet();
    } catch {
      status.textContent =
        "The site's data can't be loaded. The site may have been written again in the meantime: reload the page.";
      return undefined;
    }
  };

  const search = byId("search");
  if (search instanceof HTMLInputElement) startSearch(search);
  if (byId("tenant-filter") !== null) startTenants();
  if (byId("own") !== null) startTenant();
  if (byId("entry") !== null) startEntry();

  // As on GitHub, a slash moves the focus to the search field, from anywhere on the page.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target;
    if (target instanceof HTMLInputElement && target.type !== "radio") return;
    const field = document.querySelector("input[type=search]");
    if (!(field instanceof HTMLInputElement)) return;
    event.preventDefault();
    field.focus();
    field.select();
  });

  /** Describes the tenants whose entries are unknown: a search may miss matches there. @param {Fleet} fleet */
  const formatUnknownTenants = ({ tenants }) => {
    /** @param {(tenant: Tenant) => boolean} isIncluded */
    const formatNames = (isIncluded) => {
      const names = tenants.filter(isIncluded).map(({ name }) => name);
      const more = names.length > 5 ? ` and ${names.length - 5} more` : "";
      return names.length === 0 ? "" : `${names.slice(0, 5).join(", ")}${more}`;
    };
    /** @param {Tenant} tenant */
    const hasUnknownDeclarations = ({ syncStatus, ranges }) => syncStatus === "unusable" && ranges.length === 0;
    const unusable = formatNames(hasUnknownDeclarations);
    const unread = formatNames((tenant) => UNREAD_STATUSES.has(tenant.syncStatus) && !hasUnknownDeclarations(tenant));
    const reasons = [
      unusable && `the files of ${unusable} are invalid, so their declarations are unknown`,
      unread && `${unread} could not be read, so unmanaged entries there are unknown`,
    ].filter((reason) => reason !== "");
    return reasons.length === 0 ? "" : ` There may be more: ${reasons.join("; ")}.`;
  };

  /** @param {HTMLInputElement} field */
  function startSearch(field) {
    const status = /** @type {HTMLElement} */ (byId("search-status"));
    const results = /** @type {HTMLElement} */ (byId("results"));
    /** @type {ReturnType<typeof fleetSearch.indexOf> | undefined} */
    let index;
    /** @type {Promise<Fleet | undefined> | undefined} */
    let loading;
    const prepare = () => {
      loading ??= loadFleet(status).then((fleet) => {
        if (fleet !== undefined) index = fleetSearch.indexOf(fleetSite.entries);
        return fleet;
      });
      return loading;
    };
    const show = async () => {
      const typed = field.value;
      history.replaceState(null, "", typed.trim() === "" ? location.pathname : `#${encodeURIComponent(typed)}`);
      if (typed.trim() === "") {
        results.replaceChildren();
        status.textContent = "";
        return;
      }
      const fleet = await prepare();
      // The search term has changed meanwhile.
      if (fleet === undefined || index === undefined || field.value !== typed) return;
      const list = getChoice("list");
      const { exact, covering, containing, isMore } = fleetSearch.search(index, typed, { list });
      const groups = /** @type {const} */ ([
        ["The same value", exact],
        ["Domains, wildcards and ranges that cover it", covering],
        ["Other matches", containing],
      ]);
      const parts = groups.flatMap(([title, numbers]) => {
        if (numbers.length === 0) return [];
        const hits = numbers.flatMap((number) => {
          const entry = fleetSite.entries[number];
          return entry === undefined ? [] : [buildHit(entry, fleet)];
        });
        return [el("h2", {}, title), el("ul", { class: "hits" }, ...hits)];
      });
      results.replaceChildren(...parts);
      const count = exact.length + covering.length + containing.length;
      const isElsewhere =
        count === 0 &&
        list !== "" &&
        Object.values(fleetSearch.search(index, typed)).some((group) => Array.isArray(group) && group.length > 0);
      const noMatchMessage = isElsewhere
        ? "No match in the selected list; choose All to search every list."
        : "No match: no valid file declares it, and no tenant that could be read has it.";
      const message = count === 0 ? noMatchMessage : `${isMore ? "More than " : ""}${formatNounCount(count, "entry")}.`;
      status.textContent = message + formatUnknownTenants(fleet);
    };
    field.addEventListener("focus", () => void prepare(), { once: true });
    field.addEventListener("input", () => void show());
    onChoice("list", () => void show());
    addEventListener("hashchange", () => {
      field.value = getFragment();
      void show();
    });
    /** Moves the focus through the results with the arrow keys. @param {KeyboardEvent} event */
    const moveFocus = (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step === undefined) return;
      const links = [field, ...results.querySelectorAll("a.value")];
      const current = links.indexOf(/** @type {Element} */ (document.activeElement));
      const next = links[current + step];
      if (current < 0 || !(next instanceof HTMLElement)) return;
      event.preventDefault();
      next.focus();
    };
    field.addEventListener("keydown", moveFocus);
    results.addEventListener("keydown", moveFocus);
    field.form?.addEventListener("submit", (event) => event.preventDefault());
    if (location.hash.length > 1) {
      field.value = getFragment();
      void show();
    }
  }

  function startTenants() {
    const field = input("tenant-filter");
    const status = /** @type {HTMLElement} */ (byId("tenant-status"));
    const rows = [...document.querySelectorAll("tbody tr")].filter((row) => row instanceof HTMLElement);
    const texts = rows.map((row) => (row.textContent ?? "").toLowerCase());
    const show = () => {
      const [query, syncStatus] = [field.value.trim().toLowerCase(), getChoice("syncStatus")];
      let shownCount = 0;
      for (const [index, row] of rows.entries()) {
        const isShown =
          (syncStatus === "" || row.dataset["syncStatus"] === syncStatus) && (texts[index] ?? "").includes(query);
        row.hidden = !isShown;
        if (isShown) shownCount += 1;
      }
      status.textContent = `${formatNounCount(shownCount, "tenant")} of ${rows.length.toLocaleString("en-US")}.`;
    };
    field.addEventListener("input", show);
    onChoice("syncStatus", show);
    field.form?.addEventListener("submit", (event) => event.preventDefault());
    if (location.hash.length > 1) {
      const button = byId(`only-${getFragment()}`);
      if (button instanceof HTMLInputElement) button.checked = true;
    }
    show();
  }

  function startTenant() {
    const PAGE_SIZE = 500;
    const field = input("entry-filter");
    const status = /** @type {HTMLElement} */ (byId("entry-status"));
    const body = /** @type {HTMLElement} */ (byId("entries"));
    const more = /** @type {HTMLElement} */ (byId("more"));
    const own =
      /** @type {EntryFormat & { isRead: boolean, ranges: [number, number][], deviations: Deviation[], mail?: Mail[] }} */ (
        JSON.parse(byId("own")?.textContent ?? "{}")
      );
    fleetSite.setEntryFormat(own);
    const deviations = new Map(own.deviations.map((deviation) => [deviation[0], deviation]));
    const mail = own.mail && new Map(own.mail);
    const declared = own.ranges.flatMap(([first, last]) =>
      Array.from({ length: last - first + 1 }, (_, index) => first + index),
    );
    const declaredNumbers = new Set(declared);
    const undeclared = own.deviations.map(([number]) => number).filter((number) => !declaredNumbers.has(number));
    const numbers = [...new Set([...undeclared, ...declared])];
    const ownEntries = numbers.flatMap((number) => {
      const entry = fleetSite.entries[number];
      return entry === undefined ? [] : [{ entry, deviation: deviations.get(number) }];
    });
    const texts = ownEntries.map(({ entry }) => Object.values(entry).join("\n").toLowerCase());
    let maxRows = PAGE_SIZE;
    /** @param {(typeof ownEntries)[number]} ownEntry */
    const buildRow = ({ entry, deviation }) => {
      const [, kind = "", createdBy = "", createdAt = ""] = deviation ?? [];
      const unchangedLabel = own.isRead ? "unchanged" : "not read";
      const state = deviation === undefined ? unchangedLabel : (DEVIATION_LABELS[kind] ?? kind);
      const creation = [createdBy && `by ${createdBy}`, createdAt].filter((text) => text !== "");
      const facts = buildFacts(entry);
      /** An empty cell has no label: narrow windows show each label next to its content. @param {string} label @param {(Node | string)[]} parts */
      const buildCell = (label, ...parts) => el("td", parts.length === 0 ? {} : { "data-label": label }, ...parts);
      return el(
        "tr",
        {},
        buildCell("List", buildBadge(entry.list)),
        buildCell("Value", el("span", {}, ...buildValueLink(entry, "../"))),
        buildCell(
          "At the tenant",
          el(
            "span",
            deviation === undefined || kind === "ignored" ? {} : { class: "differs" },
            state,
            ...(creation.length === 0 ? [] : [", created ", bdi(creation.join(", "))]),
          ),
        ),
        ...(mail === undefined ? [] : [buildCell("Mail", ...buildEvidence(mail.get(entry.number)))]),
        buildCell("Why", ...(facts.length === 0 ? [] : [el("span", {}, ...facts)])),
        buildCell("Expires", ...(entry.expires === "" ? [] : [entry.expires])),
        buildCell("Declared at", bdi(entry.place === "" ? "no file" : entry.place)),
      );
    };
    /** @param {string | undefined} evidence */
    const buildEvidence = (evidence) => (evidence === undefined ? [] : [bdi(evidence)]);
    const show = () => {
      const [query, list] = [fleetSearch.normalize(field.value), getChoice("list")];
      const matches = ownEntries.filter(
        ({ entry, deviation }, index) =>
          (list === "" || (list === "different" ? deviation !== undefined : entry.list === list)) &&
          (texts[index] ?? "").includes(query),
      );
      body.replaceChildren(...matches.slice(0, maxRows).map(buildRow));
      more.hidden = matches.length <= maxRows;
      more.textContent = `Show ${(matches.length - maxRows).toLocaleString("en-US")} more`;
      status.textContent =
        ownEntries.length === 0 && !own.isRead
          ? "Unknown: its files are invalid, or it could not be read."
          : `${formatNounCount(matches.length, "entry")} of ${ownEntries.length.toLocaleString("en-US")}.`;
    };
    const showFirstRows = () => {
      maxRows = PAGE_SIZE;
      show();
    };
    field.addEventListener("input", showFirstRows);
    onChoice("list", showFirstRows);
    more.addEventListener("click", () => {
      maxRows += 5_000;
      show();
    });
    field.form?.addEventListener("submit", (event) => event.preventDefault());
    show();
  }

  function startEntry() {
    const title = /** @type {HTMLElement} */ (byId("entry"));
    const status = /** @type {HTMLElement} */ (byId("entry-status"));
    const body = /** @type {HTMLElement} */ (byId("declarations"));
    const show = async () => {
      const value = getFragment();
      title.replaceChildren(value === "" ? "No entry" : bdi(value));
      if (value === "") {
        status.textContent = "Search for one on the overview.";
        return;
      }
      document.title = value.slice(0, 100);
      const fleet = await loadFleet(status);
      if (fleet === undefined || getFragment() !== value) return;
      const own = fleetSite.entries.filter((entry) => entry.value === value);
      const message =
        own.length === 0
          ? "No valid file declares it, and no tenant that could be read has it."
          : `${formatNounCount(own.length, "entry")} of this value.`;
      status.textContent = message + formatUnknownTenants(fleet);
      body.replaceChildren(...own.map((entry) => renderPanel(entry, fleet)));
    };
    addEventListener("hashchange", () => void show());
    void show();
  }

  /** @param {Entry} entry @param {Fleet} fleet */
  function renderPanel(entry, fleet) {
    // Tenants with a deviation come first.
    const holders = listHolders(entry.number, fleet).sort(
      (one, other) => Number(one.state === "") - Number(other.state === ""),
    );
    const facts = buildFacts(entry);
    const expiry =
      entry.expires === "" ? "no expiry date" : entry.expires === "never" ? "never expires" : `until ${entry.expires}`;
    const shown = holders.slice(0, 1_000);
    const hasMail = shown.some(({ tenant }) => tenant.mail !== undefined);
    const rows = shown.map(({ tenant, state, createdBy, createdAt, mail }) =>
      el(
        "tr",
        state === "" || state === DEVIATION_LABELS["ignored"] ? {} : { class: "differs" },
        el("td", { "data-label": "Tenant" }, buildTenantLink(tenant, "")),
        el("td", { "data-label": "At the tenant" }, state === "" ? "unchanged" : state),
        ...[[createdBy, createdAt].filter((text) => text !== "").join(", ")].map((creation) =>
          el("td", creation === "" ? {} : { "data-label": "Created" }, bdi(creation)),
        ),
        ...(hasMail ? [el("td", mail === "" ? {} : { "data-label": "Mail" }, bdi(mail))] : []),
      ),
    );
    const hiddenCount = holders.length - shown.length;
    const caption = `${formatNounCount(holders.length, "tenant")}${hiddenCount > 0 ? `, the first ${shown.length}` : ""}`;
    /** @param {string} name */
    const th = (name) => el("th", { scope: "col" }, name);
    return el(
      "section",
      {},
      el("h2", {}, buildBadge(entry.list), " ", bdi(entry.place === "" ? "not declared" : entry.place)),
      ...(facts.length === 0 ? [] : [el("p", {}, ...facts)]),
      el(
        "p",
        { class: "facts" },
        [entry.type.replaceAll("_", " "), entry.scope, entry.place === "" ? "" : expiry]
          .filter((text) => text !== "")
          .join(" · "),
      ),
      el(
        "div",
        { class: "table", tabindex: "0", role: "region", "aria-label": `${entry.list} ${entry.place}` },
        el(
          "table",
          {},
          el("caption", {}, caption),
          el(
            "thead",
            {},
            el("tr", {}, th("Tenant"), th("At the tenant"), th("Created"), ...(hasMail ? [th("Mail")] : [])),
          ),
          el("tbody", {}, ...rows),
        ),
      ),
    );
  }
});

"use strict";

/** What each page does once it is there. */
document.addEventListener("DOMContentLoaded", () => {
  const { el, bdi, badge, valueLink, factsOf, holdersOf, tenantLink, hit, UNREAD, WHATS } = fleetTold;

  /** @param {string} id */
  const byId = (id) => document.getElementById(id);

  /** @param {string} id */
  const input = (id) => /** @type {HTMLInputElement} */ (byId(id));

  /** The chosen one of a group of radio buttons. @param {string} name */
  const chosen = (name) => {
    const button = document.querySelector(`input[name="${name}"]:checked`);
    return button instanceof HTMLInputElement ? button.value : "";
  };

  /** @param {string} name @param {() => void} told */
  const onChoice = (name, told) => {
    for (const button of document.querySelectorAll(`input[name="${name}"]`)) button.addEventListener("change", told);
  };

  /** @param {number} count @param {string} one */
  const counted = (count, one) =>
    `${count.toLocaleString("en-US")} ${count === 1 ? one : one.replace(/y$/, "ie").concat("s")}`;

  /** What stands behind `#`, as text; what is no text is nothing. */
  const fragment = () => {
    try {
      return decodeURIComponent(location.hash.slice(1));
    } catch {
      return "";
    }
  };

  /** Loads all entries, telling how far that is. @param {HTMLElement} status */
  const all = async (status) => {
    const file = document.body.dataset["fleet"] ?? "";
    try {
      await fleetSite.loadAll(file, (done, many) => {
        if (many > 4) status.textContent = `Reading the entries: ${done} of ${many} parts …`;
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

  // As on GitHub: a slash leads to what is looked for, from anywhere on the page.
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

  /** Of whom not all is known, so that there may be more than is told. @param {Fleet} fleet */
  const untoldOf = ({ tenants }) => {
    /** @param {(tenant: Tenant) => boolean} isMeant */
    const named = (isMeant) => {
      const names = tenants.filter(isMeant).map(({ name }) => name);
      const more = names.length > 5 ? ` and ${names.length - 5} more` : "";
      return names.length === 0 ? "" : `${names.slice(0, 5).join(", ")}${more}`;
    };
    /** @param {Tenant} tenant */
    const isUntold = ({ syncStatus, ranges }) => syncStatus === "unusable" && ranges.length === 0;
    const unusable = named(isUntold);
    const unread = named((tenant) => UNREAD.has(tenant.syncStatus) && !isUntold(tenant));
    const why = [
      unusable && `the files of ${unusable} are invalid, so their declarations are unknown`,
      unread && `${unread} could not be read, so unmanaged entries there are unknown`,
    ].filter((one) => one !== "");
    return why.length === 0 ? "" : ` There may be more: ${why.join("; ")}.`;
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
      loading ??= all(status).then((fleet) => {
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
      // Somebody typed on meanwhile.
      if (fleet === undefined || index === undefined || field.value !== typed) return;
      const list = chosen("list");
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
          return entry === undefined ? [] : [hit(entry, fleet)];
        });
        return [el("h2", {}, title), el("ul", { class: "hits" }, ...hits)];
      });
      results.replaceChildren(...parts);
      const many = exact.length + covering.length + containing.length;
      const isElsewhere =
        many === 0 &&
        list !== "" &&
        Object.values(fleetSearch.search(index, typed)).some((some) => Array.isArray(some) && some.length > 0);
      const nothing = isElsewhere
        ? "No match in the selected list; choose All to search every list."
        : "No match: no valid file declares it, and no tenant that could be read has it.";
      const found = many === 0 ? nothing : `${isMore ? "More than " : ""}${counted(many, "entry")}.`;
      status.textContent = found + untoldOf(fleet);
    };
    field.addEventListener("focus", () => void prepare(), { once: true });
    field.addEventListener("input", () => void show());
    onChoice("list", () => void show());
    addEventListener("hashchange", () => {
      field.value = fragment();
      void show();
    });
    /** Up and down lead through what was found. @param {KeyboardEvent} event */
    const walk = (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step === undefined) return;
      const links = [field, ...results.querySelectorAll("a.value")];
      const now = links.indexOf(/** @type {Element} */ (document.activeElement));
      const next = links[now + step];
      if (now < 0 || !(next instanceof HTMLElement)) return;
      event.preventDefault();
      next.focus();
    };
    field.addEventListener("keydown", walk);
    results.addEventListener("keydown", walk);
    field.form?.addEventListener("submit", (event) => event.preventDefault());
    if (location.hash.length > 1) {
      field.value = fragment();
      void show();
    }
  }

  function startTenants() {
    const field = input("tenant-filter");
    const status = /** @type {HTMLElement} */ (byId("tenant-status"));
    const rows = [...document.querySelectorAll("tbody tr")].filter((row) => row instanceof HTMLElement);
    const texts = rows.map((row) => (row.textContent ?? "").toLowerCase());
    const show = () => {
      const [wanted, syncStatus] = [field.value.trim().toLowerCase(), chosen("syncStatus")];
      let many = 0;
      for (const [index, row] of rows.entries()) {
        const isShown =
          (syncStatus === "" || row.dataset["syncStatus"] === syncStatus) && (texts[index] ?? "").includes(wanted);
        row.hidden = !isShown;
        if (isShown) many += 1;
      }
      status.textContent = `${counted(many, "tenant")} of ${rows.length.toLocaleString("en-US")}.`;
    };
    field.addEventListener("input", show);
    onChoice("syncStatus", show);
    field.form?.addEventListener("submit", (event) => event.preventDefault());
    if (location.hash.length > 1) {
      const button = byId(`only-${fragment()}`);
      if (button instanceof HTMLInputElement) button.checked = true;
    }
    show();
  }

  function startTenant() {
    const MOST = 500;
    const field = input("entry-filter");
    const status = /** @type {HTMLElement} */ (byId("entry-status"));
    const body = /** @type {HTMLElement} */ (byId("entries"));
    const more = /** @type {HTMLElement} */ (byId("more"));
    const own =
      /** @type {Known & { isRead: boolean, ranges: [number, number][], unlike: Unlike[], mail?: Mail[] }} */ (
        JSON.parse(byId("own")?.textContent ?? "{}")
      );
    fleetSite.know(own);
    const unlike = new Map(own.unlike.map((one) => [one[0], one]));
    const mail = own.mail && new Map(own.mail);
    const declared = own.ranges.flatMap(([first, last]) =>
      Array.from({ length: last - first + 1 }, (_, index) => first + index),
    );
    const isDeclared = new Set(declared);
    const held = own.unlike.map(([number]) => number).filter((number) => !isDeclared.has(number));
    const numbers = [...new Set([...held, ...declared])];
    const told = numbers.flatMap((number) => {
      const entry = fleetSite.entries[number];
      return entry === undefined ? [] : [{ entry, odd: unlike.get(number) }];
    });
    const texts = told.map(({ entry }) => Object.values(entry).join("\n").toLowerCase());
    let most = MOST;
    /** @param {(typeof told)[number]} one */
    const rowOf = ({ entry, odd }) => {
      const what = odd === undefined ? (own.isRead ? "unchanged" : "not read") : (WHATS[odd[1]] ?? odd[1]);
      const by = odd === undefined ? [] : [odd[2] && `by ${odd[2]}`, odd[3]].filter((one) => one !== "");
      const facts = factsOf(entry);
      /** One that is empty has no name where names stand beside what they are of. @param {string} label @param {(Node | string)[]} parts */
      const cell = (label, ...parts) => el("td", parts.length === 0 ? {} : { "data-label": label }, ...parts);
      return el(
        "tr",
        {},
        cell("List", badge(entry.list)),
        cell("Value", el("span", {}, ...valueLink(entry, "../"))),
        cell(
          "At the tenant",
          el(
            "span",
            odd === undefined || odd[1] === "ignored" ? {} : { class: "odd" },
            what,
            ...(by.length === 0 ? [] : [", created ", bdi(by.join(", "))]),
          ),
        ),
        ...(mail === undefined ? [] : [cell("Mail", ...mailOf(mail.get(entry.number)))]),
        cell("Why", ...(facts.length === 0 ? [] : [el("span", {}, ...facts)])),
        cell("Expires", ...(entry.expires === "" ? [] : [entry.expires])),
        cell("Declared at", bdi(entry.place === "" ? "no file" : entry.place)),
      );
    };
    /** @param {string | undefined} seen */
    const mailOf = (seen) => (seen === undefined ? [] : [bdi(seen)]);
    const show = () => {
      const [wanted, list] = [fleetSearch.normal(field.value), chosen("list")];
      const found = told.filter(
        ({ entry, odd }, index) =>
          (list === "" || (list === "odd" ? odd !== undefined : entry.list === list)) &&
          (texts[index] ?? "").includes(wanted),
      );
      body.replaceChildren(...found.slice(0, most).map(rowOf));
      more.hidden = found.length <= most;
      more.textContent = `Show ${(found.length - most).toLocaleString("en-US")} more`;
      status.textContent =
        told.length === 0 && !own.isRead
          ? "Unknown: its files are invalid, or it could not be read."
          : `${counted(found.length, "entry")} of ${told.length.toLocaleString("en-US")}.`;
    };
    const anew = () => {
      most = MOST;
      show();
    };
    field.addEventListener("input", anew);
    onChoice("list", anew);
    more.addEventListener("click", () => {
      most += 5_000;
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
      const value = fragment();
      title.replaceChildren(value === "" ? "No entry" : bdi(value));
      if (value === "") {
        status.textContent = "Search for one on the overview.";
        return;
      }
      document.title = value.slice(0, 100);
      const fleet = await all(status);
      if (fleet === undefined || fragment() !== value) return;
      const own = fleetSite.entries.filter((entry) => entry.value === value);
      const found =
        own.length === 0
          ? "No valid file declares it, and no tenant that could be read has it."
          : `${counted(own.length, "entry")} of this value.`;
      status.textContent = found + untoldOf(fleet);
      body.replaceChildren(...own.map((entry) => sectionOf(entry, fleet)));
    };
    addEventListener("hashchange", () => void show());
    void show();
  }

  /** @param {Entry} entry @param {Fleet} fleet */
  function sectionOf(entry, fleet) {
    // Who holds it otherwise comes first.
    const holders = holdersOf(entry.number, fleet).sort(
      (one, other) => Number(one.what === "") - Number(other.what === ""),
    );
    const facts = factsOf(entry);
    const ends =
      entry.expires === "" ? "no expiry date" : entry.expires === "never" ? "never expires" : `until ${entry.expires}`;
    const shown = holders.slice(0, 1_000);
    const hasMail = shown.some(({ tenant }) => tenant.mail !== undefined);
    const rows = shown.map(({ tenant, what, by, at, mail }) =>
      el(
        "tr",
        what === "" || what === WHATS["ignored"] ? {} : { class: "odd" },
        el("td", { "data-label": "Tenant" }, tenantLink(tenant, "")),
        el("td", { "data-label": "At the tenant" }, what === "" ? "unchanged" : what),
        ...[[by, at].filter((one) => one !== "").join(", ")].map((made) =>
          el("td", made === "" ? {} : { "data-label": "Created" }, bdi(made)),
        ),
        ...(hasMail ? [el("td", mail === "" ? {} : { "data-label": "Mail" }, bdi(mail))] : []),
      ),
    );
    const left = holders.length - shown.length;
    const caption = `${counted(holders.length, "tenant")}${left > 0 ? `, the first ${shown.length}` : ""}`;
    /** @param {string} name */
    const th = (name) => el("th", { scope: "col" }, name);
    return el(
      "section",
      {},
      el("h2", {}, badge(entry.list), " ", bdi(entry.place === "" ? "not declared" : entry.place)),
      ...(facts.length === 0 ? [] : [el("p", {}, ...facts)]),
      el(
        "p",
        { class: "facts" },
        [entry.type.replaceAll("_", " "), entry.scope, entry.place === "" ? "" : ends]
          .filter((one) => one !== "")
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

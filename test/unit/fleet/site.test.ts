import { readFileSync } from "node:fs";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import {
  buildSiteRun,
  findStatusStart,
  parseSiteRun,
  type SiteRun,
  selectRetainedRuns,
} from "../../../provider/fleet/site/data/site-runs";
import { getTenantPagePath } from "../../../provider/fleet/site/pages/paths";
import type { TenantStatus } from "../../../provider/fleet/status/status-schema";
import { findTerminalCommands, HOSTILE } from "../../support/hostile-text";
import { generateFiles, generateSite, measureFiles } from "../../support/site-fixture";

describe("the files of a site", () => {
  const shared = generateFiles(generateSite({ tenants: 300, entries: 500, own: 20 }));

  it("hold a shared baseline once and stay small", () => {
    const data = [...shared].filter(([path]) => path.startsWith("data/entries-"));
    // 480 baseline entries, 20 entries and a VIP for each tenant, and one undeclared entry that two tenants share.
    expect(
      data.reduce(
        (sum, [, text]) =>
          sum + text.split('["allow"').length + text.split('["deny"').length + text.split('["vip"').length - 3,
        0,
      ),
    ).toBe(480 + 299 * 21 + 1);
    expect(data).toHaveLength(7);
    expect([...shared].filter(([, text]) => text.includes("shared7.example")).map(([path]) => path)).toEqual([
      data[0]?.[0],
    ]);
    expect(measureFiles(shared)).toBeLessThan(10_000_000);
  });

  it("load the start page in under 300 kB", () => {
    for (const files of [shared, generateFiles(generateSite({ tenants: 1_000, entries: 2, own: 1 }))]) {
      const page = files.get("index.html") ?? "";
      const assetPaths = [...page.matchAll(/(?:src|href)="((?:assets|data)\/[^"]+)"/g)].map(([, path = ""]) => path);
      expect(assetPaths).toHaveLength(2);
      const bytes = [page, ...assetPaths.map((path) => files.get(path) ?? "")].reduce(
        (sum, text) => sum + Buffer.byteLength(text),
        0,
      );
      expect(bytes).toBeLessThan(300_000);
    }
  });

  it("contain no inline code and load nothing external", () => {
    for (const [path, text] of shared) {
      if (!path.endsWith(".html")) continue;
      expect(text).toContain("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:");
      expect({
        path,
        matches: text.match(
          /<script(?! defer src="[.a-z])(?! type="application\/json")[^>]*>|<style|\sstyle=|\son[a-z]+=|https?:\/\/|(?:href|src)="\//g,
        ),
      }).toEqual({ path, matches: null });
    }
  });

  it("show next to an entry what the tenant's mail says", () => {
    const files = generateFiles(generateSite({ tenants: 6, entries: 6, own: 3 }));
    const extractOwnData = (name: string): { ranges: [number, number][]; mail?: [number, string][] } =>
      JSON.parse(/id="own">(.+?)<\/script>/.exec(files.get(getTenantPagePath(name)) ?? "")?.[1] ?? "");
    expect(extractOwnData("t003").mail?.map(([, text]) => text)).toEqual([
      "2 threats: 2 malicious; to 1 mailbox (1 VIP); the last on 2026-11-23",
      "2 threats: 2 malicious; the last on 2026-11-23",
    ]);
    // The tenant could not be read, so its mail wasn't either.
    expect(extractOwnData("t005").mail).toBeUndefined();
    expect(files.get(getTenantPagePath("t005"))).not.toContain("Mail");
    expect(files.get(getTenantPagePath("t002"))).toContain(
      "Mail: 2 threats and 1 report of users, of the last 30 days. It doesn&#39;t cover IP addresses. No reports: 403",
    );
  });

  it("contain hostile text only as plain text", () => {
    for (const text of Object.values(HOSTILE)) {
      const files = generateFiles(generateSite({ tenants: 6, entries: 6, own: 3, text }));
      for (const [path, content] of files) {
        if (path.startsWith("assets/")) continue;
        expect({ path, text, matches: findTerminalCommands(content) }).toEqual({ path, text, matches: [] });
        expect(content).not.toContain("<script>");
        expect(content).not.toContain("<img");
      }
    }
  });
});

it("gives each tenant a distinct page on any file system", () => {
  const names = ["acme", "Acme", "ACME", "con", "con.eu", "-x", ".x", "_x", "a.b", "x".repeat(100), "X".repeat(100)];
  const pages = names.map(getTenantPagePath);
  expect(new Set(pages.map((page) => page.toLowerCase())).size).toBe(names.length);
  expect(pages[0]).toBe("tenants/acme.html");
  expect(pages.every((page) => /^tenants\/[a-z0-9][a-z0-9_.~-]*\.html$/.test(page))).toBe(true);
});

describe("previous runs", () => {
  const { status } = generateSite({ tenants: 6, entries: 6, own: 3 });
  const runAt = (readAt: string): SiteRun => ({ ...buildSiteRun(status), readAt });
  const listRetainedTimes = (times: readonly string[]): string[] => {
    const [last = "", ...before] = times.toReversed();
    return selectRetainedRuns(before.map(runAt), runAt(last)).map(({ readAt }) => readAt);
  };

  it("are thinned out to one a day after a week", () => {
    const times = [
      "2025-10-01T06:00:00.000Z",
      "2026-01-05T06:00:00.000Z",
      "2026-01-05T18:00:00.000Z",
      "2026-11-22T06:00:00.000Z",
      "2026-11-22T18:00:00.000Z",
      "2026-11-23T06:00:00.000Z",
    ];
    expect(listRetainedTimes(times)).toEqual(times.filter((time) => time !== "2026-01-05T06:00:00.000Z"));
  });

  it("are kept for 400 days, even with wrong clocks", () => {
    const days = Array.from({ length: 450 }, (_, day) => new Date(Date.UTC(2026, 0, 1 + day, 6)).toISOString());
    // In addition, those of the last week are kept: eight days, including the border.
    expect(listRetainedTimes(days)).toEqual(days.slice(-408));
    // A day in the far future doesn't remove any earlier day; neither does one in the distant past.
    const ahead = "2031-01-01T06:00:00.000Z";
    expect(listRetainedTimes([...days.slice(-300), ahead])).toEqual([...days.slice(-300), ahead]);
    expect(listRetainedTimes([...days.slice(-300), "2001-01-01T06:00:00.000Z"])).toHaveLength(301);
  });

  it("read back unchanged, ignoring content of other formats", () => {
    const run = buildSiteRun(generateSite({ tenants: 1_000, entries: 2, own: 1 }).status);
    const text = JSON.stringify(run);
    expect(text.length).toBeLessThan(20_000);
    expect(parseSiteRun(text)).toEqual(run);
    for (const other of [
      "",
      "{}",
      "null",
      "[]",
      text.replace('"format":1', '"format":2'),
      text.replace('"drift":', '"drift":-'),
    ])
      expect(parseSiteRun(other)).toBeUndefined();
  });

  it("show since when a tenant has had its status", () => {
    const off = { drifted: ["t001"] };
    const runs = [
      runAt("2026-11-19T06:00:00.000Z"),
      ...["20", "21", "22"].map((day) => ({ ...runAt(`2026-11-${day}T06:00:00.000Z`), off })),
    ];
    const before = { ...runs[0], unsyncedStacks: { behind: ["t001"] } } as SiteRun;
    expect(findStatusStart("t001", [before, ...runs.slice(1)])?.readAt).toBe("2026-11-20T06:00:00.000Z");
    expect(findStatusStart("t000", runs)).toBeUndefined();
  });

  it("don't count for another tenant that a person accepted on the stack", () => {
    const { status } = generateSite({ tenants: 1, entries: 2, own: 1 });
    const [tenant] = status.tenants;
    const drifted = { ...tenant, syncStatus: "drifted" } as TenantStatus;
    const buildRun = (day: string, acceptedSeq?: number): SiteRun => {
      const tenants = [acceptedSeq === undefined ? drifted : { ...drifted, acceptedSeq }];
      return buildSiteRun({ ...status, readAt: `2026-11-${day}T06:00:00.000Z`, tenants });
    };
    const runs = [buildRun("20"), buildRun("21", 7), buildRun("22", 7)];
    expect(findStatusStart(drifted.stack, runs)?.readAt).toBe("2026-11-21T06:00:00.000Z");
    expect(runs.map((run) => parseSiteRun(JSON.stringify(run)))).toEqual(runs);
  });

  it("keep the status of tenants that a run doesn't select", () => {
    const { status } = generateSite({ tenants: 2, entries: 2, own: 1 });
    const [acme, globex] = status.tenants.map(
      (tenant) => ({ ...tenant, syncStatus: "drifted", acceptedSeq: 7 }) as TenantStatus,
    );
    const [readAt, later] = ["2026-11-20T06:00:00.000Z", "2026-11-21T06:00:00.000Z"];
    if (acme === undefined || globex === undefined) throw new Error("The site has two tenants.");
    const full = buildSiteRun({ ...status, readAt, tenants: [acme, globex] });
    const selected = { ...status, readAt: later, tenants: [acme] };
    const partial = buildSiteRun(selected, { run: full, stacks: new Set([globex.stack]) });
    expect([partial.tenants, partial.unsyncedStacks, partial.acceptedSeqs]).toEqual([
      1,
      full.unsyncedStacks,
      full.acceptedSeqs,
    ]);
    expect(findStatusStart(globex.stack, [full, partial])?.readAt).toBe(readAt);
    expect(buildSiteRun(selected, { run: full, stacks: new Set() }).unsyncedStacks).toEqual({ drifted: [acme.stack] });
  });

  it("identify a tenant by its stack", () => {
    const { status } = generateSite({ tenants: 1, entries: 2, own: 1 });
    const [tenant] = status.tenants;
    const drifted = { ...tenant, name: "acme", stack: "acme-2", syncStatus: "drifted" } as TenantStatus;
    expect(buildSiteRun({ ...status, tenants: [drifted] }).unsyncedStacks).toEqual({ drifted: ["acme-2"] });
  });
});

interface SearchResult {
  readonly exact: number[];
  readonly covering: number[];
  readonly containing: number[];
  readonly isMore: boolean;
  readonly lookupCount: number;
}

describe("the search of the pages", () => {
  const readBrowserScript = (file: string): string => readFileSync(`provider/fleet/site/browser/${file}`, "utf8");
  const { indexOf, search } = runInNewContext(`${readBrowserScript("search.js")}; fleetSearch`, { URL }) as {
    indexOf: (entries: readonly unknown[]) => unknown;
    search: (index: unknown, typed: string, options?: { list?: string; most?: number }) => SearchResult;
  };
  const buildEntry = (value: string, list = "deny", more: object = {}) => ({
    value,
    list,
    unicode: "",
    comment: "",
    ticket: "",
    owner: "",
    ...more,
  });
  const entries = [
    buildEntry("evil.example"),
    buildEntry("mail.evil.example", "allow"),
    buildEntry("ceo@evil.example", "vip"),
    buildEntry("192.0.2.7"),
    buildEntry("example"),
    buildEntry("xn--mnchen-3ya.example", "deny", { unicode: "münchen.example", ticket: "INC-77", owner: "Dana" }),
    buildEntry("2001:db8::25"),
  ];
  const searchIndex = (typed: string, options = {}) => {
    const { exact, covering, containing } = search(indexOf(entries), typed, options);
    return [exact, covering, containing].map((numbers) => [...numbers]);
  };

  it.each([
    ["host.wild.example", 0],
    ["eve@wild.example", 1],
    ["203.0.113.99", 2],
    ["::ffff:203.0.113.99", 2],
    ["192.0.2.5", 3],
    ["2001:db8:0::9", 4],
    ["2001:DB8::9/128", 4],
    ["eve@host.mail.example", 5],
  ])("finds the wildcard or range that covers %s", (typed, covering) => {
    const patterns = [
      "*.wild.example",
      "*@wild.example",
      "203.0.113.0/24",
      "192.0.2.1-192.0.2.9",
      "2001:db8::/64",
      "*@*.mail.example",
    ];
    const result = search(indexOf(patterns.map((value) => buildEntry(value, "allow"))), typed);
    expect([...result.covering]).toEqual([covering]);
  });

  it.each([
    ["192.0.2.7/32", 3],
    ["192.0.2.7/255.255.255.255", 3],
    ["::ffff:192.0.2.7", 3],
    ["::FFFF:c000:207", 3],
    ["::ffff:192.0.2.7/128", 3],
    ["2001:db8::25/128", 6],
    ["2001:0DB8:0:0::0025", 6],
  ])("finds the entry of %s in any address notation", (typed, exact) => {
    expect(searchIndex(typed)[0]).toEqual([exact]);
  });

  it("finds exact, covering and containing entries", () => {
    expect(searchIndex("evil.example")).toEqual([[0], [4], [1, 2]]);
    expect(searchIndex("x.mail.evil.example")).toEqual([[], [1, 0, 4], []]);
    expect(searchIndex("boss@mail.evil.example")).toEqual([[], [1, 0, 4], []]);
    expect(searchIndex("evil.example", { list: "allow" })).toEqual([[], [], [1]]);
    expect(searchIndex("192.0.2.7")).toEqual([[3], [], []]);
    expect(searchIndex("MÜNCHEN")).toEqual([[], [], [5]]);
    expect(searchIndex("inc-77")).toEqual([[], [], [5]]);
    expect(searchIndex(" ")).toEqual([[], [], []]);
  });

  it.each([
    "hxxps://evil[.]example/path?q=1",
    "EVIL(.)example",
    "https://evil.example:8443/",
    "evil[dot]example.",
    "hxxps[:]//evil[.]example/path",
    "hxxp[://]evil.example",
    "evil.example/path",
    "evil.example:8443/path",
    '"evil.example",',
    "evil.example\u200b",
  ])("understands the defanged or pasted form %s", (typed) => {
    expect(searchIndex(typed)[0]).toEqual([0]);
  });

  it.each([
    ["münchen.example", [[5], [4], []]],
    ["MAIL.München.example", [[], [5, 4], []]],
    ["hxxps://mail[.]münchen[.]example/x", [[], [5, 4], []]],
    ["boss@mu\u0308nchen.example", [[], [5, 4], []]],
    ['"The CEO" <CEO@evil.example>', [[2], [0, 4], []]],
    ["mailto:ceo@evil.example", [[2], [0, 4], []]],
    ["2001:0db8:0:0::0025", [[6], [], []]],
    ["http://[2001:db8::25]:8443/", [[6], [], []]],
  ])("finds values spelled differently in the lists: %s", (typed, expected) => {
    expect(searchIndex(typed)).toEqual(expected);
  });

  it("examines few entries of a large index", () => {
    const many = indexOf(Array.from({ length: 30_000 }, (_, index) => buildEntry(`own${index}.example`)));
    const result = search(many, "own29999.example");
    expect({ exact: [...result.exact], lookupCount: result.lookupCount }).toEqual({ exact: [29_999], lookupCount: 5 });
    // A text that occurs everywhere stops the search early.
    expect(search(many, "example")).toMatchObject({ isMore: true, lookupCount: 103 });
  });
});

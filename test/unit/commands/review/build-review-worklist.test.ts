import { describe, expect, it } from "vitest";
import type { AllowDenyEntryRow, VipEmployeeRow } from "../../../../provider/client";
import { buildReviewWorklist, type ReviewOptions } from "../../../../provider/commands/review/build-review-worklist";
import { buildObservedState } from "../../../../provider/plan/observed-state";
import { readSettings } from "../../../../provider/settings-files/read-settings";
import { buildEvidenceBase, type ThreatFields } from "../../../support/mail-history";

const TODAY = "2026-11-21";
const KEPT = "reviewed: { on: 2026-11-15, by: Dana }";

function buildTenantReview(
  files: Readonly<Record<string, string>>,
  threats: ThreatFields[] | undefined,
  created = "2026-01-01",
) {
  const settings = readSettings("acme.yaml", {
    today: TODAY,
    ownDomains: [],
    readFile: (path) => files[path] ?? "",
  });
  const rows = settings.entries.map(
    ({ list, value, entryType, verdictScope }): AllowDenyEntryRow => ({
      id: value,
      list,
      entry_type: entryType,
      value,
      verdict_scope: verdictScope,
      created_at: `${created}T00:00:00Z`,
      comment: undefined,
      created_by: undefined,
    }),
  );
  const reviewInput =
    threats === undefined
      ? undefined
      : { observed: buildObservedState(`${TODAY}T00:00:00Z`, rows, []), base: buildEvidenceBase({ threats }) };
  const worklist = buildReviewWorklist(settings, reviewInput);
  return {
    worklist,
    lines: worklist.items.map(
      ({ list, value, reasons }) => `${list} ${value}: ${reasons.map(({ kind }) => kind).join(" ")}`,
    ),
  };
}

const buildMaliciousThreat = (day: string): ThreatFields => ({
  sender_email: "a@bad.example",
  verdict: "malicious",
  detection_time: `2026-11-${day}T10:00:00Z`,
  time: `2026-11-${day}T10:00:00Z`,
});

describe("a review", () => {
  const buildOwnFiles = (settingsText: string) => ({
    "acme.yaml": `version: 1\nallow:\n  - { value: bad.example${settingsText} }\n`,
  });

  it("lists a kept malicious allow again after further malicious mail", () => {
    expect(buildTenantReview(buildOwnFiles(""), [buildMaliciousThreat("10")]).lines).toEqual([
      "allow bad.example: malicious",
    ]);
    expect(buildTenantReview(buildOwnFiles(`, ${KEPT}`), [buildMaliciousThreat("10")]).lines).toEqual([]);
    expect(
      buildTenantReview(buildOwnFiles(`, ${KEPT}`), [buildMaliciousThreat("10"), buildMaliciousThreat("16")]).lines,
    ).toEqual(["allow bad.example: malicious"]);
  });

  it("doesn't apply a shared file's decision to the tenant's mail", () => {
    const files = {
      "acme.yaml": "version: 1\ninclude: [base.yaml]\n",
      "base.yaml": `version: 1\nallow:\n  - { value: bad.example, ${KEPT} }\n`,
    };
    expect(buildTenantReview(files, [buildMaliciousThreat("10")]).lines).toEqual(["allow bad.example: malicious"]);
  });

  const buildFeedFiles = (elements: string) => ({
    "acme.yaml":
      "version: 1\ninclude: [sources/feed.yaml]\nsources:\n  feed: { kind: url, url: 'https://feeds.example/', into: deny, expires: 14d }\n",
    "sources/feed.yaml": `version: 1\nsource: { name: feed, kind: url, synced: 2026-11-18 }\ndeny:\n${elements}`,
  });
  const formatFeedElement = (value: string, expires: string, rest = "") =>
    `  - { value: ${value}, expires: ${expires}, seen: { first: 2026-10-01${rest} } }\n`;

  it("lists the entries of a feed that matched no mail, with their dates in the feed", () => {
    const elements = [
      formatFeedElement("bad.example", "2026-12-02"),
      formatFeedElement("gone.example", "2026-11-22", ", last: 2026-11-08"),
      formatFeedElement("quiet.example", "2026-12-02"),
    ];
    const output = buildTenantReview(buildFeedFiles(elements.join("")), [buildMaliciousThreat("10")]);
    expect(output.lines).toEqual(["deny gone.example: unused", "deny quiet.example: unused"]);
    expect(output.worklist.items.map(({ source }) => source)).toEqual([
      { name: "feed", kind: "url", firstSeen: "2026-10-01", lastSeen: "2026-11-08", hasLeft: true },
      { name: "feed", kind: "url", firstSeen: "2026-10-01", lastSeen: "2026-11-18" },
    ]);
  });

  it("asks for no decision about the end of an entry that a sync renews or removes", () => {
    const elements = `${formatFeedElement("ending.example", "2026-11-22")}${formatFeedElement("ended.example", "2026-11-20", ", last: 2026-11-06")}`;
    expect(buildTenantReview(buildFeedFiles(elements), undefined).lines).toEqual([]);
  });

  it("lists entries that are expiring, expired, unused or violate the policy", () => {
    const files = {
      "acme.yaml": `version: 1\npolicy: { requireOwner: [allow] }\nallow:\n  - { value: a.example, expires: never, ${KEPT} }\n  - { value: b.example, owner: Dana, expires: 2026-11-30 }\n  - { value: c.example, owner: Dana, expires: 2026-11-20, ${KEPT} }\ndeny:\n  - old.example\n  - { value: kept.example, ${KEPT} }\n`,
    };
    expect(buildTenantReview(files, []).lines).toEqual([
      "allow a.example: policy",
      "allow c.example: expired",
      "allow b.example: expiring unused",
      "deny old.example: unused",
    ]);
    expect(buildTenantReview(files, [], "2026-11-20").lines).not.toContain("deny old.example: unused");
    const offline = buildTenantReview(files, undefined);
    expect(offline.lines).toEqual(["allow a.example: policy", "allow c.example: expired", "allow b.example: expiring"]);
    expect(offline.worklist.limitations[0]).toContain("The tenant was not read");
  });

  it("reports every broken policy rule", () => {
    const { worklist } = buildTenantReview(
      {
        "acme.yaml": "version: 1\npolicy: { requireOwner: [deny], requireTicket: [deny] }\ndeny: [a.example]\n",
      },
      undefined,
    );
    expect(worklist.items.map(({ reasons }) => reasons)).toEqual([
      [{ kind: "policy", evidence: expect.stringMatching(/has no ticket.* has no owner/) }],
    ]);
  });

  it("lists entries due by last decision or creation date", () => {
    const files = {
      "acme.yaml":
        "version: 1\npolicy: { reviewEvery: 30d }\ndeny:\n  - { value: a.example, reviewed: { on: 2026-10-01, by: Dana } }\n  - { value: b.example, reviewed: { on: 2026-11-01, by: Dana } }\n  - c.example\n",
    };
    const mail = ["a", "b", "c"].map((name): ThreatFields => ({ sender_email: `x@${name}.example` }));
    expect(buildTenantReview(files, mail).lines).toEqual(["deny a.example: due", "deny c.example: due"]);
    expect(buildTenantReview(files, mail, "2026-11-15").lines).toEqual(["deny a.example: due"]);
  });
});

describe("a review of people and undeclared entries", () => {
  const readTextSettings = (settingsText: string) =>
    readSettings("acme.yaml", { today: TODAY, readFile: () => `version: 1\n${settingsText}` });
  const buildRow = (over: Partial<AllowDenyEntryRow>): AllowDenyEntryRow => ({
    id: `${over.value}`,
    list: "allow",
    entry_type: "domain",
    value: "x.example",
    verdict_scope: "global",
    created_at: "2026-01-01T00:00:00Z",
    comment: undefined,
    created_by: undefined,
    ...over,
  });
  const buildVipRow = (email: string, rest: Partial<VipEmployeeRow> = {}): VipEmployeeRow => ({
    email,
    full_name: undefined,
    job_title: undefined,
    department: undefined,
    comment: undefined,
    added_by: undefined,
    date_added: "2026-11-20T00:00:00Z",
    updated_at: undefined,
    source: "manual",
    ...rest,
  });
  const listReasons = (
    settingsText: string,
    rows: AllowDenyEntryRow[],
    vips: VipEmployeeRow[] = [],
    mail: Parameters<typeof buildEvidenceBase>[0] = {},
    options: ReviewOptions = {},
  ) => {
    const observed = buildObservedState(`${TODAY}T00:00:00Z`, rows, vips);
    const worklist = buildReviewWorklist(
      readTextSettings(settingsText),
      { observed, base: buildEvidenceBase(mail) },
      options,
    );
    return worklist.items.map(({ list, value, scope, reasons }) =>
      [`${list} ${value}`, scope === "global" ? [] : (scope ?? []), reasons.map(({ kind }) => kind)].flat().join(" "),
    );
  };

  it("lists undeclared allows with their mail, except ignored ones", () => {
    const rows = [
      buildRow({ value: "Console.example" }),
      buildRow({ value: "bad.example", verdict_scope: "graymail" }),
      buildRow({ value: "left.example" }),
      buildRow({ value: "mine.example" }),
      buildRow({ value: "late.example" }),
      buildRow({ value: "turned.example" }),
      buildRow({ value: "no.example", list: "deny" }),
    ];
    const settingsText =
      "lists: { entries: { ignore: [left.*] } }\nallow:\n  - { value: late.example, expires: 2026-11-01 }\n  - mine.example\ndeny: [turned.example]\n";
    const matches = listReasons(settingsText, rows, [], {
      threats: [buildMaliciousThreat("10"), { sender_email: "x@mine.example", verdict: "spam" }],
      reports: [{ sender: "a@bad.example", verdict: "unknown" }],
    });
    expect(matches).toEqual([
      "allow bad.example graymail malicious reported undeclared",
      "allow console.example undeclared",
      "allow turned.example undeclared",
      "allow late.example expired",
    ]);
  });

  it("lists expired allows still at the tenant, even if kept", () => {
    const kept = "expires: 2026-11-01, reviewed: { on: 2026-11-15, by: Dana }";
    const rows = [buildRow({ value: "turned.example" }), buildRow({ value: "bad.example" })];
    const settingsText = `allow:\n  - { value: bad.example, ${kept} }\n  - { value: gone.example, ${kept} }\ndeny:\n  - { value: turned.example, ${kept} }\n`;
    expect(listReasons(settingsText, rows, [], { threats: [buildMaliciousThreat("10")] })).toEqual([
      "allow bad.example malicious expired",
      "allow turned.example undeclared",
    ]);
  });

  it("lists owners and VIPs outside the own domains", () => {
    const settingsText =
      "ownDomains: [acme.example]\nvips: [here@acme.example, gone@acme.example, kept@eu.acme.example, out@else.example]\ndeny:\n  - { value: a.example, owner: x@gone.example }\n  - { value: b.example, owner: x@eu.acme.example }\n  - { value: c.example, owner: The team }\n";
    const rows = ["a", "b", "c"].map((name) =>
      buildRow({ value: `${name}.example`, list: "deny", created_at: `${TODAY}` }),
    );
    const vips = [
      buildVipRow("here@acme.example", { department: "Legal" }),
      buildVipRow("Gone@acme.example", { full_name: " " }),
      buildVipRow("kept@eu.acme.example", { full_name: "Kept" }),
    ];
    expect(listReasons(settingsText, rows, vips)).toEqual([
      "deny a.example external-owner",
      "vip gone@acme.example departed",
      "vip out@else.example departed",
    ]);
    const nobody = vips.map(({ email = "" }) => buildVipRow(email));
    expect(listReasons(settingsText, rows, nobody)).toEqual([
      "deny a.example external-owner",
      "vip out@else.example departed",
    ]);
    expect(listReasons(settingsText.replace("ownDomains: [acme.example]\n", ""), rows, nobody)).toEqual([]);
  });

  it("lists targeted people except those the files ignore", () => {
    const threats = ["ceo", "cfo"].flatMap((name) =>
      Array.from(
        { length: 5 },
        (): ThreatFields => ({ recipient_email: `${name}@acme.example`, verdict: "malicious" }),
      ),
    );
    expect(listReasons("", [], [], { threats })).toEqual([
      "vip ceo@acme.example targeted",
      "vip cfo@acme.example targeted",
    ]);
    expect(listReasons("lists: { vips: { ignore: [ceo@*] } }\n", [], [], { threats })).toEqual([
      "vip cfo@acme.example targeted",
    ]);
  });

  it("calls no allow unused for IP addresses or incomplete mail data", () => {
    const settingsText =
      "allow:\n  - { value: quiet.example, expires: 2027-01-15 }\n  - 192.0.2.7\n  - new.example\n  - { value: soon.example, expires: 2026-12-05 }\n";
    const rows = [
      buildRow({ value: "quiet.example" }),
      buildRow({ value: "192.0.2.7", entry_type: "ip" }),
      buildRow({ value: "new.example", created_at: "2026-11-01T00:00:00Z" }),
      buildRow({ value: "soon.example", created_at: "2026-11-01T00:00:00Z" }),
    ];
    expect(listReasons(settingsText, rows)).toEqual(["allow soon.example expiring", "allow quiet.example unused"]);
    expect(listReasons(settingsText, rows, [], {}, { withinDays: 13 })).toEqual(["allow quiet.example unused"]);
    expect(listReasons(settingsText, rows, [], { missing: ["not all"] })).toEqual(["allow soon.example expiring"]);
  });

  it("respects a decision in the tenant's own include", () => {
    const files: Readonly<Record<string, string>> = {
      "acme.yaml": "version: 1\ninclude: [allow.yaml]\n",
      "allow.yaml": `version: 1\nallow:\n  - { value: bad.example, ${KEPT} }\n`,
    };
    expect(buildTenantReview(files, [buildMaliciousThreat("10")]).lines).toEqual([]);
    expect(buildTenantReview(files, [buildMaliciousThreat("16")]).lines).toEqual(["allow bad.example: malicious"]);
  });
});

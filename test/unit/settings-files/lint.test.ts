import { describe, expect, it, vi } from "vitest";
import { lintSettings } from "../../../provider/settings-files/lint";
import { createTestDirectory } from "../../support/test-directory";

const TODAY = "2026-11-21";

function lintTenant(content: string, files: Record<string, string> = {}) {
  using directory = createTestDirectory({ "tenant.yaml": `version: 1\n${content}`, ...files });
  const { findings, settings } = lintSettings(directory.at("tenant.yaml"), { today: TODAY });
  return {
    spots: directory.formatFindings(findings),
    messages: directory.formatMessages(findings),
    subjects: findings.map(({ subject }) => subject?.key),
    settings,
  };
}

describe("a scope", () => {
  it("is a warning when misspelled", () => {
    const { messages, settings } = lintTenant(
      "deny:\n  - { value: a.example, scope: greymail }\n  - { value: b.example, scope: quarantine }\n  - { value: d.example, scope: quarantine }\n  - { value: c.example, scope: graymail }\n",
    );
    expect(messages).toEqual([
      '"a.example" has the scope "greymail"; did you mean graymail? If the service doesn\'t know the scope, it rejects the entry when it is written',
      '"b.example" has the scope "quarantine", but this version only knows global and graymail. If the service doesn\'t know it either, it rejects the entry when it is written',
    ]);
    expect(settings?.entries).toHaveLength(4);
  });
});

describe("an entry covered by its own list", () => {
  it("is a warning that names the nearest covering entry", () => {
    const { spots, messages, subjects, settings } = lintTenant(
      "deny:\n  - evil.example\n  - mail.evil.example\n  - x@mail.evil.example\n  - y@evil.example\n  - 192.0.2.7\n  - notevil.example\n",
    );
    expect(spots).toEqual([
      "tenant.yaml:4:5 warning shadowed",
      "tenant.yaml:5:5 warning shadowed",
      "tenant.yaml:6:5 warning shadowed",
    ]);
    expect(messages).toEqual([
      '"mail.evil.example" is covered by "evil.example", which is on the deny list at tenant.yaml:3; remove one of the two',
      '"x@mail.evil.example" is covered by "mail.evil.example", which is on the deny list at tenant.yaml:4; remove one of the two',
      '"y@evil.example" is covered by "evil.example", which is on the deny list at tenant.yaml:3; remove one of the two',
    ]);
    expect(subjects).toEqual(["mail.evil.example", "x@mail.evil.example", "y@evil.example"]);
    expect(settings?.entries).toHaveLength(6);
  });

  it("is reported when an included file's entry covers it", () => {
    const { spots, messages } = lintTenant("include: [baseline.yaml]\ndeny:\n  - mail.evil.example\n", {
      "baseline.yaml": "version: 1\n\ndeny:\n  - evil.example\n",
    });
    expect(spots).toEqual(["tenant.yaml:4:5 warning shadowed"]);
    expect(messages[0]).toContain("at baseline.yaml:4;");
  });

  it("isn't reported when scopes differ or the wider entry expires first", () => {
    const lintDeny = (...elements: object[]) => lintTenant(`deny: ${JSON.stringify(elements)}\n`).spots;
    expect(lintDeny({ value: "evil.example", scope: "graymail" }, { value: "mail.evil.example" })).toEqual([]);
    const wider = { value: "evil.example", expires: "2027-06-01" };
    expect(lintDeny(wider, { value: "mail.evil.example" })).toEqual([]);
    expect(lintDeny(wider, { value: "mail.evil.example", expires: "2027-06-02" })).toEqual([]);
    expect(lintDeny(wider, { value: "mail.evil.example", expires: "2027-06-01" })).toHaveLength(1);
    expect(lintDeny({ value: "evil.example", expires: "never" }, { value: "mail.evil.example" })).toHaveLength(1);
    // A wider entry that doesn't expire covers it as well.
    expect(
      lintDeny({ value: "evil.example" }, { ...wider, value: "a.evil.example" }, { value: "b.a.evil.example" }),
    ).toHaveLength(2);
  });
});

describe("an entry contradicted by the other list", () => {
  it("is a note in both directions", () => {
    const { spots, messages } = lintTenant(
      "allow:\n  - ok.evil.example\ndeny:\n  - evil.example\n  - bad.ok.evil.example\n",
    );
    expect(spots).toEqual(["tenant.yaml:3:5 note contradicted", "tenant.yaml:6:5 note contradicted"]);
    expect(messages).toEqual([
      '"ok.evil.example" is allowed, but its parent "evil.example" is denied at tenant.yaml:5; the service\'s reference doesn\'t say which of the two takes precedence, so check before you rely on the exception',
      '"bad.ok.evil.example" is denied, but its parent "ok.evil.example" is allowed at tenant.yaml:3; the service\'s reference doesn\'t say which of the two takes precedence, so check before you rely on the exception',
    ]);
  });
});

describe("an expiry date", () => {
  it.each([
    ["2026-11-20", "warning expired", "is no longer declared; remove it, or set a later date"],
    ["2026-11-21", "note expires-soon", "on 2026-11-21, which is today;"],
    ["2026-11-22", "note expires-soon", "on 2026-11-22, which is tomorrow;"],
    ["2026-12-21", "note expires-soon", "on 2026-12-21, in 30 days;"],
  ])("of %s is a %s", (expires, label, words) => {
    const { spots, messages } = lintTenant(`vips:\n  - { email: ceo@acme.example, expires: ${expires} }\n`);
    expect(spots).toEqual([`tenant.yaml:3:14 ${label}`]);
    expect(messages[0]).toContain(words);
  });

  it.each(["2026-12-22", "never"])("of %s causes no finding", (expires) => {
    expect(lintTenant(`deny:\n  - { value: evil.example, expires: ${expires} }\n`).spots).toEqual([]);
  });
});

describe("a risky entry", () => {
  it("is a note with the risk and reason when accepted", () => {
    const { spots, messages, settings } = lintTenant(
      "allow:\n  - value: gmail.com\n    acceptRisk: The board writes from there\n",
    );
    expect(spots).toEqual(["tenant.yaml:3:12 note accepted-risk"]);
    expect(messages).toEqual([
      '"gmail.com" is risky (allow-free-mail: it allows a whole free-mail domain), and the risk is accepted: "The board writes from there"',
    ]);
    expect(settings?.entries).toHaveLength(1);
  });

  it("is attributed to the team's policy when that refuses it", () => {
    const allow = "allow:\n  - value: partner.example\n    acceptRisk: All of them write\n";
    const { spots, messages } = lintTenant(`policy: { rejectWholeDomains: true }\n${allow}`);
    expect(spots).toEqual(["tenant.yaml:4:12 note accepted-risk"]);
    expect(messages[0]).toContain("(policy-whole-domain: it allows a whole domain)");
    // Without that rule, `acceptRisk` covers the evidence from the sender's mail, which only a plan shows.
    expect(lintTenant(allow).spots).toEqual(["tenant.yaml:3:12 note accepted-mail"]);
  });

  it("is found by the own domains of all files", () => {
    const { spots } = lintTenant(
      "include: [baseline.yaml]\nallow:\n  - value: acme-login.example\n    acceptRisk: It is ours, too\n  - acne.example\n",
      { "baseline.yaml": "version: 1\nownDomains: [acme.example]\n" },
    );
    expect(spots).toEqual(["tenant.yaml:4:12 note accepted-risk", "tenant.yaml:6:5 error allow-look-alike"]);
  });
});

it("reports every risky entry, however many there are", () => {
  const free = ["gmail.com", "outlook.com", "gmx.de", "proton.me", "qq.com"];
  const values = Array.from({ length: 250 }, (_one, index) => `10.${index}.0.1`).concat(free);
  const { spots } = lintTenant(`allow:\n${values.map((value) => `  - ${value}\n`).join("")}`);
  expect(spots.filter((spot) => spot.endsWith("error allow-private-address"))).toHaveLength(250);
  expect(spots.filter((spot) => spot.endsWith("error allow-free-mail"))).toHaveLength(free.length);
});

it("lints 20,000 overlapping entries", {
  timeout: 120_000,
}, () => {
  const count = 10_000;
  const names = Array.from({ length: count }, (_one, index) => `a.b.c.host${index}.example`);
  const { settings, spots } = lintTenant(
    [
      "include: [baseline.yaml]",
      "remove:\n  deny:",
      ...names.map((name) => `    - gone.${name}`),
      "deny:",
      ...names.map((name) => `  - { value: ${name}, comment: own }`),
      ...names.map((name) => `  - ${name.slice("a.b.c.".length)}`),
    ].join("\n"),
    {
      "baseline.yaml": `version: 1\ndeny:\n${names.map((name) => `  - ${name}\n  - gone.${name}\n`).join("")}`,
    },
  );
  expect(settings?.entries).toHaveLength(2 * count);
  expect(settings?.excluded).toHaveLength(count);
  expect(spots).toHaveLength(2 * count);
  expect(spots[0]).toBe("tenant.yaml:5:7 note override");
  expect(spots[count]).toBe(`tenant.yaml:${count + 6}:14 warning shadowed`);
});

describe("an expiry written as a duration", () => {
  it("is a mistake whose message gives the date", () => {
    vi.useFakeTimers({ now: new Date("2026-11-23T23:59:00Z"), toFake: ["Date"] });
    try {
      const ends = ["30d", "6w", "30D", "9999d", "30 d", "3/4/2027"];
      const { messages, settings } = lintTenant(
        `deny:\n${ends.map((end, index) => `  - { value: a${index}.example, expires: ${end} }\n`).join("")}`,
      );
      expect(settings).toBeUndefined();
      expect(messages).toEqual([
        'expires is "30d"; write the last day, counted from today: 2026-12-23',
        'expires is "6w"; write the last day, counted from today: 2027-01-04',
        'expires is "30D"; write the last day, counted from today: 2026-12-23',
        'expires is "9999d"; write a date such as 2027-03-31, or never',
        'expires is "30 d"; write a date such as 2027-03-31, or never',
        'expires is "3/4/2027"; write a date such as 2027-03-31, or never',
      ]);
    } finally {
      vi.useRealTimers();
    }
  });
});

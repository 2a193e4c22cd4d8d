import { describe, expect, it } from "vitest";
import { ENTRY_LIST_KIND, VIP_LIST_KIND } from "../../../provider/model/list-arguments";
import { checkList, encodeListContent } from "../../../provider/model/list-check";
import { OwnDomains } from "../../../provider/model/own-domains";
import { UNKNOWN } from "../../../provider/model/unknown-value";

const checkEntries = (content: unknown, options: object = {}, previous: object = {}) =>
  checkList(ENTRY_LIST_KIND, { entries: content, ...options }, { ...previous });
const checkMembers = (content: unknown, options: object = {}, previous: object = {}) =>
  checkList(VIP_LIST_KIND, { members: content, ...options }, { ...previous });
const formatReasons = ({ failures }: { failures: readonly { property: string; reason: string }[] }) =>
  failures.map(({ property, reason }) => `${property} ${reason}`);

const KEYED = {
  "ceo@partner.example": "allow: Contract 7",
  "evil.example": "deny: INC-7",
  "news.example (graymail)": "deny",
  "xn--bcher-kva.example": "allow",
};

describe("allow/deny list content", () => {
  it.each([
    [
      "an array",
      [
        { list: "deny", value: "news.example", verdictScope: "graymail" },
        { list: "deny", value: "evil.example", comment: "INC-7" },
        { list: "allow", value: "bücher.example" },
        { list: "allow", value: "ceo@partner.example", comment: "Contract 7" },
      ],
    ],
    [
      "another order and case",
      [
        { list: "allow", value: "CEO@Partner.Example", comment: " Contract 7\n" },
        { list: "allow", value: "Bücher.example." },
        { list: "deny", value: "EVIL.example", comment: "INC-7", entryType: "domain" },
        { list: "deny", value: "News.example", verdictScope: "graymail", comment: "" },
      ],
    ],
    [
      "a map by value",
      {
        "news.example": { list: "deny", verdictScope: "graymail" },
        "evil.example": { list: "deny", comment: "INC-7" },
        "bücher.example": { list: "allow" },
        "ceo@partner.example": { list: "allow", comment: "Contract 7" },
      },
    ],
    [
      "a map by any name",
      {
        one: { list: "deny", value: "news.example", verdictScope: "graymail" },
        two: { list: "deny", value: "evil.example", comment: "INC-7" },
        three: { list: "allow", value: "bücher.example" },
        four: { list: "allow", value: "ceo@partner.example", comment: "Contract 7" },
      },
    ],
    [
      "short texts",
      {
        "news.example (graymail)": "deny",
        "EVIL.example": "deny: INC-7",
        "bücher.example": "allow",
        "ceo@partner.example": "allow:Contract 7",
      },
    ],
    ["its own keyed form", KEYED],
  ])("normalizes %s to the same keyed form", (_label, content) => {
    const { inputs, failures } = checkEntries(content);
    expect(failures).toEqual([]);
    expect(inputs).toEqual({ entries: KEYED });
    expect(JSON.stringify(inputs)).toBe(JSON.stringify({ entries: KEYED }));
    expect(encodeListContent(ENTRY_LIST_KIND, content)).toEqual(KEYED);
  });

  it("reports every mistake in entries with its path", () => {
    expect(
      formatReasons(
        checkEntries([
          { list: "deny", value: "hxxps://evil[.]example/x" },
          { list: "block", value: "evil.example" },
          { list: "deny" },
          "evil.example",
          { list: "deny", value: "good.example", coment: "x" },
          { list: "deny", value: "good.example", adopt: true },
        ]),
      ),
    ).toEqual([
      'entries[0].value "hxxps://evil[.]example/x" is a URL, not a domain, an IP address or a mailbox; write "evil.example"',
      'entries[1].list must be "allow" or "deny", not "block"',
      "entries[2].value is missing; specify a domain, an IP address or a mailbox",
      'entries[3] must be { list, value, comment }, not "evil.example"',
      "entries[4].coment isn't an argument; did you mean comment?",
      "entries[5].adopt isn't an argument; the arguments are list, value, entryType, verdictScope, comment, acceptRisk",
    ]);
    expect(
      formatReasons(
        checkEntries({
          "evil.example": "denied",
          "x.example": "(unmanaged) deny: made by hand",
          "a b": "deny",
          'q"uote.example': { list: "deny" },
        }),
      ),
    ).toEqual([
      'entries["evil.example"] is "denied"; write "deny", "deny: comment", "allow", "allow: comment", or { list, comment }',
      'entries["x.example"] is "(unmanaged) deny: made by hand", the form in which a refresh shows an undeclared entry; to declare it, write "deny: made by hand"',
      'entries["a b"].value "a b" isn\'t a valid domain: it contains a space (an entry has only one value)',
      expect.stringContaining(`entries["q\\"uote.example"].value 'q"uote.example' isn't a valid domain`),
    ]);
  });

  it.each([
    [undefined, "entries is missing; give the entries as an array or a map, or [] for none"],
    ["evil.example", 'entries must be an array or a map, not "evil.example"'],
    [5, "entries must be an array or a map, not 5"],
  ])("rejects the content %j", (content, reason) => {
    expect(formatReasons(checkEntries(content))).toEqual([reason]);
  });

  it("names both places of a duplicate or a conflict", () => {
    const content = [
      { list: "deny", value: "evil.example" },
      { list: "allow", value: "partner.example" },
      { list: "deny", value: "EVIL.example." },
      { list: "deny", value: "partner.example", comment: "x" },
      { list: "deny", value: "evil.example", verdictScope: "graymail" },
    ];
    expect(formatReasons(checkEntries(content))).toEqual([
      'entries[2] "EVIL.example." is declared twice, here and at entries[0], as "evil.example"; keep one',
      'entries[3] "partner.example" is on the deny list here and on the allow list at entries[1]; a value can\'t be on both. Keep one',
    ]);
    expect(formatReasons(checkEntries({ "evil.example": "deny", "EVIL.example": { list: "allow" } }))).toEqual([
      'entries["EVIL.example"] "EVIL.example" is on the allow list here and on the deny list at entries["evil.example"], as "evil.example"; a value can\'t be on both. Keep one',
    ]);
  });

  it("reports up to 100 failures", () => {
    const content = Array.from({ length: 5_000 }, () => ({ list: "deny", value: "not a domain" }));
    const { failures } = checkEntries(content);
    expect(failures).toHaveLength(101);
    expect(failures.at(-1)?.reason).toBe("and 4900 more similar mistakes");
  });
});

it("rejects a key that names another value than its element", () => {
  expect(formatReasons(checkEntries({ "a.example": { list: "deny", value: "b.example" } }))).toEqual([
    'entries["a.example"].value is "b.example", but its key is "a.example"; correct one of the two',
  ]);
  expect(formatReasons(checkMembers({ "a@acme.example": { email: "b@acme.example" } }))).toEqual([
    'members["a@acme.example"].email is "b@acme.example", but its key is "a@acme.example"; correct one of the two',
  ]);
  expect(checkEntries({ "A.example": { list: "deny", value: "a.example" } }).failures).toEqual([]);
});

it("rejects both an allow and a deny of one value", () => {
  expect(
    formatReasons(
      checkEntries([
        { list: "deny", value: "x.example" },
        { list: "allow", value: "x.example", verdictScope: "graymail" },
      ]),
    ),
  ).toEqual([
    'entries[1] "x.example" is on the allow list here and on the deny list at entries[0]; a value can\'t be on both. Keep one',
  ]);
});

describe("VIP list content", () => {
  const keyed = { "ceo@acme.example": "Chief executive", "cfo@acme.example": "" };

  it.each([
    [[[null]], "members[0] must be a mailbox or { email, comment }, not [null]"],
    [{ "ceo@acme.example": [] }, 'members["ceo@acme.example"] must be a mailbox or { email, comment }, not []'],
    [
      { "ceo@acme.example": "(tags: a) Chief executive" },
      expect.stringContaining('"tags" is a field that this release doesn\'t know'),
    ],
    [
      { "ceo@acme.example": "(unmanaged) CEO" },
      expect.stringContaining("the marker that a refresh adds to an undeclared VIP"),
    ],
  ])("rejects %j", (content, message) => {
    const { failures } = checkMembers(content);
    expect(failures.map(({ property, reason }) => `${property} ${reason}`)).toEqual([message]);
  });

  it.each([
    ["an array of objects", [{ email: "cfo@acme.example" }, { email: "CEO@acme.example", comment: "Chief executive" }]],
    ["an array of both", ["cfo@acme.example", { email: "ceo@acme.example", comment: "Chief executive" }]],
    ["a map of comments", { "CFO@acme.example": "", "ceo@acme.example": "Chief executive" }],
    ["a map of objects", { "cfo@acme.example": {}, boss: { email: "ceo@acme.example", comment: "Chief executive" } }],
    ["its own keyed form", keyed],
  ])("normalizes VIPs from %s to the same keyed form", (_label, content) => {
    const { inputs, failures } = checkMembers(content);
    expect(failures).toEqual([]);
    expect(JSON.stringify(inputs)).toBe(JSON.stringify({ members: keyed }));
  });

  it("reports every mistake in VIPs with its path", () => {
    expect(
      formatReasons(
        checkMembers(["ceo", 5, { email: "a@acme.example", onDelete: "keep" }, "b@acme.example", "B@acme.example"]),
      ),
    ).toEqual([
      'members[0].email "ceo" isn\'t a valid mailbox: it has no @',
      "members[1] must be a mailbox or { email, comment }, not 5",
      "members[2].onDelete isn't an argument; the arguments are email, comment",
      'members[4] "B@acme.example" is declared twice, here and at members[3], as "b@acme.example"; keep one',
    ]);
    expect(formatReasons(checkMembers({ "a@acme.example": "(unmanaged) Head" }))).toEqual([
      'members["a@acme.example"].comment starts with the marker that a refresh adds to an undeclared VIP; remove "(unmanaged)"',
    ]);
  });

  it("rejects the mode exclusive-allows", () => {
    expect(formatReasons(checkMembers([], { mode: "exclusive-allows" }))).toEqual([
      'mode can\'t be "exclusive-allows" on the VIP list, which has no allow entries; write "additive" or "exclusive"',
    ]);
    expect(formatReasons(checkMembers([], { mode: "strict" }))).toEqual([
      'mode must be "additive" or "exclusive", not "strict"',
    ]);
  });

  it("rejects onDelete keep in exclusive mode", () => {
    expect(formatReasons(checkMembers([], { mode: "exclusive", onDelete: "keep" }))).toEqual([
      'onDelete can\'t be "keep" in mode "exclusive", which removes undeclared VIPs; leave one of the two out',
    ]);
  });
});

describe("option validation", () => {
  it("reports each invalid option on its argument", () => {
    const options = {
      mode: "strict",
      ignore: ["", "*.ok.example", 5],
      protect: "x.example",
      maxRemovals: 1.5,
      maxRemovalFraction: 30,
      confirmRemovals: -1,
      adopt: "yes",
      maxDeletions: 3,
    };
    expect(formatReasons(checkEntries([], options))).toEqual([
      'mode must be "additive", "exclusive-allows" or "exclusive", not "strict"',
      "ignore[0] is empty; write a value, a value with *, or a range such as 192.0.2.0/24",
      "ignore[2] must be text, not 5",
      'protect must be a list of patterns, not "x.example"',
      "maxRemovals must be a whole number, not 1.5",
      "maxRemovalFraction is 30; write a fraction from 0 to 1, such as 0.5 for half",
      "confirmRemovals is -1; it must be 0 or more",
      'adopt must be true or false, not "yes"',
      expect.stringContaining("maxDeletions isn't an argument; the arguments are entries, mode, ignore"),
    ]);
  });

  it("rejects a declared entry that is ignored", () => {
    expect(
      formatReasons(
        checkEntries(
          { "x.corp.example": "allow", "y.example": "deny" },
          { ignore: ["*.corp.example", "allow:y.example"] },
        ),
      ),
    ).toEqual([
      'ignore contains "*.corp.example", which also matches declared items (allow x.corp.example). Ignored items are never changed: narrow the pattern, or remove the declaration',
    ]);
  });

  it("requires protected items to be declared and kept", () => {
    const board = { "chair@board.example": "", "cfo@acme.example": "" };
    expect(checkMembers(board, { protect: ["*@board.example", "cfo@acme.example"] }).failures).toEqual([]);
    expect(formatReasons(checkMembers(board, { protect: ["*@board.example", "ceo@acme.example"] }))).toEqual([
      'protect contains "ceo@acme.example", but no declared VIP matches it. Protected items must be declared: declare it, or remove the pattern',
    ]);
    const before = { members: { ...board, "second@board.example": "" } };
    expect(formatReasons(checkMembers(board, { protect: ["*@board.example"] }, before))).toEqual([
      'protect contains "*@board.example", and this run would remove items that match it (second@board.example). Declare them again, or narrow the pattern',
    ]);
  });
});

describe("removal guard", () => {
  const buildDenies = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`bad-${index}.example`, "deny"]));

  it("counts removals against the arguments of the previous run", () => {
    expect(checkEntries(buildDenies(70), {}, { entries: buildDenies(100) }).failures).toEqual([]);
    expect(formatReasons(checkEntries(buildDenies(69), {}, { entries: buildDenies(100) }))).toEqual([
      expect.stringContaining("entries would lose 31 of 100 entries (31 %). One run may remove at most 30 %."),
    ]);
    expect(formatReasons(checkEntries({}, {}, { entries: buildDenies(2) }))).toEqual([
      expect.stringContaining(
        "would lose 2 of 2 entries (100 %), all of them. A list is never emptied without explicit confirmation.",
      ),
    ]);
    expect(checkEntries(buildDenies(69), { confirmRemovals: 31 }, { entries: buildDenies(100) }).failures).toEqual([]);
    expect(
      checkEntries(buildDenies(69), { confirmRemovals: 31 }, { entries: buildDenies(100), confirmRemovals: 31 })
        .failures,
    ).toHaveLength(1);
    expect(checkEntries({}).failures).toEqual([]);
  });

  it("counts unmanaged entries only in exclusive mode", () => {
    const ignoredEntries = Object.fromEntries(
      Object.keys(buildDenies(20)).map((key) => [`x-${key}`, "(unmanaged) deny"]),
    );
    const before = { entries: { ...buildDenies(10), ...ignoredEntries } };
    expect(checkEntries(buildDenies(10), { mode: "additive" }, before).failures).toEqual([]);
    expect(formatReasons(checkEntries(buildDenies(10), { mode: "exclusive" }, before))).toEqual([
      expect.stringContaining("would lose 20 of 30 entries (67 %)"),
    ]);
    expect(checkEntries(buildDenies(10), { mode: "exclusive", ignore: ["x-*"] }, before).failures).toEqual([]);
  });

  it("counts only unmanaged allows in exclusive-allows mode", () => {
    const buildUnmanaged = (list: string) =>
      Object.fromEntries(Object.keys(buildDenies(20)).map((key) => [`${list}-${key}`, `(unmanaged) ${list}`]));
    const before = { entries: { ...buildDenies(10), ...buildUnmanaged("allow"), ...buildUnmanaged("deny") } };
    const args = { mode: "exclusive-allows" };
    expect(formatReasons(checkEntries(buildDenies(10), args, before))).toEqual([
      expect.stringContaining("would lose 20 of 30 entries (67 %)"),
    ]);
    expect(formatReasons(checkEntries(buildDenies(10), { ...args, maxRemovals: 20 }, before))).toEqual([]);
    expect(formatReasons(checkEntries(buildDenies(10), { ...args, ignore: ["allow:*"] }, before))).toEqual([]);
  });

  it("does not count VIPs that are kept", () => {
    expect(checkMembers([], { onDelete: "keep" }, { members: { "a@acme.example": "" } }).failures).toEqual([]);
    expect(checkMembers([], {}, { members: { "a@acme.example": "" } }).failures).toHaveLength(1);
  });
});

describe("unknown value in a preview", () => {
  it("is accepted as a whole list, an element or a comment", () => {
    expect(checkEntries(UNKNOWN)).toEqual({ inputs: { entries: UNKNOWN }, failures: [] });
    expect(checkEntries([UNKNOWN, { list: "deny", value: "evil.example" }]).inputs).toEqual({ entries: UNKNOWN });
    expect(checkEntries([{ list: "deny", value: UNKNOWN }])).toEqual({
      inputs: { entries: UNKNOWN },
      failures: [],
    });
    expect(checkEntries([{ list: "deny", value: "evil.example", comment: UNKNOWN }])).toEqual({
      inputs: { entries: { "evil.example": UNKNOWN } },
      failures: [],
    });
    expect(
      checkEntries({ "evil.example": "deny" }, { ignore: [UNKNOWN], mode: UNKNOWN, maxRemovals: UNKNOWN }).failures,
    ).toEqual([]);
  });

  it("is not matched against patterns", () => {
    const content = { "x.example": { list: "deny", comment: UNKNOWN } };
    expect(checkEntries(content, { protect: ["deny:x.example"], ignore: ["allow:*"] }).failures).toEqual([]);
  });

  it("is rejected inside a field that must be text", () => {
    for (const odd of [[UNKNOWN], { x: UNKNOWN }]) {
      for (const name of ["list", "value", "comment", "verdictScope", "acceptRisk"]) {
        const { failures } = checkEntries([{ list: "deny", value: "evil.example", [name]: odd }]);
        expect(failures.map(({ property }) => property)).toEqual([`entries[0].${name}`]);
      }
    }
  });

  it("does not hide mistakes in other elements", () => {
    expect(formatReasons(checkEntries([UNKNOWN, { list: "deny", value: "not a domain" }]))).toEqual([
      expect.stringContaining("entries[1].value"),
    ]);
  });
});

describe("risky list entry", () => {
  const own = new OwnDomains(["acme.example"]);
  const checkEntryContent = (content: unknown) => checkList(ENTRY_LIST_KIND, { entries: content }, {}, own);
  const extractPlaces = (content: unknown) =>
    checkEntryContent(content).failures.map(
      ({ property, reason }) => `${property} ${/\((\S+?)[,)]/.exec(reason)?.[1]}`,
    );

  it("is reported with its path in every form", () => {
    expect(
      extractPlaces([
        { list: "deny", value: "evil.example" },
        { list: "allow", value: "GMAIL.com" },
        { list: "allow", value: "10.0.0.1", verdictScope: "graymail" },
        { list: "deny", value: "ceo@acme.example", comment: UNKNOWN },
      ]),
    ).toEqual(["entries[1] allow-free-mail", "entries[2] allow-private-address", "entries[3] deny-own-domain"]);
    const risky = { "acme-login.example": "allow: why", "evil.example": "deny", "gmail.com": "deny" };
    const expectedPlaces = ['entries["acme-login.example"] allow-look-alike', 'entries["gmail.com"] deny-free-mail'];
    expect(extractPlaces(risky)).toEqual(expectedPlaces);
    expect(extractPlaces({ ...risky, "news.example (graymail)": "deny" })).toEqual(expectedPlaces);
    // The list also has an element that is still unknown in a preview.
    expect(extractPlaces([{ list: "allow", value: "gmail.com" }, UNKNOWN])).toEqual(["entries[0] allow-free-mail"]);
  });

  it("is accepted with a reason", () => {
    const keyed = { "gmail.com": "allow (risk accepted: Fair (until May)): INC-7" };
    for (const content of [
      [{ list: "allow", value: "gmail.com", comment: "INC-7", acceptRisk: " Fair (until May)\r\n" }],
      { "gmail.com": { list: "allow", comment: "INC-7", acceptRisk: "Fair (until May)" } },
      { "GMail.com": "allow (risk accepted:  Fair (until May) ):INC-7" },
      keyed,
    ]) {
      expect(checkEntryContent(content)).toEqual({ inputs: { entries: keyed }, failures: [] });
    }
    expect(encodeListContent(ENTRY_LIST_KIND, [{ list: "allow", value: "gmail.com" }])).toEqual({
      "gmail.com": "allow",
    });
    const later = checkEntryContent([{ list: "allow", value: "gmail.com", acceptRisk: UNKNOWN }]);
    expect(later).toEqual({ inputs: { entries: { "gmail.com": UNKNOWN } }, failures: [] });
    // A leftover reason for an entry without risk is harmless.
    expect(checkEntryContent({ "partner.example": "allow (risk accepted: once)" }).failures).toEqual([]);
  });

  it("is rejected without a valid reason", () => {
    expect(formatReasons(checkEntryContent([{ list: "allow", value: "gmail.com", acceptRisk: " " }]))).toEqual([
      "entries[0].acceptRisk is empty; give the reason to accept the risk, or leave it out",
    ]);
    expect(formatReasons(checkEntryContent([{ list: "allow", value: "gmail.com", acceptRisk: true }]))).toEqual([
      "entries[0].acceptRisk must be text, not true",
    ]);
    expect(extractPlaces({ "gmail.com": "allow (risk accepted: )" })).toEqual(['entries["gmail.com"] allow-free-mail']);
    expect(formatReasons(checkEntryContent({ "gmail.com": "allow (risk accepted: a) b)" }))).toEqual([
      'entries["gmail.com"] is "allow (risk accepted: a) b)"; write "allow (risk accepted: reason): comment", and escape a lone bracket in the reason as \\( or \\)',
    ]);
  });
});

import { describe, expect, it } from "vitest";
import { type Edit, editSettings } from "../../../provider/settings-files/settings-editor";

const FILE = `version: 1
# Who signs payments
vips:
  - ceo@acme.example   # boss

allow: [a.example, { value: b.example, comment: hi }] # two
deny: # mine
  # lead
  - a.example # t
  # about b
  - value: b.example
    # inner
    comment: |
      x
      y
    # after b

  # detached

  - { value: c.example, comment: d }
  - value: e.example
    ticket: q

# the end`;

/** Returns the removed and added lines, as in a diff. */
function diffEdit(before: string, edits: readonly Edit[]): string[] {
  const [old, now] = [before.split("\n"), editSettings(before, edits).split("\n")];
  let [start, end] = [0, 0];
  while (start < Math.min(old.length, now.length) && old[start] === now[start]) start += 1;
  while (end < Math.min(old.length, now.length) - start && old.at(-1 - end) === now.at(-1 - end)) end += 1;
  return [
    ...old.slice(start, old.length - end).map((line) => `-${line}`),
    ...now.slice(start, now.length - end).map((line) => `+${line}`),
  ];
}

describe("editSettings", () => {
  it("adds an element in sorted position", () => {
    const element = { value: "bb.example", comment: "no: yes" };
    expect(diffEdit(FILE, [{ action: "add", section: "deny", element, yamlComment: "seen\nin May" }])).toEqual([
      "+  # seen",
      "+  # in May",
      "+  - value: bb.example",
      '+    comment: "no: yes"',
    ]);
    expect(diffEdit(FILE, [{ action: "add", section: "vips", element: { email: "zed@acme.example" } }])).toEqual([
      "+  - zed@acme.example",
    ]);
  });

  it("adds to a flow list with the note above the section", () => {
    const element = { value: "2001:db8::1", comment: "a, b" };
    expect(diffEdit(FILE, [{ action: "add", section: "allow", element, yamlComment: "why" }])).toEqual([
      "-allow: [a.example, { value: b.example, comment: hi }] # two",
      "+# why",
      '+allow: [{ value: "2001:db8::1", comment: "a, b" }, a.example, { value: b.example, comment: hi }] # two',
    ]);
  });

  it("removes an element with its own comments", () => {
    expect(diffEdit(FILE, [{ action: "remove", section: "deny", value: "B.example" }])).toEqual([
      "-  # about b",
      "-  - value: b.example",
      "-    # inner",
      "-    comment: |",
      "-      x",
      "-      y",
      "-    # after b",
    ]);
    expect(diffEdit(FILE, [{ action: "remove", section: "vips", value: "ceo@acme.example" }])).toEqual([
      "-vips:",
      "-  - ceo@acme.example   # boss",
      "+vips: []",
    ]);
  });

  it.each([
    ["a short element", "  - a.example # t\n", "    # about b\n", "  - b.example\n"],
    ["a mapping", "  - value: a.example\n    ticket: q\n    # inside\n", "   # about b\n", "  - b.example\n"],
    ["a flow mapping", "- { value: a.example }\n", "  # about b\n", "- b.example\n"],
    ["a block scalar", "- value: a.example\n  comment: |\n    # text\n", " # about b\n", "- b.example\n"],
    ["the last element", "- a.example\n", "  # end of the section\n", ""],
  ])("keeps the comment lines below %s that it removes", (_label, element, comment, next) => {
    const edits: Edit[] = [{ action: "remove", section: "deny", value: "a.example" }];
    const before = element.startsWith(" ") ? "  - 0.example\n" : "- 0.example\n";
    const after = "allow:\n  - c.example\n";
    const appendSection = (section: string): string => `version: 1\ndeny:\n${before}${section}${next}${after}`;
    const prependSection = (section: string, head = ""): string =>
      `version: 1\ndeny:${head}\n${section}${next}${after}`;
    expect(editSettings(appendSection(element + comment), edits)).toBe(appendSection(comment));
    expect(editSettings(prependSection(element + comment), edits)).toBe(
      prependSection(comment, next === "" ? " []" : ""),
    );
  });

  it("keeps the comment lines below an element that it changes in the same edit", () => {
    const file = "version: 1\ndeny:\n  - a.example\n    # about b\n  - b.example\n";
    const edits: Edit[] = [
      { action: "set", section: "deny", value: "a.example", key: "ticket", newValue: "INC-7" },
      { action: "add", section: "deny", element: { value: "aa.example" } },
    ];
    const changed =
      "version: 1\ndeny:\n  - value: a.example\n    ticket: INC-7\n    # about b\n  - aa.example\n  - b.example\n";
    expect(editSettings(file, edits)).toBe(changed);
    const remove: Edit = { action: "remove", section: "deny", value: "a.example" };
    expect(editSettings(file, [...edits, remove])).toBe(
      "version: 1\ndeny:\n    # about b\n  - aa.example\n  - b.example\n",
    );
  });

  it("sets a field of an element", () => {
    const setField = (value: string, key: "comment" | "owner" | "ticket", newValue: string | undefined) =>
      diffEdit(FILE, [{ action: "set", section: "deny", value, key, newValue }]);
    expect(setField("a.example", "comment", "010")).toEqual([
      "-  - a.example # t",
      "+  - value: a.example # t",
      '+    comment: "010"',
    ]);
    expect(setField("b.example", "owner", "Dana Reyes")).toEqual(["+    owner: Dana Reyes"]);
    expect(setField("b.example", "comment", "one\ntwo")).toEqual([
      "-    comment: |",
      "-      x",
      "-      y",
      '+    comment: "one\\ntwo"',
    ]);
    expect(setField("c.example", "comment", undefined)).toEqual([
      "-  - { value: c.example, comment: d }",
      "+  - { value: c.example }",
    ]);
    expect(setField("e.example", "ticket", undefined)).toEqual(["-    ticket: q"]);
  });

  it("adds a missing section in its usual position", () => {
    const result = editSettings("version: 1\n# before\nallow: [x.example]\n# after\n", [
      { action: "add", section: "deny", element: { value: "b.example" } },
      { action: "add", section: "vips", element: { email: "b@acme.example", comment: "x" } },
    ]);
    expect(result).toBe(
      "version: 1\nvips:\n  - email: b@acme.example\n    comment: x\n\n# before\nallow: [x.example]\n\ndeny:\n  - b.example\n# after\n",
    );
    const json = '{"version": 1,\n "deny": ["a.example"]}';
    expect(editSettings(json, [{ action: "add", section: "vips", element: { email: "b@a.example" } }])).toBe(
      '{"version": 1,\n "deny": ["a.example"],\n "vips": ["b@a.example"]}',
    );
  });

  it("turns an empty section into a block indented like the others", () => {
    const edits: Edit[] = [{ action: "add", section: "allow", element: { value: "b.example", comment: "x" } }];
    expect(editSettings("version: 1\nallow: [] # none\ndeny:\n- x.example\n", edits)).toBe(
      "version: 1\nallow: # none\n- value: b.example\n  comment: x\ndeny:\n- x.example\n",
    );
  });

  it("keeps the lines of a multi-line flow list", () => {
    const file = "version: 1\ndeny: [\n  a.example, # a\n  # of b\n  b.example # b\n]\n";
    const element = { value: "bb.example" };
    expect(editSettings(file, [{ action: "add", section: "deny", element, yamlComment: "new" }])).toBe(
      "version: 1\ndeny: [\n  a.example, # a\n  # of b\n  b.example, # b\n  # new\n  bb.example\n]\n",
    );
    expect(editSettings(file, [{ action: "remove", section: "deny", value: "b.example" }])).toBe(
      "version: 1\ndeny: [\n  a.example # a\n]\n",
    );
    expect(editSettings(file, [{ action: "remove", section: "deny", value: "a.example" }])).toBe(
      "version: 1\ndeny: [\n  # of b\n  b.example # b\n]\n",
    );
  });

  it("distinguishes two scopes of one value", () => {
    const file = "version: 1\ndeny:\n  - x.example\n  - { value: x.example, scope: graymail }\n";
    const remove = { action: "remove", section: "deny", value: "x.example" } as const;
    expect(() => editSettings(file, [remove])).toThrow(/more than once/);
    expect(editSettings(file, [{ ...remove, scope: "global" }])).toBe(
      "version: 1\ndeny:\n  - { value: x.example, scope: graymail }\n",
    );
  });

  it.each<[label: string, text: string, edit: Edit, reason: RegExp]>([
    [
      "what is not there",
      FILE,
      { action: "remove", section: "deny", value: "zz.example" },
      /"zz.example" isn't listed under deny/,
    ],
    [
      "a section that is not there",
      "version: 1\n",
      { action: "remove", section: "deny", value: "zz.example" },
      /isn't listed under deny/,
    ],
    [
      "an existing element",
      FILE,
      { action: "add", section: "deny", element: { value: "A.example" } },
      /already listed under deny/,
    ],
    ["an element without a value", FILE, { action: "add", section: "deny", element: { comment: "x" } }, /has no value/],
    [
      "a file with invalid YAML",
      "version: [",
      { action: "remove", section: "deny", value: "x" },
      /can't be read: .*yaml-syntax/,
    ],
    [
      "a file with a trap",
      "version: 1\ndeny: [no]\n",
      { action: "remove", section: "deny", value: "no" },
      /yaml-boolean/,
    ],
    [
      "a file that is a list",
      "- a\n",
      { action: "add", section: "deny", element: { value: "x.example" } },
      /isn't a mapping/,
    ],
    [
      "a section that isn't a list",
      "deny: x\n",
      { action: "add", section: "deny", element: { value: "x.example" } },
      /its deny isn't a list/,
    ],
    [
      "keys of another style",
      "? deny\n: - a.example\n",
      { action: "remove", section: "deny", value: "a.example" },
      /can't be edited line by line/,
    ],
  ])("rejects %s with the reason", (_label, text, edit, reason) => {
    expect(() => editSettings(text, [edit])).toThrow(
      expect.objectContaining({ code: "ERR_SETTINGS_EDIT", message: expect.stringMatching(reason) }),
    );
  });

  it("edits thousands of entries at once", () => {
    const values = Array.from({ length: 5_000 }, (_, index) => `host${String(index).padStart(5, "0")}.example`);
    const file = `version: 1\ndeny:\n${values.map((value) => `  - ${value}\n`).join("")}`;
    const edits = values.flatMap((value, index): Edit[] => {
      if (index % 5 === 0) return [{ action: "remove", section: "deny", value }];
      return index % 5 === 1 ? [{ action: "add", section: "deny", element: { value: `x${value}` } }] : [];
    });
    const lines = editSettings(file, edits).split("\n");
    expect(lines).toHaveLength(values.length + 3);
    expect(lines.slice(2, -1)).toEqual(lines.slice(2, -1).toSorted());
  });
});

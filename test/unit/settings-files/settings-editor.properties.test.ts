import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Edit, editSettings } from "../../../provider/settings-files/settings-editor";
import { readYaml } from "../../../provider/settings-files/yaml-source";
import { hostileText } from "../../support/hostile-text";
import { getRunCount } from "../../support/matrix-sampling";

const anyText = fc.oneof(
  hostileText,
  fc.string({ unit: "binary", maxLength: 30 }),
  fc.string({ maxLength: 30 }),
  fc.constantFrom(
    ..."no|yes|y|on|Off|NULL|~|null|true|010|1.10|1e3|0x1F|0o17|1_000|.5|+1|12:30|190:20:30.15|2001:10:20::1".split(
      "|",
    ),
    ..."2001:db8::|::1|2027-03-31|2027-03-31 10:00|- a|a: b|a #b|#a|&a|*a|!a|%a|@a|`a|{a|[a|a,b|a]|'a|\"a|? a|: a|a:|---|...|<<|=".split(
      "|",
    ),
    "",
    " ",
    "a ",
    " a",
    "\ta",
    "one\ntwo",
    "one\n\n  two",
    "\none",
    "one\n",
    "one\n\ttwo",
    "one \ntwo",
    "# one\n# two",
    "one\r\ntwo",
    "---\n...",
    "\uFEFFa",
    "a\u00a0b",
  ),
);

/** An element of a generated file, with its own lines. */
interface GeneratedElement {
  readonly value: string;
  readonly lines: readonly string[];
  readonly data: Record<string, string>;
}

type ElementStyle = "short" | "double" | "single" | "long" | "longQuoted" | "flow" | "block" | "apart" | "backwards";

const STYLES: readonly ElementStyle[] = [
  "short",
  "double",
  "single",
  "long",
  "longQuoted",
  "flow",
  "block",
  "apart",
  "backwards",
];

function buildElement(
  value: string,
  style: ElementStyle,
  index: number,
  column: number,
  name: string,
): GeneratedElement {
  const key = name === "vips" ? "email" : "value";
  const pad = " ".repeat(column);
  const long = { [key]: value, comment: `Why ${index}` };
  const inner = `${pad}  `;
  const written: Record<ElementStyle, [lines: string[], data: Record<string, string>]> = {
    short: [[`${pad}- ${value}${index % 2 === 0 ? "" : `   # beside ${name} ${value}`}`], { [key]: value }],
    double: [[`${pad}- "${value}"`], { [key]: value }],
    single: [[`${pad}-   '${value}'`], { [key]: value }],
    long: [
      [
        `${pad}- ${key}: ${value}`,
        `${inner}# in ${name} ${value}`,
        `${inner}comment: Why ${index}   # beside ${name} ${value}`,
      ],
      long,
    ],
    longQuoted: [[`${pad}-   ${key}: '${value}'`, `${inner}  comment: "Why ${index}"`], long],
    flow: [[`${pad}- { ${key}: ${value}, comment: "Why ${index}" }`], long],
    block: [
      [
        `${pad}- ${key}: ${value}`,
        `${inner}comment: |`,
        `${inner}  Why ${index}`,
        "",
        `${inner}  and why`,
        `${inner}owner: Me`,
      ],
      { [key]: value, comment: `Why ${index}\n\nand why\n`, owner: "Me" },
    ],
    apart: [
      [`${pad}-`, `${inner}# first ${name} ${value}`, `${inner}${key}: ${value}`, `${inner}comment: Why ${index}`],
      long,
    ],
    backwards: [[`${pad}- comment: Why ${index}`, `${inner}${key}: ${value}`, `${inner}# last ${name} ${value}`], long],
  };
  const [lines, data] = written[style];
  return { value, lines, data };
}

/** A section as lines: each belongs to an element, named by its value, or to none. */
interface GeneratedSection {
  readonly name: "vips" | "allow" | "deny";
  readonly elements: readonly GeneratedElement[];
  readonly lines: readonly { readonly text: string; readonly element?: string }[];
}

function generateSection(name: GeneratedSection["name"]): fc.Arbitrary<GeneratedSection> {
  const element = fc.record({
    label: fc.stringMatching(/^[a-z]{1,3}$/),
    style: fc.constantFrom(...STYLES),
    above: fc.constantFrom("nothing", "comment", "two comments", "blank", "apart", "apart and comment"),
  });
  return fc
    .record({
      column: fc.constantFrom(0, 2, 4),
      isSorted: fc.boolean(),
      elements: fc.uniqueArray(element, { selector: ({ label }) => label, minLength: 1, maxLength: 6 }),
    })
    .map(({ column, isSorted, elements }) => {
      const ordered = isSorted ? elements.toSorted((a, b) => (a.label < b.label ? -1 : 1)) : elements;
      const pad = " ".repeat(column);
      const lines: { text: string; element?: string }[] = [{ text: `${name}:   # the ${name}` }];
      const all = ordered.map(({ label, style, above }, index) => {
        const value = name === "vips" ? `${label}@acme.example` : `${label}.example`;
        if (above.startsWith("apart")) lines.push({ text: `${pad}# group ${name} ${index}` });
        if (above === "blank" || above.startsWith("apart")) lines.push({ text: "" });
        const comments = above === "two comments" ? 2 : Number(above.endsWith("comment"));
        for (let count = 0; count < comments; count += 1) {
          lines.push({ text: `${pad}# about ${name} ${index} ${count}`, element: value });
        }
        const generatedElement = buildElement(value, style, index, column, name);
        for (const text of generatedElement.lines) lines.push({ text, element: value });
        return generatedElement;
      });
      return { name, elements: all, lines };
    });
}

const madeFile = fc
  .record({
    sections: fc.tuple(
      fc.option(generateSection("vips")),
      fc.option(generateSection("allow")),
      fc.option(generateSection("deny")),
    ),
    lineEnd: fc.constantFrom("\n", "\r\n"),
    isOpen: fc.boolean(),
    hasMark: fc.boolean(),
    hasBlankLines: fc.boolean(),
  })
  .map(({ sections, lineEnd, isOpen, hasMark, hasBlankLines }) => {
    const there = sections.filter((section) => section !== null);
    const lines: { text: string; element?: string }[] = [{ text: "# A file" }, { text: "version: 1" }];
    for (const { name, lines: own } of there) {
      if (hasBlankLines) lines.push({ text: "" }, { text: `# over ${name}` });
      lines.push(
        ...own.map(({ text, element }) => (element === undefined ? { text } : { text, element: `${name} ${element}` })),
      );
    }
    lines.push({ text: "ownDomains: [ 'acme.example' ]" });
    const text = lines.map((line) => line.text).join(lineEnd) + (isOpen ? "" : lineEnd);
    return { sections: there, lines, lineEnd, isOpen, text: (hasMark ? "\uFEFF" : "") + text };
  });

const anyEdit = fc.record({
  do: fc.constantFrom("add", "remove", "set"),
  section: fc.constantFrom("vips", "allow", "deny"),
  at: fc.nat(),
  label: fc.stringMatching(/^[a-z]{4,5}$/),
  key: fc.constantFrom("comment", "owner", "ticket", "acceptRisk"),
  text: anyText,
  isShort: fc.boolean(),
  isTakenAway: fc.boolean(),
  note: fc.option(anyText, { nil: undefined }),
});

type Data = Record<string, unknown>;

function parseContent(text: string): Record<string, unknown> {
  const source = readYaml(text.replace(/^\uFEFF/, ""), "a file");
  expect(source.findings).toEqual([]);
  return source.value as Record<string, unknown>;
}

function listElements(text: string, section: string): Data[] {
  const key = section === "vips" ? "email" : "value";
  const list = (parseContent(text)[section] ?? []) as (Data | string)[];
  return list.map((item) => (typeof item === "string" ? { [key]: item } : item));
}

const sortElements = (elements: readonly Data[]): Data[] =>
  elements.toSorted((a, b) => (String(a["value"] ?? a["email"]) < String(b["value"] ?? b["email"]) ? -1 : 1));

function removeBlankLines(text: string): string {
  return text.replace(/(?<=\n)\r?\n/g, "");
}

/** Returns whether all lines occur in this order, possibly with others in between. */
function containsInOrder(lines: readonly string[], expectedLines: readonly string[]): boolean {
  let index = 0;
  for (const line of lines) if (index < expectedLines.length && line === expectedLines[index]) index += 1;
  return index === expectedLines.length;
}

describe("editSettings on files of every style", () => {
  it("leaves every other line unchanged", () => {
    fc.assert(
      fc.property(madeFile, fc.array(anyEdit, { minLength: 1, maxLength: 5 }), (file, wishes) => {
        const expectedElements = new Map<string, Data[]>(
          ["vips", "allow", "deny"].map((name) => [
            name,
            (file.sections.find((section) => section.name === name)?.elements ?? []).map(({ data }) => data),
          ]),
        );
        const touched = new Set<string>();
        const emptied = new Set<string>();
        const edits: Edit[] = [];
        for (const wish of wishes) {
          const key = wish.section === "vips" ? "email" : "value";
          const elements = expectedElements.get(wish.section) ?? [];
          const section = wish.section as "vips" | "allow" | "deny";
          if (wish.do === "add") {
            const value = wish.section === "vips" ? `${wish.label}@acme.example` : `${wish.label}.example`;
            if (elements.some((data) => data[key] === value)) continue;
            const element = { [key]: value, ...(wish.isShort ? {} : { [wish.key]: wish.text }) };
            edits.push({
              action: "add",
              section,
              element,
              ...(wish.note === undefined ? {} : { yamlComment: wish.note }),
            });
            elements.push(element);
            continue;
          }
          const index = elements.length === 0 ? -1 : wish.at % elements.length;
          const element = elements[index];
          if (element === undefined) continue;
          const value = String(element[key]);
          touched.add(`${section} ${value}`);
          if (wish.do === "remove") {
            edits.push({ action: "remove", section, value: value.toUpperCase() });
            elements.splice(index, 1);
            if (elements.length === 0) emptied.add(section);
          } else {
            const newValue = wish.isTakenAway ? undefined : wish.text;
            edits.push({ action: "set", section, value, key: wish.key as "comment", newValue });
            const { [wish.key]: _before, ...rest } = element;
            elements[index] = newValue === undefined ? rest : { ...rest, [wish.key]: newValue };
          }
        }
        const result = editSettings(file.text, edits);

        for (const [name, elements] of expectedElements)
          expect(sortElements(listElements(result, name))).toEqual(sortElements(elements));
        expect(parseContent(result)["ownDomains"]).toEqual(["acme.example"]);
        // Otherwise only the heading of a section that lost all its elements changes.
        const isKept = ({ text, element }: { text: string; element?: string }): boolean =>
          element === undefined ? ![...emptied].some((name) => text.startsWith(`${name}:`)) : !touched.has(element);
        const kept = file.lines.filter(isKept).map(({ text }) => text);
        const lines = result.replace(/^\uFEFF/, "").split(file.lineEnd);
        expect(containsInOrder(lines, kept), `${file.text}\n=====\n${result}\n=====\n${JSON.stringify(edits)}`).toBe(
          true,
        );
        expect(result.endsWith("\n")).toBe(file.text.endsWith("\n"));
        expect(result.startsWith("\uFEFF")).toBe(file.text.startsWith("\uFEFF"));
        if (file.lineEnd === "\r\n") expect(result.replaceAll("\r\n", "")).not.toContain("\n");
        for (const removalEdit of edits) {
          if (removalEdit.action !== "remove") continue;
          const own = file.lines.filter(
            ({ element }) => element === `${removalEdit.section} ${removalEdit.value.toLowerCase()}`,
          );
          // A line such as "owner: Me" occurs in other elements too.
          for (const { text } of own.filter((line) => line.text.includes("#"))) expect(lines).not.toContain(text);
        }
      }),
      { numRuns: getRunCount(250) },
    );
  });

  it("restores the file when an added element is removed", () => {
    fc.assert(
      fc.property(madeFile, fc.constantFrom("vips", "allow", "deny"), anyText, (file, section, comment) => {
        if (!file.sections.some(({ name }) => name === section)) return;
        const element = section === "vips" ? { email: "zzzz@zzzz.example" } : { value: "zzzz.example" };
        const yamlComment = "from the console";
        const added = editSettings(file.text, [
          { action: "add", section, element: { ...element, comment }, yamlComment },
        ]);
        const value = element.email ?? element.value ?? "";
        expect(added).not.toBe(file.text);
        const removedText = editSettings(added, [{ action: "remove", section, value }]);
        expect(removeBlankLines(removedText)).toBe(removeBlankLines(file.text));
        if (!/\n\r?\n/.test(file.text)) expect(removedText).toBe(file.text);
      }),
    );
  });

  it("writes any text so that it reads back exactly", () => {
    fc.assert(
      fc.property(
        anyText,
        fc.constantFrom(
          "deny: []\n",
          "deny: [a.example]\n",
          "deny:\n- a.example\n",
          "{ deny: [] }",
          '{"deny": ["a.example"]}',
        ),
        (text, rest) => {
          const isRoot = rest.startsWith("{");
          const file = isRoot ? rest.replace("{", '{"version": 1,') : `version: 1\n${rest}`;
          const result = editSettings(file, [
            { action: "add", section: "deny", element: { value: "x.example", comment: text }, yamlComment: text },
            { action: "set", section: "deny", value: "x.example", key: "owner", newValue: text },
          ]);
          const element = listElements(result, "deny").find(({ value }) => value === "x.example");
          expect(element).toEqual({ value: "x.example", comment: text, owner: text });
          // Invisible characters are escaped by code point, for which JSON has no syntax beyond four digits.
          if (rest.startsWith('{"') && !/\\U[0-9a-f]{8}/.test(result)) {
            expect(JSON.parse(result)).toHaveProperty("deny");
          }
        },
      ),
      { numRuns: getRunCount(500) },
    );
  });

  it("applies several edits of a flow list as it applies each alone", () => {
    const name = fc.stringMatching(/^[a-d]{1,2}$/);
    const gap = fc.constantFrom("", " ", "\n  ", "\n  # above\n  ", "\n\n  ");
    const element = fc.record({
      name,
      gap,
      behind: fc.constantFrom("", "", " ", "\n  "),
      style: fc.constantFrom(
        (value: string) => value,
        (value: string) => `"${value}"`,
        (value: string) => `{ value: ${value}, comment: why }`,
        (value: string) => `{value: ${value},\n    # in\n    owner: Me }`,
      ),
    });
    const elements = fc.uniqueArray(element, { selector: (item) => item.name, minLength: 1, maxLength: 6 });
    const edit = fc.record({
      do: fc.constantFrom("add", "remove", "set"),
      name,
      to: fc.option(fc.constant("x")),
    });
    const edits = fc.array(edit, { minLength: 2, maxLength: 8 });
    fc.assert(
      fc.property(elements, edits, gap, fc.boolean(), fc.boolean(), (all, wishes, last, hasComma, hasNote) => {
        const written = all.map(({ name, gap, behind, style }) => gap + style(`${name}.example`) + behind);
        const text = `version: 1\ndeny: [${written.join(",")}${hasComma && all.length > 0 ? "," : ""}${last}]\n`;
        const names = new Set(all.map((item) => item.name));
        const edits = wishes.flatMap(({ do: action, name, to }): Edit[] => {
          const value = `${name}.example`;
          if ((action === "add") === names.has(name)) return [];
          if (action === "add") {
            names.add(name);
            const element = to === null ? { value } : { value, comment: to };
            return [{ action, section: "deny", element, ...(hasNote && { yamlComment: `about ${name}` }) }];
          }
          if (action === "set") return [{ action, section: "deny", value, key: "comment", newValue: to ?? undefined }];
          names.delete(name);
          return [{ action: "remove", section: "deny", value }];
        });
        expect(editSettings(text, edits)).toBe(edits.reduce((done, item) => editSettings(done, [item]), text));
      }),
      { numRuns: getRunCount(250) },
    );
  });
});

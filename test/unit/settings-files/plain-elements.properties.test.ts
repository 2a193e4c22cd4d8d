import fc from "fast-check";
import { expect, it } from "vitest";
import { readFullYaml, type YamlSource } from "../../../provider/settings-files/full-yaml";
import { extractPlainElements } from "../../../provider/settings-files/plain-elements";
import { readYaml } from "../../../provider/settings-files/yaml-source";

/** The lines that files consist of: plain elements, lines that only look plain, and continuation lines. */
const LINES = [
  ..."deny:|allow:|vips:|deny:   # why|deny: []|deny: {}|deny: null|deny: &a|'deny':|? deny|remove:|  deny:|version: 1|---|...|%YAML 1.1|{|}|[|]|\"|'".split(
    "|",
  ),
  ..."  - a.example| - a.example|- a.example|   - a.example|  - b.example  # why|  -   c.example|  - 'd.example'|  - \"e.example\"|  - # why|  -".split(
    "|",
  ),
  ..."  - no|  - Null|  - 1.10|  - 12:30|  - 1_000|  - 0x1F|  - 1e3|  - 192.0.2.7|  - 2027-03-31|  - 3com.example|  - true.example|  - .5".split(
    "|",
  ),
  ..."  - value: a.example|    comment: why|    comment: a: b|    comment: a #b|    comment: a#b|    comment: it's|    comment: 'it''s'".split(
    "|",
  ),
  ...'    comment: "a \\" b"|    comment: yes|    comment:|    comment: >|    comment: \'a|      b\'|      more|    # in|  # above|# far|'.split(
    "|",
  ),
  ..."    reviewed: { on: 2026-11-23, by: d@acme.example, reason: still sending } # x|    reviewed: { on: 2026-11-23, by: no }".split(
    "|",
  ),
  ...'    reviewed: { on: 2026-11-23, by: "a, b" }|    reviewed: { on: 2026-11-23, by: 12 }|    reviewed: { on: 2026-11-23, by: a: b }'.split(
    "|",
  ),
  ..."    reviewed: { on: 2026-11-23, by: it's, reason: a - b }|    reviewed: { on: 2026-11-23, by: a -b, reason: a' b }|    reviewed: { on: 2026-11-23 }".split(
    "|",
  ),
  ..."  - { value: a.example, comment: a & b's #c, expires: 2027-03-31 }|  - { value: b.example, seen: { first: 2026-11-23 } }|  - { value: no }".split(
    "|",
  ),
  ..."  - { value: 'q.example' }|  - { email: a@b.example, comment: 'x' }|  - { value: c.example, comment: a #b }|  - { value: 12 }|  - { value: d, value: e }".split(
    "|",
  ),
  ...'  - { value: e.example, comment: "a, b: {c} [d]", seen: { first: 2026-11-23, last: 2026-11-24 } } # x|  - { value: f.example, }|  - { value: "g:h" }'.split(
    "|",
  ),
  "  - { value: i.example, seen: { first: 2026-11-23 }, comment: a }",
  "  - { value: j.example, comment: a  b }",
  "  - { value: k.example, comment: yes }",
  "    comment: |",
  "    comment: |+",
  ..."    value: b.example|    expires: 2027-03-31|    expires: 010|  - email: a@b.example|    reviewed: { on: 2026-11-23, by: Dana }|    reviewed:".split(
    "|",
  ),
  ..."  - value:a.example|  - value:|  - { value: f.example }|  - [g.example,|  - h.example]|  - &x i.example|  - *x|  - !t j|  - - k|  - ? l|  - |k".split(
    "|",
  ),
  "-other: |",
  "- |",
  "-",
  ":",
  ": x",
  '-"x": >',
  "  - |",
  "\t- a.example",
  "  -\ta.example",
  "  - a.example\t",
  "  - m\u00fcller.example",
  "  - a\u202eb.example",
  "  # \u2028 deny:",
  "    comment: \u00a0",
  "  ",
];

const section = fc.constantFrom("deny", "allow", "vips", "version", "remove", "none");
const index = fc.nat({ max: 12 });
const key = fc.constantFrom("value", "email", "comment", "expires", "reviewed", "none");
const paths = fc.oneof<[fc.Arbitrary<(string | number)[]>, ...fc.Arbitrary<(string | number)[]>[]]>(
  fc.tuple(section),
  fc.tuple(section, index),
  fc.tuple(section, index, key),
  fc.tuple(section, index, key, fc.constantFrom("on", "none")),
);

function describeSource(source: YamlSource, queries: readonly (readonly (string | number)[])[]) {
  const layout = source.getLayout();
  const keys = layout.keys.map((keyLayout) => ({
    ...keyLayout,
    items: keyLayout.items.map(({ start, end }) => ({ start, end })),
  }));
  return {
    value: source.value,
    findings: source.findings,
    layout: { ...layout, keys },
    places: queries.map((path) => [path, source.locate(path), source.locateKey(path), source.getRawText(path)]),
  };
}

/** Characters that a typing mistake inserts or puts in place of another. */
const TYPO_CHARACTERS = [..." \t\n\r-:#'\"[]{},&*!|>%@?~.ae019\u00e9\u2028\ufeff\u0085\u00a0\\"];

type Typo = readonly [at: number, sign: string, instead: number] | null;

function applyTypo(text: string, slip: Typo): string {
  if (slip === null || text === "") return text;
  const index = slip[0] % text.length;
  return text.slice(0, index) + slip[1] + text.slice(index + slip[2]);
}

it("reads a key starting with a dash as its own section", () => {
  const text = "deny:\n  - # why\n-other: |\n  - a.example\n";
  expect(readYaml(text, "a").value).toEqual({ deny: [null], "-other": "- a.example\n" });
  expect(readYaml(text, "a").value).toEqual(readFullYaml(text, "a").value);
});

it("reads any file exactly as the full YAML parser does", () => {
  const line = fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...LINES.slice(22, 34), "    comment: why") },
    fc.constantFrom(...LINES),
  );
  const sections = fc
    .tuple(fc.constantFrom("deny:", "allow:", "vips:", "version: 1", ""), fc.array(line, { maxLength: 8 }))
    .map(([head, lines]) => [head, ...lines]);
  let fastPathCount = 0;
  fc.assert(
    fc.property(
      fc.array(sections, { minLength: 1, maxLength: 3 }),
      fc.constantFrom("\n", "\r\n"),
      fc.boolean(),
      fc.array(paths, { minLength: 3, maxLength: 8 }),
      fc.option(fc.tuple(fc.nat(), fc.constantFrom(...TYPO_CHARACTERS), fc.nat(1)), { freq: 3 }),
      (tables, lineEnd, isOpen, queries, slip) => {
        const text = applyTypo(tables.flat().join(lineEnd) + (isOpen ? "" : lineEnd), slip);
        if (extractPlainElements(text).sections.length > 0 && readFullYaml(text, "a").findings.length === 0)
          fastPathCount += 1;
        expect(describeSource(readYaml(text, "a"), queries)).toStrictEqual(
          describeSource(readFullYaml(text, "a"), queries),
        );
      },
    ),
    { numRuns: 600 },
  );
  expect(fastPathCount).toBeGreaterThan(12);
});

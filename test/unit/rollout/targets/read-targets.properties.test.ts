import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import type { Target, Targets } from "../../../../provider/rollout/model/target";
import { readTargets } from "../../../../provider/rollout/targets/read-targets";
import type { TargetsFileError } from "../../../../provider/rollout/targets/targets-file-error";
import { getRunCount } from "../../../support/matrix-sampling";
import { createTestDirectory, type TestDirectory } from "../../../support/test-directory";

function readText(directory: TestDirectory, text: string): Targets {
  return readTargets(directory.write("tenants.yaml", text));
}

function captureTargetsError(directory: TestDirectory, text: string): TargetsFileError | undefined {
  try {
    readText(directory, text);
    return undefined;
  } catch (error) {
    expect(error).toMatchObject({ code: "ERR_ROLLOUT_TARGETS" });
    return error as TargetsFileError;
  }
}

const characters = "abcXYZ019_.-";
const name = fc
  .string({ unit: fc.constantFrom(...characters), minLength: 1, maxLength: 12 })
  .filter((candidate) => ![".", ".."].includes(candidate));
const word = fc.oneof(
  name,
  fc.constantFrom("yes", "010", "1e3", "null", "~", "2026-11-21", "a: b", "#x", "ünï", "'\"", "*"),
);
const labels = fc.dictionary(fc.constantFrom("ring", "region", "a/b", "no", "007"), word, { maxKeys: 3 });
const generatePart = (least: number) =>
  fc.oneof(
    fc.integer({ min: least, max: 500 }),
    fc.integer({ min: 1, max: 10_000 }).map((hundredths) => `${hundredths / 100}%`),
  );
const tenant = fc.record(
  {
    baseUrl: fc.constantFrom("https://one.example", "https://two.example/api"),
    settings: fc.constantFrom("a.yaml", "{name}/b.yml", "./c/{NAME}.yaml"),
    labels,
    resource: word,
  },
  { requiredKeys: [] },
);
const wave = fc.record(
  {
    match: fc.dictionary(
      fc.constantFrom("ring", "region"),
      fc.oneof(word, fc.array(word, { minLength: 1, maxLength: 3 })),
    ),
    limit: generatePart(1),
    maxConcurrent: fc.integer({ min: 1, max: 99 }),
    failureTolerance: generatePart(0),
    soak: fc.tuple(fc.integer({ min: 0, max: 29 }), fc.constantFrom("s", "m", "h", "d")).map((row) => row.join("")),
    gate: fc.boolean(),
  },
  { requiredKeys: [] },
);
const anyFile = fc.record({
  defaultLabels: labels,
  tenants: fc.uniqueArray(fc.tuple(name, tenant), { minLength: 1, maxLength: 8, selector: ([item]) => item }),
  waves: fc.uniqueArray(fc.tuple(name, wave), { minLength: 1, maxLength: 4, selector: ([item]) => item }),
});

type TargetsFile = typeof anyFile extends fc.Arbitrary<infer Value> ? Value : never;

/** A wave without matching tenants must not have settings that would be lost with it. */
const file = anyFile.map(({ defaultLabels, tenants, waves }) => {
  const isMatch = ({ match = {} }: (typeof waves)[number][1]): boolean =>
    tenants.some(([, item]) =>
      Object.entries(match).every(([label, values]) =>
        [values].flat().includes({ ...defaultLabels, ...item.labels }[label] ?? ""),
      ),
    );
  const kept = waves.map(([waveName, item]): (typeof waves)[number] => {
    const { gate: _gate, soak: _soak, ...rest } = item;
    return [waveName, isMatch(item) ? item : rest];
  });
  return { defaultLabels, tenants, waves: kept };
});

/** Returns the file as plain data. The key is a command, which differs for each name. */
function buildPlainFile({ defaultLabels, tenants, waves }: TargetsFile) {
  return {
    version: 1,
    defaults: {
      baseUrl: "https://all.example",
      key: { command: ["get", "{name}"] },
      settings: "settings/{name}.yaml",
      labels: defaultLabels,
    },
    // A map, since an object would put numeric names first.
    tenants: new Map<string, unknown>(tenants),
    waves: waves.map(([wave, rest]) => ({ name: wave, ...rest })),
  };
}

const parseTolerance = (item: number | string) =>
  typeof item === "number" ? { count: item } : { percent: Number.parseFloat(item) };

describe("a valid tenants file", () => {
  it.each([
    ["in blocks", (value: unknown) => stringify(value, { defaultStringType: "QUOTE_DOUBLE" })],
    ["as JSON", (value: unknown) => stringify(value, { defaultStringType: "QUOTE_DOUBLE", collectionStyle: "flow" })],
  ])("reads back unchanged when written %s", (_label, text) => {
    using directory = createTestDirectory();
    fc.assert(
      fc.property(file, (content) => {
        const { targets, waves } = readText(directory, text(buildPlainFile(content)));
        expect(targets.map(({ place: _, ...rest }) => rest)).toEqual(
          content.tenants.map(([tenantName, item]): Omit<Target, "place"> => {
            const capitals = tenantName.toUpperCase().replace(/[^A-Z0-9]/g, "_");
            const settings: Record<string, string> = {
              "a.yaml": "a.yaml",
              "{name}/b.yml": `${tenantName}/b.yml`,
              "./c/{NAME}.yaml": `c/${capitals}.yaml`,
            };
            return {
              name: tenantName,
              labels: { ...content.defaultLabels, ...item.labels },
              baseUrl: item.baseUrl ?? "https://all.example",
              key: { from: "command", command: ["get", tenantName] },
              settings: directory.at(settings[item.settings ?? ""] ?? `settings/${tenantName}.yaml`),
              stack: tenantName,
              ...(item.resource === undefined ? {} : { resource: item.resource }),
              allowInsecureHttp: false,
            };
          }),
        );
        const units: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400 };
        expect(waves.map(({ place: _, ...rest }) => rest)).toEqual(
          content.waves.map(([waveName, { match, limit, failureTolerance = 0, soak = "0s", ...rest }]) => ({
            name: waveName,
            ...(match === undefined
              ? {}
              : {
                  match: Object.fromEntries(Object.entries(match).map(([label, values]) => [label, [values].flat()])),
                }),
            ...(limit === undefined ? {} : { limit: parseTolerance(limit) }),
            maxConcurrent: rest.maxConcurrent ?? 1,
            failureTolerance: parseTolerance(failureTolerance),
            soakMs: Number.parseInt(soak, 10) * (units[soak.slice(-1)] ?? 0) * 1_000,
            gate: rest.gate ?? false,
          })),
        );
      }),
      { numRuns: getRunCount(60) },
    );
  });
});

describe("a YAML trap", () => {
  const LINES = [
    "version: 1",
    "defaults:",
    "  baseUrl: https://mail.example",
    "  key: { environment: '{NAME}_KEY' }",
    "  settings: '{name}.yaml'",
    "tenants:",
    ...Array.from({ length: 9 }, (_, index) => `  t${index}: { labels: { ring: beta } }`),
  ];

  it("is absent from a plain file", () => {
    using directory = createTestDirectory();
    expect(captureTargetsError(directory, LINES.join("\n"))).toBeUndefined();
  });

  it.each([
    ["  010: {}", "yaml-not-text"],
    ["  1e3: {}", "yaml-not-text"],
    ["  0x1F: {}", "yaml-not-text"],
    ["  true: {}", "yaml-not-text"],
    ["  ~: {}", "yaml-not-text"],
    ["  1_000: {}", "yaml-not-text"],
    ["  no: {}", "yaml-boolean"],
    ["  t1: {}\n  t1: {}", "yaml-duplicate-key"],
    ["  a: { stack: b, stack: c }", "yaml-duplicate-key"],
    ["  a: &a {}", "yaml-anchor"],
    ["  a: *b", "yaml-anchor"],
    ["  <<: {}", "yaml-anchor"],
    ["  a: !!map {}", "yaml-tag"],
    ["\ta: {}", "yaml-tab"],
    ["  a: { labels: { ring: 010 } }", "yaml-not-text"],
    ["  a: { labels: { ring: on } }", "yaml-boolean"],
    ["  a: { labels: { ring: 1.10 } }", "yaml-not-text"],
    ["  a: { labels: { ring: 1:30 } }", "yaml-not-text"],
    ["  a: { labels: { ring:beta } }", "invalid-value"],
    ["---", "yaml-documents"],
    ["  a: ]", "yaml-syntax"],
    ["  a: { stack: \u202eb }", "yaml-hidden"],
  ])("is found at its line: %j", (trap, code) => {
    using directory = createTestDirectory();
    fc.assert(
      fc.property(fc.integer({ min: 6, max: LINES.length }), (index) => {
        // A duplicate is reported at its second occurrence.
        const text = LINES.toSpliced(index, 0, ...trap.split("\n")).filter(
          (line) => !trap.includes("t1") || !line.startsWith("  t1: { "),
        );
        const findings = captureTargetsError(directory, text.join("\n"))?.findings ?? [];
        const last = trap.split("\n").at(-1) ?? "";
        expect(findings.map((finding) => `${finding.place?.line} ${finding.code}`)).toContain(
          `${text.lastIndexOf(last) + 1} ${code}`,
        );
      }),
      { numRuns: getRunCount(10) },
    );
  });
});

describe("a plaintext key", () => {
  const secret = fc.string({
    unit: fc.constantFrom(..."qwzQWZ0123456789_-.:*&!%@|>#$'\"{}[],="),
    minLength: 10,
    maxLength: 30,
  });
  const SPOTS: readonly ((secret: string) => string)[] = [
    (text) => `key: ${text}`,
    (text) => `key:${text}`,
    (text) => `key: "${text}"`,
    (text) => `key: '${text}'`,
    (text) => `key: [${text}]`,
    (text) => `key: { ${text} }`,
    (text) => `key: { ${text}: }`,
    (text) => `key: { value: ${text} }`,
    (text) => `key: { "${text}": 1, "${text}": 2 }`,
    (text) => `key: { environment: ${text} }`,
    (text) => `key: { environment: '$${text}' }`,
    (text) => `key: { command: ${text} }`,
    (text) => `key: { command: { ${text}: 1 } }`,
    (text) => `key:\n      ${text}`,
    (text) => `key:\n      value: ${text}`,
    (text) => `key: |\n      ${text}`,
    (text) => `key: &a ${text}`,
    (text) => `apiKey: ${text}`,
    (text) => `api_key:${text}`,
    (text) => `key:${text}: 1`,
    (text) => `mail-key:${text}:`,
    (text) => `token: "${text}`,
    (text) => `secret: { ${text}: { ${text}: } }`,
  ];

  it("appears in no error message", () => {
    using directory = createTestDirectory();
    const before = "version: 1\ntenants:\n  acme:\n    baseUrl: https://mail.example\n    settings: a.yaml\n    ";
    fc.assert(
      fc.property(secret, fc.constantFrom(...SPOTS), (item, spot) => {
        const error = captureTargetsError(directory, `${before}${spot(item)}\n`);
        const message = `${error?.message}`.replaceAll(directory.path, "");
        for (let index = 0; index + 6 <= item.length; index += 1)
          expect(message).not.toContain(item.slice(index, index + 6));
      }),
      { numRuns: getRunCount(500) },
    );
  });

  it.each(["key: abcdef123", "key: { value: abcdef123 }", "apiKey: abcdef123", "key: 123456", "key: [abcdef123]"])(
    "is rejected with the correct syntax: %s",
    (line) => {
      using directory = createTestDirectory();
      const text = `version: 1\ntenants:\n  acme:\n    baseUrl: https://mail.example\n    settings: a.yaml\n    ${line}\n`;
      const [finding] = captureTargetsError(directory, text)?.findings ?? [];
      expect(finding).toMatchObject({ code: "key-in-the-clear", place: { line: 6 } });
      expect(finding?.message).toMatch(/^key must specify the source of the key, .*\{ environment: ACME_API_KEY \}/);
    },
  );
});

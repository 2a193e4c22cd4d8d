import { createRequire } from "node:module";
import Ajv from "ajv-draft-04";
import addFormats from "ajv-formats";
import { describe, expect, it } from "vitest";
import { buildSarifLog } from "../../../../provider/commands/lint/sarif-log";
import { RISKS } from "../../../../provider/model/risk";
import type { Finding } from "../../../../provider/settings-files/finding";
import { FINDING_RULES } from "../../../../provider/settings-files/finding-rules";
import { lintSettings } from "../../../../provider/settings-files/lint";
import { createTestDirectory } from "../../../support/test-directory";

// The official schema by OASIS. One of its patterns isn't a valid regular expression with the "u" flag.
const require = createRequire(__filename);
const schema = require("@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json");
const ajv = new Ajv({ strict: false, allErrors: true, unicodeRegExp: false });
addFormats(ajv);
const isSarif = ajv.compile(schema);

interface SarifResult {
  ruleId: string;
  ruleIndex: number;
  level: string;
  message: { text: string };
  locations: { physicalLocation: { artifactLocation: object; region: object } }[];
  partialFingerprints: Record<string, string>;
}

interface SarifRun {
  tool: {
    driver: { rules: { id: string; help: { text: string }; defaultConfiguration: { level: string } }[] };
  };
  invocations: { toolExecutionNotifications: { message: { text: string } }[] }[];
  results: SarifResult[];
}

function buildRun(findings: readonly Finding[], root = "/repo", directory = "/repo"): SarifRun {
  const log = buildSarifLog(findings, { version: "1.2.3", root, directory });
  expect(isSarif(log), JSON.stringify(isSarif.errors?.slice(0, 5))).toBe(true);
  return (log["runs"] as SarifRun[])[0] as SarifRun;
}

function lintContent(content: string): readonly Finding[] {
  using directory = createTestDirectory({ "settings/tenant.yaml": content });
  const { findings } = lintSettings(directory.at("settings/tenant.yaml"), { today: "2026-11-21" });
  return findings.map((finding) => ({
    ...finding,
    message: finding.message.replaceAll(`${directory.path}/`, ""),
    place: finding.place && { ...finding.place, file: "settings/tenant.yaml" },
  })) as Finding[];
}

const TENANT = `version: 1
policy: { requireTicket: [allow] }
allow:
  - gmail.com
  - value: ok.evil.example
    ticket: INC-7
deny:
  - evil.example
  - mail.evil.example
`;

describe("a SARIF log", () => {
  it("holds each finding with its rule, level and region", () => {
    const run = buildRun(lintContent(TENANT));
    const { rules } = run.tool.driver;
    expect(
      run.results.map(({ ruleId, ruleIndex, level, locations }) => [
        ruleId,
        rules[ruleIndex]?.id,
        level,
        locations[0]?.physicalLocation.region,
      ]),
    ).toEqual([
      ["allow-free-mail", "allow-free-mail", "error", { startLine: 4, startColumn: 5, endLine: 4, endColumn: 14 }],
      ["policy-ticket", "policy-ticket", "error", { startLine: 4, startColumn: 5, endLine: 4, endColumn: 14 }],
      ["contradicted", "contradicted", "note", { startLine: 5, startColumn: 12, endLine: 5, endColumn: 27 }],
      ["shadowed", "shadowed", "warning", { startLine: 9, startColumn: 5, endLine: 9, endColumn: 22 }],
    ]);
    expect(rules.find(({ id }) => id === "allow-free-mail")?.help.text).toContain(RISKS["allow-free-mail"].explanation);
  });

  it("is valid without findings", () => {
    expect(buildRun([]).results).toEqual([]);
    expect(isSarif({ ...buildSarifLog([], { version: "1.2.3", root: "/repo" }), version: "2.0.0" })).toBe(false);
  });

  it("has a rule with help for every finding code", () => {
    for (const [code, { title, help, level }] of FINDING_RULES) {
      expect(code).toMatch(/^[a-z]+(-[a-z]+)*$/);
      expect(title.length, code).toBeGreaterThan(5);
      expect(help, code).toMatch(/\.$/);
      const [result] = buildRun([{ code, level, message: "…" }]).results;
      expect(result?.locations).toEqual([]);
    }
  });

  it("doesn't turn user text into links", () => {
    const [finding] = lintContent(
      'version: 1\nallow:\n  - value: gmail.com\n    acceptRisk: "see [here](https://evil.example)"\n',
    );
    const [result] = buildRun([finding as Finding]).results;
    expect(result?.message.text).toContain("see [here] (https://evil.example)");
  });
});

describe("a file location", () => {
  const getResultUri = (file: string, root: string, directory: string): unknown => {
    const location = { file, line: 1, column: 1 };
    const [result] = buildRun(
      [{ code: "shadowed", level: "warning", message: "…", place: location }],
      root,
      directory,
    ).results;
    return result?.locations[0]?.physicalLocation.artifactLocation;
  };

  it.each([
    ["settings/tenant.yaml", "/repo", "settings/tenant.yaml"],
    ["tenant.yaml", "/repo/sub/folder", "sub/folder/tenant.yaml"],
    ["../baseline.yaml", "/repo/sub", "baseline.yaml"],
    ["a b/ü#?%/[x]:y.yaml", "/repo", "a%20b/%C3%BC%23%3F%25/%5Bx%5D%3Ay.yaml"],
    ["half\ud800.yaml", "/repo", "half%EF%BF%BD.yaml"],
    ["..settings/x.yaml", "/repo", "..settings/x.yaml"],
  ])("is relative to the repository root: %j in %s", (file, directory, uri) => {
    expect(getResultUri(file, "/repo", directory)).toEqual({ uri, uriBaseId: "%SRCROOT%" });
  });

  it("is an absolute URI outside the repository", () => {
    expect(getResultUri("../other/a b.yaml", "/repo", "/repo")).toEqual({ uri: "file:///other/a%20b.yaml" });
  });
});

describe("a fingerprint", () => {
  const listFingerprints = (content: string): string[] =>
    buildRun(lintContent(content)).results.map(
      ({ partialFingerprints }) => partialFingerprints["emailSecurityFinding/v1"] as string,
    );

  it("is unique and unaffected by lines added above", () => {
    const before = listFingerprints(TENANT);
    const moved = TENANT.replace("allow:\n", "# Who may write\n\nallow:\n  - value: 192.0.2.7\n    ticket: CHG-1\n");
    expect(listFingerprints(moved)).toEqual(before);
    expect(new Set(before).size).toBe(4);
  });

  it("is unaffected by line numbers in the message", () => {
    const fingerprintDuplicates = (above: string): string[] =>
      listFingerprints(`version: 1\n${above}deny:\n  - evil.example\n  - Evil.example\n`);
    expect(fingerprintDuplicates("# one\n# two\n")).toEqual(fingerprintDuplicates(""));
    expect(fingerprintDuplicates("")).toHaveLength(1);
  });

  it("differs between otherwise equal findings", () => {
    const bad = { code: "yaml-tab", level: "error", message: "is indented with a tab" } as const;
    const results = buildRun([1, 2].map((line) => ({ ...bad, place: { file: "a.yaml", line, column: 1 } }))).results;
    const [one, two] = results.map(({ partialFingerprints }) => Object.values(partialFingerprints)[0]);
    expect(one?.replace(/:1$/, ":2")).toBe(two);
  });
});

it("keeps the most serious findings", () => {
  const many = Array.from({ length: 25_010 }, (_one, index): Finding => {
    const level = index < 20 ? "note" : index % 2 === 0 ? "warning" : "error";
    return { code: "shadowed", level, message: "…", place: { file: "a.yaml", line: index + 1, column: 1 } };
  });
  const { results, invocations } = buildRun(many);
  expect(results).toHaveLength(25_000);
  expect(results.filter(({ level }) => level === "note")).toHaveLength(10);
  expect(invocations[0]?.toolExecutionNotifications[0]?.message.text).toMatch(/^10 less serious findings/);
});

import { expect, it } from "vitest";
import { formatWhyJson, renderWhyMarkdown, renderWhyText } from "../../../../provider/commands/why/why-output";
import { buildWhyView } from "../../../../provider/commands/why/why-view";
import { type WhyReport, whySchema } from "../../../../provider/gitops/why-schema";
import type { SafeText } from "../../../../provider/render/safe-text";
import { findTerminalCommands } from "../../../support/hostile-text";

const HOSTILE = "Allow \u001b[2J\u202e\n::error::x ##vso[task.complete]done\u0007 <script>` | # ![x](y)";

const createReport = (fields: Partial<WhyReport> = {}): WhyReport => ({
  format: 1,
  value: "ceo@partner.example",
  file: "settings.yaml",
  queriedAt: "2026-11-20T09:00:00.000Z",
  files: [],
  coveringEntries: [],
  history: [],
  isHistoryOfOtherFiles: false,
  missing: [],
  ...fields,
});

const buildCommit = (subject: string) => ({
  id: "0".repeat(40),
  author: "Dana",
  authoredAt: "2026-10-01T08:00:00.000Z",
  subject,
});
const buildElement = (section: "allow" | "deny" | "vips" | "remove deny", scope = "global") => ({
  section,
  scope,
  fields: {},
  path: "a.yaml",
});
const buildHistoryEvent = (subject: string, before: unknown, after: unknown) =>
  ({
    commit: buildCommit(subject),
    requests: [],
    merges: [],
    before,
    after,
  }) as unknown as WhyReport["history"][number];
const location = { file: "a.yaml", line: 3, column: 1 };
const chain = { place: location, includeChain: ["a.yaml"], overrides: [] };
const formatPlainText = (words: SafeText): string =>
  words.map((word) => (typeof word === "string" ? word : word.untrusted)).join("");

const fullReport = createReport({
  files: [
    { state: "declared", kind: "entry", key: "k", list: "deny", verdictScope: "global", ...chain },
    { state: "declared", kind: "vip", key: "k", ...chain },
  ],
  actual: [
    { kind: "entry", key: "k", list: "deny", verdictScope: "global", isDeclared: true },
    { kind: "entry", key: "k", list: "allow", verdictScope: "graymail", isDeclared: false },
  ],
  vipRemoval: "excluded",
  history: [
    buildHistoryEvent("to deny", buildElement("allow"), buildElement("deny")),
    buildHistoryEvent("a VIP", undefined, buildElement("vips")),
    buildHistoryEvent("newsletters", buildElement("allow", "graymail"), undefined),
    buildHistoryEvent("once allowed", undefined, buildElement("allow")),
  ],
  rollouts: [
    {
      rollout: "r1",
      wave: "w",
      operation: "add",
      kind: "vip",
      lists: [],
      state: "done",
      digest: "d",
      planDigest: "p",
    },
    {
      rollout: "r2",
      wave: "w",
      operation: "change",
      kind: "entry",
      lists: ["allow", "deny"],
      verdictScope: "global",
      state: "done",
      digest: "d",
      planDigest: "p",
    },
  ],
});

it("groups each list, scope and VIP under its own heading", () => {
  const { sections } = buildWhyView(fullReport);
  const rows = sections.map(({ title, lines }) => [
    formatPlainText(title),
    lines.map(({ source, text, details }) =>
      [source, formatPlainText(text), ...details.map(formatPlainText)].join(" | ").slice(0, 130),
    ),
  ]);
  const titles = rows.map(([title]) => title);
  expect(titles).toEqual([
    "As deny, now",
    "As deny, history, newest first",
    "As VIP, now",
    "As VIP, history, newest first",
    "As allow (scope graymail), now",
    "As allow (scope graymail), history, newest first",
    "Other history, newest first",
  ]);
  const serializeRow = (index: number): string => JSON.stringify(rows[index]?.[1]);
  expect(serializeRow(0)).toMatch(/"file \| deny at a\.yaml:3\..*"tenant \| has deny"/);
  expect(serializeRow(1)).toMatch(/list allow → deny.*r2/);
  expect(serializeRow(2)).toContain("excluded permanently: automatic detection");
  expect(serializeRow(3)).toMatch(/added to vips.*r1/);
  expect(serializeRow(4)).toMatch(/No file declares it.*which no file declares/);
  expect(serializeRow(5)).toContain("removed from allow (scope graymail)");
  expect(serializeRow(6)).toContain("added to allow in a.yaml");
  // Only the move appears twice, and no event is missing.
  const all = rows.flatMap(([, some]) => some as string[]);
  expect(all.filter((line) => line.startsWith("git"))).toHaveLength(4);
  expect(all.filter((line) => line.startsWith("journal"))).toHaveLength(2);
});

it("uses plain headings for a value with no current entry", () => {
  const { sections } = buildWhyView(createReport({ actual: [], history: fullReport.history }));
  expect(sections.map(({ title, lines }) => [formatPlainText(title), lines.length])).toEqual([
    ["Now", 2],
    ["History, newest first", 4],
  ]);
});

it("says that a VIP stays when its settings keep it", () => {
  const { sections } = buildWhyView(createReport({ files: fullReport.files.slice(1), vipRemoval: "kept" }));
  expect(sections[0]?.lines.map(({ text }) => formatPlainText(text)).join("\n")).toContain(
    "it stays a VIP at the tenant",
  );
});

it("sanitizes hostile text in every output format", () => {
  const metadata = {
    comment: HOSTILE,
    ticket: HOSTILE,
    owner: HOSTILE,
    approvedBy: HOSTILE,
    acceptRisk: HOSTILE,
  };
  const hostile = createReport({
    file: HOSTILE,
    tenant: { host: HOSTILE, name: HOSTILE },
    files: [
      {
        state: "declared",
        kind: "entry",
        key: HOSTILE,
        list: "deny",
        verdictScope: HOSTILE,
        ...chain,
        ...metadata,
      },
      {
        state: "declared",
        kind: "vip",
        key: HOSTILE,
        place: { ...location, file: HOSTILE },
        includeChain: [HOSTILE, HOSTILE],
        overrides: [],
        ...metadata,
      },
    ],
    coveringEntries: [{ list: HOSTILE, value: HOSTILE, verdictScope: HOSTILE }],
    actual: [
      {
        kind: "entry",
        key: HOSTILE,
        list: HOSTILE,
        verdictScope: HOSTILE,
        comment: HOSTILE,
        createdBy: HOSTILE,
        createdAt: HOSTILE,
        isDeclared: false,
      },
    ],
    vipRemoval: "excluded",
    history: [
      {
        commit: { id: HOSTILE, author: HOSTILE, authoredAt: HOSTILE, subject: HOSTILE },
        requests: [{ name: HOSTILE }],
        merges: [{ id: HOSTILE, mergedAt: HOSTILE }],
        after: { section: "allow", scope: HOSTILE, path: HOSTILE, fields: { [HOSTILE]: HOSTILE } },
      },
    ],
    rollouts: [
      {
        rollout: HOSTILE,
        wave: HOSTILE,
        operation: HOSTILE,
        kind: "entry",
        lists: ["deny"],
        state: HOSTILE,
        digest: HOSTILE,
        planDigest: HOSTILE,
        rollsBack: HOSTILE,
        finishedAt: HOSTILE,
      },
    ],
    missing: [HOSTILE],
  });
  const text = renderWhyText(hostile, { width: 80 });
  expect(findTerminalCommands(text)).toEqual([]);
  expect(text.split("\n").filter((line) => line.length > 80)).toEqual([]);
  expect(findTerminalCommands(formatWhyJson(hostile))).toEqual([]);
  const markdown = renderWhyMarkdown(hostile);
  expect(findTerminalCommands(markdown)).toEqual([]);
  // All hostile text is in code spans or escaped.
  expect(markdown.replace(/(`+)(?!`).*?(?<!`)\1(?!`)/g, "")).not.toMatch(/(?<!\\)(?:<script>|!\[x\])/);
  expect(whySchema.parse(hostile)).toEqual(hostile);
});

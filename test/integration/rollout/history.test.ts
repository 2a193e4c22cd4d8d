import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020";
import { afterAll, expect, it } from "vitest";
import { buildPublishedSchemas } from "../../../provider/commands/json-schemas";
import { openSqlite } from "../../../provider/rollout/database/sqlite-database";
import { buildDifferencePage } from "../../../provider/rollout/history/difference-page";
import { renderPageMarkdown, renderPageText } from "../../../provider/rollout/history/history-page-view";
import { renderHistoryText } from "../../../provider/rollout/history/history-text";
import { pruneRollout } from "../../../provider/rollout/history/prune-rollout";
import { readRolloutDetails } from "../../../provider/rollout/history/rollout-details";
import { buildRolloutDifference } from "../../../provider/rollout/history/rollout-difference";
import { type HistoryRequest, readRolloutHistory } from "../../../provider/rollout/history/rollout-history";
import { buildRolloutPage } from "../../../provider/rollout/history/rollout-page";
import { Journal } from "../../../provider/rollout/journal/journal";
import { formatHistoryJson } from "../../../provider/rollout/model/history-schema";
import { RolloutCommands } from "../../../provider/rollout/model/rollout-commands";
import { buildRolloutReport } from "../../../provider/rollout/report/build-rollout-report";
import { findTerminalCommands, HOSTILE } from "../../support/hostile-text";
import { createAddition, writeRollout } from "../../support/rollout-fixtures";
import { createTarget } from "../../support/rollout-target";

const directory = mkdtempSync(join(tmpdir(), "email-security-history-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const HOSTILE_TEXT = Object.values(HOSTILE).join(" ");
const ORIGIN = { user: "dana", host: "build-7", revision: "3f2a91c0aa12b4c5", hasUncommittedChanges: true } as const;
const ajv = new Ajv2020({ strict: true, allErrors: true });
const schemas = buildPublishedSchemas();
const isValid = (name: string, json: string): boolean => {
  const validate = ajv.getSchema(String(schemas[name]?.["$id"])) ?? ajv.compile(schemas[name] ?? {});
  return validate(JSON.parse(json)) === true;
};

let nowMs = Date.UTC(2026, 10, 1);
let count = 0;

async function openNewJournal(): Promise<{ readonly journal: Journal; readonly file: string }> {
  const file = join(directory, `${count++}.db`);
  const database = await openSqlite(file);
  await database.query("PRAGMA synchronous = OFF");
  return { file, journal: await Journal.open(database, () => nowMs) };
}

/**
 * Writes three rollouts, one day apart: one over all tenants, one of a tenant that the others don't touch, and one that
 * is waiting.
 */
async function writeRollouts(text = "") {
  const { journal, file } = await openNewJournal();
  const all = [
    {
      tenants: {
        acme: [createAddition("evil.example"), createAddition("a.example")],
        globex: [createAddition("evil.example", { ticket: `INC-7${text}` })],
        idle: [],
      },
      files: {
        "base.yaml": "version: 1\ndeny:\n  - { value: evil.example, ticket: INC-7 }\n",
        "acme.yaml":
          "version: 1\ninclude: [base.yaml]\nallow:\n  - { value: a.example, expires: never }\nvips:\n  - { email: ceo@acme.example, comment: CEO }\n",
        "globex.yaml": "version: 1\ninclude: [base.yaml]\n",
      },
      failing: ["globex"],
      spec: { origin: ORIGIN },
    },
    {
      tenants: { acme: [createAddition("b.example")], globex: [], hooli: [createAddition(`b.example${text}`)] },
      files: {
        "base.yaml": "version: 1\ndeny:\n  - { value: evil.example, ticket: INC-8 }\n  - shared.example\n",
        "acme.yaml": "version: 1\ninclude: [base.yaml]\ndeny:\n  - a.example\n",
        "globex.yaml": "version: 1\ninclude: [base.yaml]\n",
      },
    },
    { tenants: { globex: [createAddition("c.example")], hooli: [createAddition("c.example")] }, end: "waiting" },
  ] as const;
  const ids: string[] = [];
  for (const item of all) {
    nowMs += 86_400_000;
    ids.push(await writeRollout(journal, item));
  }
  return { journal, file, ids: ids as [string, string, string] };
}

const readDetails = async (journal: Journal, id: string) =>
  await readRolloutDetails(journal, await buildRolloutReport(journal, id, false, new RolloutCommands()));

it("lists rollouts newest first with their origin and changes", async () => {
  const { journal, ids } = await writeRollouts();
  const readHistory = async (request: Partial<HistoryRequest> = {}) =>
    await readRolloutHistory(journal, { limit: 20, ...request }, async () => false);
  const all = await readHistory();
  expect(all.rollouts.map(({ id }) => id)).toEqual(ids.toReversed());
  expect(all.rollouts[2]).toMatchObject({
    ...{ state: "done", plannedBy: "dana@build-7", revision: ORIGIN.revision, hasUncommittedChanges: true },
    planned: { added: 3, changed: 0, removed: 0 },
    changes: [
      { operation: "add", kind: "entry", list: "deny", value: "evil.example", tenants: 2 },
      { operation: "add", kind: "entry", list: "deny", value: "a.example", tenants: 1 },
    ],
  });
  expect(all.rollouts[1]?.plannedBy).toBeUndefined();
  const summarizeHistory = async (request: Partial<HistoryRequest>) => {
    const { rollouts, omittedCount } = await readHistory(request);
    return [
      ...rollouts.map(({ id, tenantState, changes }) => [ids.indexOf(id), tenantState, changes.length]),
      omittedCount,
    ];
  };
  // All three rollouts planned globex and two of them started it; the last one hasn't reached hooli yet.
  expect(await summarizeHistory({ tenant: "globex" })).toEqual([[2, "done", 1], [0, "failed", 1], 0]);
  expect(await summarizeHistory({ tenant: "hooli" })).toEqual([[1, "done", 1], 0]);
  expect(await summarizeHistory({ tenant: "idle" })).toEqual([0]);
  expect(await summarizeHistory({ limit: 1 })).toEqual([[2, undefined, 1], 2]);
  const startedMs = Date.parse(all.rollouts[1]?.startedAt ?? "");
  expect(await summarizeHistory({ sinceMs: startedMs })).toEqual([[2, undefined, 1], [1, undefined, 1], 0]);
  expect(await summarizeHistory({ beforeMs: startedMs })).toEqual([[0, undefined, 2], 0]);
  await journal.close();
});

it("finds a renamed tenant by its stack", async () => {
  const { journal } = await openNewJournal();
  const source = join(directory, "renamed.yaml");
  writeFileSync(
    source,
    `version: 1
project: p
defaults: { baseUrl: "https://a.example", settings: "{name}.yaml" }
tenants:
  zed: { stack: ${createTarget("acme", "").stack}, key: { environment: ZED_KEY } }
  acme: { stack: acme-2, key: { environment: ACME_KEY } }
`,
  );
  const former = await writeRollout(journal, { tenants: { acme: [createAddition("evil.example")] }, spec: { source } });
  const findTenantRollouts = async (tenant: string) =>
    (await readRolloutHistory(journal, { limit: 20, tenant }, async () => false)).rollouts.map(({ id }) => id);
  expect([
    await findTenantRollouts("zed"),
    await findTenantRollouts("acme"),
    await findTenantRollouts("nobody"),
  ]).toEqual([[former], [], []]);
  await journal.close();
});

it("compares what two rollouts declared", async () => {
  const { journal, ids } = await writeRollouts();
  const [first, second, third] = ids;
  expect(await buildRolloutDifference(journal, first, second)).toMatchObject({
    from: { id: first },
    to: { id: second },
    unchangedTenantCount: 0,
    tenants: [
      {
        name: "acme",
        changes: [
          {
            operation: "change",
            value: "a.example",
            before: { list: "allow", expires: "never" },
            after: { list: "deny" },
          },
          { operation: "change", value: "evil.example", before: { ticket: "INC-7" }, after: { ticket: "INC-8" } },
          { operation: "add", kind: "entry", value: "shared.example", after: { list: "deny" } },
          { operation: "remove", kind: "vip", value: "ceo@acme.example", before: { comment: "CEO" } },
        ],
      },
      {
        name: "globex",
        states: { from: "failed" },
        changes: [
          { operation: "change", value: "evil.example" },
          { operation: "add", value: "shared.example" },
        ],
      },
      { name: "hooli", onlyIn: "to", changes: [] },
      { name: "idle", onlyIn: "from", changes: [] },
    ],
  });
  const page = renderPageText(buildDifferencePage(await buildRolloutDifference(journal, first, second)));
  expect(page).toContain("+  deny shared.example in all 2\n");
  expect(page).toContain("~  allow → deny a.example in acme\n      expires never → none\n");
  expect(page).toContain(`!  globex in ${first}: failed\n`);
  expect(await buildRolloutDifference(journal, first, first)).toMatchObject({ unchangedTenantCount: 3, tenants: [] });
  await pruneRollout(journal.database, second, nowMs);
  await expect(buildRolloutDifference(journal, third, second)).rejects.toMatchObject({
    code: "ERR_ROLLOUT_PRUNED",
    message: expect.stringContaining(`The rollout ${second} was pruned`),
  });
  await journal.close();
});

it("reads only the files that a rollout kept", async () => {
  const { journal } = await openNewJournal();
  const tenants = { acme: [createAddition("a.example")] };
  const ids: string[] = [];
  for (const include of ["../../../../../../../../etc/hostname.yaml", "gone.yaml", "fine.yaml"]) {
    const files = { "acme.yaml": `version: 1\ninclude: [${include}]\n`, "fine.yaml": "version: 1\n" };
    ids.push(await writeRollout(journal, { tenants, files }));
  }
  const [beyond = "", removedId = "", fine = ""] = ids;
  for (const id of [beyond, removedId]) {
    const { tenants: tenantDetails, unchangedTenantCount } = await buildRolloutDifference(journal, fine, id);
    expect([unchangedTenantCount, tenantDetails[0]?.changes]).toEqual([0, []]);
    expect(tenantDetails[0]?.readError).toContain("the rollout has no such file");
  }
  await journal.close();
});

it("sanitizes hostile text in every output format", async () => {
  const { journal, ids } = await writeRollouts(HOSTILE_TEXT);
  const [first, second] = ids;
  const history = await readRolloutHistory(journal, { limit: 9, tenant: "hooli" }, async () => false);
  const details = await readDetails(journal, first);
  const difference = await buildRolloutDifference(journal, first, second);
  const texts = [
    renderHistoryText(history, { tenant: HOSTILE_TEXT }),
    renderHistoryText({ ...history, rollouts: [] }, { tenant: HOSTILE_TEXT }),
    renderPageText(buildRolloutPage(details)),
    renderPageText(buildDifferencePage(difference)),
    formatHistoryJson(history),
    formatHistoryJson(details),
    formatHistoryJson(difference),
  ];
  for (const text of texts) expect(findTerminalCommands(text)).toEqual([]);
  expect(renderPageText(buildRolloutPage(details))).toContain("ticket INC-7");
  expect(isValid("rollout-history.schema.json", formatHistoryJson(history))).toBe(true);
  expect(isValid("rollout-show.schema.json", formatHistoryJson(details))).toBe(true);
  expect(isValid("rollout-diff.schema.json", formatHistoryJson(difference))).toBe(true);
  expect(isValid("rollout-diff.schema.json", formatHistoryJson({ ...difference, unchangedTenantCount: -1 }))).toBe(
    false,
  );
  const many = {
    ...difference,
    tenants: difference.tenants.map((tenant) => ({
      ...tenant,
      changes: Array.from(
        { length: 600 },
        (_, index) =>
          ({
            operation: "add",
            kind: "entry",
            key: `${index}`,
            value: `${index}.example`,
            after: { list: "deny", comment: HOSTILE_TEXT },
          }) as const,
      ),
    })),
  };
  const markdown = renderPageMarkdown(buildDifferencePage(many));
  expect(Buffer.byteLength(markdown)).toBeLessThanOrEqual(65_536);
  expect(markdown).toMatch(/… and [\d,]+ more\.\n/);
  expect(markdown).toContain(`Only in \`${second}\``);
  await journal.close();
});

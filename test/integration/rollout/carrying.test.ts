import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, expect, it } from "vitest";
import { exportJournal } from "../../../provider/rollout/carrying/export-journal";
import { importJournal } from "../../../provider/rollout/carrying/import-journal";
import { whileQuiet } from "../../../provider/rollout/carrying/while-quiet";
import { RolloutCommands } from "../../../provider/rollout/commands";
import { shownRollout } from "../../../provider/rollout/history/shown";
import { Journal } from "../../../provider/rollout/journal/journal";
import { openSqlite } from "../../../provider/rollout/journal/sqlite-database";
import { pruneRollout } from "../../../provider/rollout/pruning/prune-rollout";
import { reportOf } from "../../../provider/rollout/report/report-of";
import { Crash, CrashingDatabase } from "../../support/crashing-database";
import { HOSTILE } from "../../support/hostile-text";
import { forged } from "../../support/journal-file";
import { added, writeRollout } from "../../support/written-rollouts";

const folder = mkdtempSync(join(tmpdir(), "email-security-carrying-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let count = 0;
let nowMs = Date.UTC(2026, 10, 1);

async function newJournal(file = join(folder, `${count++}.db`)): Promise<Journal> {
  const database = await openSqlite(file);
  await database.query("PRAGMA synchronous = OFF");
  return await Journal.open(database, () => nowMs);
}

/** A journal with a rollout that is done, one that is pruned, and one that waits. */
async function written(): Promise<{ readonly journal: Journal; readonly ids: readonly string[] }> {
  const journal = await newJournal();
  const text = Object.values(HOSTILE).join(" ");
  const all = [
    {
      tenants: { acme: [added("evil.example", { ticket: text })], globex: [added("b.example")] },
      failing: ["globex"],
    },
    { tenants: { acme: [added("c.example")] }, files: { "base.yaml": `# ${text}\nversion: 1\n` } },
    {
      tenants: { acme: [added("d.example")], hooli: [added("d.example")] },
      end: "waiting",
      spec: { task: "revert-drift" },
    },
  ] as const;
  const ids: string[] = [];
  for (const one of all) {
    nowMs += 60_000;
    ids.push(await writeRollout(journal, one));
  }
  await pruneRollout(journal.database, ids[0] ?? "", nowMs);
  // Planned, and never begun: it is none that anybody could go on with.
  await journal.create((await journal.record(ids[0] ?? "")).spec, []);
  return { journal, ids };
}

async function exported(journal: Journal): Promise<{ readonly file: string; readonly text: string }> {
  const file = join(folder, `${count++}.jsonl`);
  await exportJournal(journal, file, nowMs);
  return { file, text: readFileSync(file, "utf8") };
}

it("is in another journal what it was, and is gone on with there", async () => {
  const { journal, ids } = await written();
  const file = join(folder, "whole.jsonl");
  expect(await exportJournal(journal, file, nowMs)).toEqual({ rollouts: 3, open: [ids[2]] });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const other = await newJournal();
  expect(await importJournal(other, file)).toEqual({ imported: 3, known: 0, skipped: [], open: [ids[2]] });
  expect((await exported(other)).text).toBe(readFileSync(file, "utf8"));
  expect(await other.records()).toEqual(await journal.records());
  const shown = async (one: Journal, id: string) => {
    const report = await reportOf(one, id, false, new RolloutCommands());
    return await shownRollout(one, report);
  };
  for (const id of ids) {
    expect(await shown(other, id)).toEqual(await shown(journal, id));
    expect(await other.files(id)).toEqual(await journal.files(id));
    expect(await other.view(id, 9)).toEqual(await journal.view(id, 9));
  }

  // Once more changes nothing; and what went on since is not taken back.
  expect(await importJournal(other, file)).toEqual({ imported: 0, known: 3, skipped: [], open: [] });
  await other.start(ids[2] ?? "", { retry: false });
  await expect(importJournal(other, file)).rejects.toMatchObject({
    code: "ERR_ROLLOUT_JOURNAL",
    message: expect.stringContaining(`has the rollout ${ids[2]} already, and has it otherwise`),
  });
  expect((await other.record(ids[2] ?? "")).state).toBe("running");
  await other.close();
  await journal.close();
});

it("keeps the order of rollouts of two journals whose clocks differ", async () => {
  const one = await newJournal();
  const other = await newJournal();
  const earlier = await writeRollout(one, { tenants: { acme: [added("good.example")] } });
  nowMs -= 3_600_000;
  const { seq = 0 } = await one.record(earlier);
  const hotfix = await writeRollout(other, { tenants: { acme: [added("bad.example")] }, seq: seq + 1 });
  nowMs += 3_600_000;
  expect(await importJournal(other, (await exported(one)).file)).toMatchObject({ imported: 1 });
  expect((await other.records()).map(({ id }) => id)).toEqual([hotfix, earlier]);
  expect((await other.since(earlier)).map(({ rollout }) => rollout)).toEqual([hotfix]);
  expect(await other.since(hotfix)).toEqual([]);
  await one.close();
  await other.close();
});

it("orders the rollouts of a file that an earlier release exported by their start times", async () => {
  const { journal, ids } = await written();
  const { file, text } = await exported(journal);
  writeFileSync(
    file,
    forged(text, (lines) => lines.map((line) => line.replace(/,"seq":\d+}}$/, "}}"))),
  );
  const other = await newJournal();
  expect(await importJournal(other, file)).toMatchObject({ imported: 3 });
  expect((await other.records()).map(({ id }) => id)).toEqual(ids.toReversed());
  expect(await importJournal(other, file)).toMatchObject({ imported: 0, known: 3 });
  await other.close();
  await journal.close();
});

it("is imported wholly or not at all, wherever the process ends", async () => {
  const { journal } = await written();
  const { file } = await exported(journal);
  await journal.close();
  const target = join(folder, "crashed.db");
  await (await newJournal(target)).close();
  let crashes = 0;
  for (let at = 1; ; at += 3) {
    const database = new CrashingDatabase(await openSqlite(target));
    const other = await Journal.open(database, () => nowMs);
    database.momentsLeft = at;
    const isDone = await importJournal(other, file).then(
      () => true,
      (error: unknown) => {
        if (!(error instanceof Crash)) throw error;
        return false;
      },
    );
    await database.close();
    const again = await newJournal(target);
    const found = (await again.records()).length;
    await again.close();
    expect([0, 3]).toContain(found);
    if (isDone || found === 3) break;
    crashes += 1;
  }
  expect(crashes).toBeGreaterThan(5);
});

const GZIPPED = (text: string) => ({ base64: Buffer.from(gzipSync(text)).toString("base64") });

/** Changes the first row of a kind. */
function changed(of: string, change: (row: Record<string, unknown>) => Record<string, unknown>) {
  return (lines: string[]): string[] => {
    const at = lines.findIndex((line) => line.startsWith(`{"${of}"`));
    const row = (JSON.parse(lines[at] ?? "") as Record<string, Record<string, unknown>>)[of] ?? {};
    return lines.with(at, JSON.stringify({ [of]: change(row) }));
  };
}

function inJson(column: string, change: (value: Record<string, unknown>) => unknown) {
  return (row: Record<string, unknown>) => ({
    ...row,
    [column]: JSON.stringify(change(JSON.parse(String(row[column])) as Record<string, unknown>)),
  });
}

const FORGED: Readonly<Record<string, readonly [(lines: string[]) => string[], RegExp]>> = {
  "a path that leads out": [
    changed("file", (row) => ({ ...row, path: "../../.bashrc" })),
    /line \d+ holds a file whose path leads out/,
  ],
  "a path into packages": [
    changed("file", (row) => ({ ...row, path: "node_modules/pulumi/index.js" })),
    /path leads out/,
  ],
  "a bomb": [
    changed("file", (row) => ({ ...row, content: GZIPPED("0".repeat(65 * 1024 * 1024)) })),
    /content is not packed, or too large/,
  ],
  "no plan": [changed("tenant", (row) => ({ ...row, plan: GZIPPED('{"changes":[{}]}') })), /plan is no plan/],
  "another column": [
    changed("rollout", (row) => ({ ...row, "id) VALUES ('x'); --": 1 })),
    /holds a rollout whose/,
  ],
  "no id": [changed("rollout", (row) => ({ ...row, id: "../../x" })), /holds a rollout whose id is no id/],
  "another state": [
    changed("rollout", (row) => ({ ...row, state: "paused" })),
    /holds a rollout whose state/,
  ],
  "a spec without waves": [
    changed(
      "rollout",
      inJson("spec", ({ waves: _, ...spec }) => spec),
    ),
    /whose spec is not what/,
  ],
  "hours of no time zone": [
    changed(
      "rollout",
      inJson("spec", ({ waves, ...spec }) => ({
        ...spec,
        waves: (waves as object[]).map((wave) => ({
          ...wave,
          closed: [{ text: "", from: 0, to: 1, timeZone: "Mars/Olympus" }],
        })),
      })),
    ),
    /whose spec is not what/,
  ],
  "a rollout without a tenant": [
    (lines) => lines.filter((line) => !/^\{"tenant":.*"globex"/.test(line)),
    /lacks a tenant/,
  ],
  "a tenant of another stack": [
    changed("tenant", (row) => ({ ...row, stack: "other" })),
    /contradicts itself/,
  ],
  "a wave too many": [
    changed("tenant", (row) => ({ ...row, wave: 7 })),
    /of a wave that the rollout has not/,
  ],
  "a row for the second time": [(lines) => [...lines, lines.at(-1) ?? ""], /for the second time/],
  "a row of another rollout": [
    changed("event", (row) => ({ ...row, rollout: "20200101-0000-abcdef" })),
    /belongs to another rollout/,
  ],
  "a time that is none": [changed("event", (row) => ({ ...row, at: 1e300 })), /holds an event whose at/],
  "a day that is no date": [
    changed("rollout", (row) => ({ ...row, started_at: 8_640_000_000_000_001 })),
    /started_at/,
  ],
  "events to come": [changed("event", (row) => ({ ...row, seq: 999 })), /an event too many/],
  "another kind of row": [
    (lines) => [...lines, '{"rollout_journal":{"version":9}}'],
    /is no row of a rollout/,
  ],
  "two rows on a line": [(lines) => [...lines, '{"event":{},"wave":{}}'], /is no row of a rollout/],
  "a prototype": [(lines) => [...lines, '{"__proto__":{"id":1}}'], /is no row of a rollout/],
  "a terminal's commands": [(lines) => [...lines, '{"event":{"rollout":"\\u001b[2J"}}'], /holds an event/],
};

it("takes no file that is not whole, or holds what no journal does, and nothing of it", async () => {
  const { journal } = await written();
  const { file, text } = await exported(journal);
  await journal.close();
  const other = await newJournal();
  const refused = async (content: string): Promise<string> => {
    writeFileSync(file, content);
    const message = await importJournal(other, file).then(
      () => "imported",
      (error: Error) => error.message,
    );
    expect(await other.records()).toEqual([]);
    return message;
  };
  for (const [name, [change, message]] of Object.entries(FORGED)) {
    expect(await refused(forged(text, change)), name).toMatch(message);
  }
  const lines = text.trimEnd().split("\n");
  const notWhole = "is not whole, or was changed since it was exported. Nothing was imported";
  for (const content of [
    text.slice(0, -40),
    lines.slice(0, -1).join("\n"),
    text.replace("evil", "good"),
    lines[0] ?? "",
  ]) {
    expect(await refused(content)).toMatch(/not whole|no JSON/);
  }
  expect(await refused([...lines.slice(0, 3), lines.at(-1), ""].join("\n"))).toContain(notWhole);
  expect(await refused("")).toContain(notWhole);
  expect(await refused('{"kind":"x"}\n{}\n')).toContain("no journal as `rollout export` writes it");
  expect(await refused(text.replace('"format":1', '"format":2'))).toContain(
    "it is of format 2, and this release reads 1",
  );
  await expect(importJournal(other, folder)).rejects.toThrow("it is no plain file");
  // And it is the file that was refused, not all files.
  writeFileSync(
    file,
    forged(text, (same) => same),
  );
  expect(await importJournal(other, file)).toMatchObject({ imported: 3 });
  await other.close();
});

it("is not exported over a file, nor where there is nothing, and leaves no part of it", async () => {
  const { journal } = await written();
  const { file, text } = await exported(journal);
  await expect(exportJournal(journal, file, nowMs)).rejects.toThrow("is there already, and is left as it is");
  expect(readFileSync(file, "utf8")).toBe(text);
  await expect(exportJournal(journal, join(folder, "nowhere", "x.jsonl"), nowMs)).rejects.toMatchObject({
    code: "ERR_CONFIGURATION",
    message: expect.stringContaining("The journal can't be exported: ENOENT"),
  });
  const empty = await newJournal();
  const none = join(folder, "none.jsonl");
  await expect(exportJournal(empty, none, nowMs)).rejects.toThrow("has no rollouts");
  expect(existsSync(none)).toBe(false);
  expect(readdirSync(folder).filter((name) => name.endsWith(".part"))).toEqual([]);
  await empty.close();
  await journal.close();
});

it("waits for nobody: while a rollout is under way or begins, it is refused", async () => {
  const journal = await newJournal();
  const id = await writeRollout(journal, { tenants: { acme: [added("a.example")] }, end: "running" });
  const work = async () => "worked";
  // It was interrupted.
  expect(await whileQuiet(journal, async () => false, work)).toBe("worked");
  await expect(whileQuiet(journal, async () => true, work)).rejects.toMatchObject({
    code: "ERR_ROLLOUT_BUSY",
    message: expect.stringContaining(`The rollout ${id} is under way`),
  });
  const turn = await journal.database.hold("begin", () => {});
  await expect(whileQuiet(journal, async () => false, work)).rejects.toThrow("is being begun");
  await turn?.release();
  const inside = await whileQuiet(
    journal,
    async () => false,
    async () => await journal.database.hold("begin", () => {}),
  );
  expect(inside).toBeUndefined();
  await journal.close();
});

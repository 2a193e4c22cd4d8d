import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { exportJournal } from "../../../provider/rollout/carrying/export-journal";
import { importJournal } from "../../../provider/rollout/carrying/import-journal";
import { whileQuiet } from "../../../provider/rollout/carrying/while-quiet";
import { RolloutCommands } from "../../../provider/rollout/commands";
import { differenceOf } from "../../../provider/rollout/history/difference";
import { historyOf } from "../../../provider/rollout/history/history";
import { shownRollout } from "../../../provider/rollout/history/shown";
import { broughtBy } from "../../../provider/rollout/journal/brought-by";
import { Journal } from "../../../provider/rollout/journal/journal";
import { openDatabase } from "../../../provider/rollout/journal/open-database";
import { pruneRollout } from "../../../provider/rollout/pruning/prune-rollout";
import { oldRollouts } from "../../../provider/rollout/pruning/what-may-go";
import { reportOf } from "../../../provider/rollout/report/report-of";
import { commandLine } from "../../support/command-line";
import { type Postgres, startPostgres } from "../../support/postgres";
import { runEnvironment } from "../../support/run-environment";
import { added, writeRollout } from "../../support/written-rollouts";

const folder = mkdtempSync(join(tmpdir(), "email-security-keeping-"));
let postgres: Postgres;
let nowMs = Date.UTC(2026, 0, 1);
const DAY = 86_400_000;

beforeAll(async () => {
  postgres = await startPostgres();
});

afterAll(async () => {
  await postgres[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

async function opened(place: string): Promise<Journal> {
  return await Journal.open(await openDatabase(place), () => nowMs);
}

/** A journal with one that is through and was followed, one that can be rolled back, and one that waits. */
async function written(journal: Journal): Promise<readonly [string, string, string]> {
  const ids: string[] = [];
  for (const one of [
    { tenants: { acme: [added("evil.example", { ticket: "INC-7" })], globex: [added("evil.example")] } },
    { tenants: { acme: [added("b.example")], globex: [added("b.example")], Ärger: [added("b.example")] } },
    { tenants: { hooli: [added("c.example")] }, end: "waiting" },
  ] as const) {
    nowMs += DAY;
    ids.push(await writeRollout(journal, one));
  }
  return ids as unknown as readonly [string, string, string];
}

/** All that is told of a journal. */
async function told(journal: Journal, ids: readonly string[]): Promise<unknown> {
  const { needed, mayGo, unbegun } = await oldRollouts(journal, nowMs + DAY);
  return {
    history: await historyOf(journal, { limit: 9 }, async () => false),
    shown: await Promise.all(
      ids.map(async (id) => {
        const report = await reportOf(journal, id, false, new RolloutCommands());
        return await shownRollout(journal, report);
      }),
    ),
    difference: await differenceOf(journal, ids[1] ?? "", ids[2] ?? ""),
    brought: await broughtBy(journal.database, "acme", "evil.example"),
    mayGo: [needed.map(({ record, why }) => [record.id, why]), mayGo.map(({ id }) => id), unbegun],
  };
}

it("is the same in PostgreSQL as in a file, there and back, pruned or whole, to the last byte", async () => {
  const sqlite = await opened(join(folder, "here.db"));
  const ids = await written(sqlite);
  const [first, , waiting] = ids;
  const there = await opened(await postgres.createDatabase("there"));
  const [out, back, pruned] = ["out", "back", "pruned"].map((name) => join(folder, `${name}.jsonl`)) as [
    string,
    string,
    string,
  ];
  await exportJournal(sqlite, out, nowMs);
  expect(await importJournal(there, out)).toEqual({ imported: 3, known: 0, skipped: [], open: [waiting] });
  await exportJournal(there, back, nowMs);
  expect(readFileSync(back, "utf8")).toBe(readFileSync(out, "utf8"));
  expect(await told(there, ids)).toEqual(await told(sqlite, ids));

  expect((await oldRollouts(there, nowMs)).mayGo.map(({ id }) => id)).toEqual([first]);
  for (const journal of [there, sqlite])
    expect(await pruneRollout(journal.database, first, nowMs)).toBe(true);
  expect(await told(there, ids)).toEqual(await told(sqlite, ids));
  const again = await opened(join(folder, "again.db"));
  await exportJournal(there, pruned, nowMs);
  expect(await importJournal(again, pruned)).toEqual({ imported: 3, known: 0, skipped: [], open: [waiting] });
  expect(await told(again, ids)).toEqual(await told(there, ids));
  // It was pruned since: the one that is whole is another.
  await expect(importJournal(there, out)).rejects.toMatchObject({ code: "ERR_ROLLOUT_JOURNAL" });
  for (const journal of [sqlite, there, again]) await journal.close();
});

it("is moved while no worker may be at it, where workers are", async () => {
  const journal = await opened(await postgres.createDatabase("workers"));
  const id = await writeRollout(journal, { tenants: { acme: [added("a.example")] }, end: "running" });
  await expect(
    whileQuiet(
      journal,
      async () => false,
      async () => {},
    ),
  ).rejects.toMatchObject({
    code: "ERR_ROLLOUT_BUSY",
    message: expect.stringContaining(`${id} was interrupted, and workers may still be at its tenants`),
  });
  await journal.close();
});

it("is told and kept by the command, each verb with its exit code and in plain words", async () => {
  const journal = await opened(join(folder, "command.db"));
  const [first, second, waiting] = await written(journal);
  await journal.close();
  const email = commandLine(folder, { ...runEnvironment(), EMAIL_SECURITY_DATABASE: "command.db" });
  const history = await email("rollout", "history", "--tenant", "acme");
  expect([history.code, history.stderr]).toEqual([0, ""]);
  expect(history.stdout).toContain(`${second}  done, acme changed  2026-01-`);
  expect(history.stdout).not.toContain(waiting);
  const shown = await email("rollout", "show", first, "--tenant", "acme", "--markdown", "shown.md");
  expect([shown.code, shown.stderr]).toEqual([0, ""]);
  expect(shown.stdout).toContain("begun by dana@build-7");
  expect(shown.stdout).toContain("+  deny evil.example in acme\n      ticket INC-7 · comment INC-1\n");
  expect(readFileSync(join(folder, "shown.md"), "utf8")).toContain("- `+` `deny` `evil.example` in `acme`\n");
  const difference = await email("rollout", "diff", first, second);
  expect([difference.code, difference.stderr]).toEqual([2, ""]);
  expect(difference.stdout).toContain(`Only in ${second}: 1 tenant`);
  expect((await email("rollout", "diff", first, first)).code).toBe(0);

  const asked = await email("rollout", "prune", "--older-than", "1d");
  expect([asked.code, asked.stdout]).toEqual([2, expect.stringMatching(`^${first}  tenants.yaml  r2-`)]);
  expect(asked.stderr).toContain(`Stays whole: ${waiting} (waiting): it is not through.\n`);
  expect(asked.stderr).toContain(`Stays whole: ${second} (done): it can be rolled back`);
  expect(asked.stderr).toContain("Nothing was changed. Of 1 rollout that ended before");
  const pruned = await email("rollout", "prune", "--older-than", "1d", "--yes");
  expect([pruned.code, pruned.stdout]).toEqual([0, expect.stringContaining("Pruned 1 rollout.\n")]);
  expect((await email("rollout", "prune", "--older-than", "1d", "--yes")).stdout).toMatch(
    /^Nothing that ended before/,
  );
  const resumed = await email("rollout", "resume", first);
  expect([resumed.code, resumed.stderr]).toEqual([
    1,
    expect.stringContaining(
      "was pruned: the files and plans that it would go on with are gone. Nothing was changed.",
    ),
  ]);

  const exported = await email("rollout", "export", "moved.jsonl");
  expect([exported.code, exported.stdout]).toEqual([0, "Exported 3 rollouts to moved.jsonl.\n"]);
  expect(exported.stderr).toContain(`Not through: ${waiting}. Once they are imported, go on with them there`);
  const twice = await email("rollout", "export", "moved.jsonl");
  expect([twice.code, twice.stderr]).toEqual([
    1,
    expect.stringContaining("is there already, and is left as it is"),
  ]);
  const place = await postgres.createDatabase("command");
  const moved = commandLine(folder, { ...runEnvironment(), EMAIL_SECURITY_DATABASE: place });
  expect(await moved("rollout", "import", "moved.jsonl")).toMatchObject({
    code: 0,
    stdout: "Imported 3 rollouts.\n",
  });
  expect((await moved("rollout", "import", "moved.jsonl")).stdout).toBe(
    "Imported 0 rollouts; the journal had 3 already, just so.\n",
  );
  expect((await moved("rollout", "history")).stdout.replaceAll(/ +\n/g, "\n")).toBe(
    (await email("rollout", "history")).stdout.replaceAll(/ +\n/g, "\n"),
  );
}, 60_000);

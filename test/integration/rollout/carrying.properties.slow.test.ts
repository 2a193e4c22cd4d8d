import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, expect, it } from "vitest";
import { exportJournal } from "../../../provider/rollout/carrying/export-journal";
import { importJournal } from "../../../provider/rollout/carrying/import-journal";
import { differenceOf } from "../../../provider/rollout/history/difference";
import { differencePage } from "../../../provider/rollout/history/difference-page";
import { historyOf } from "../../../provider/rollout/history/history";
import { historyText } from "../../../provider/rollout/history/history-text";
import { shownRollout } from "../../../provider/rollout/history/shown";
import { shownPage } from "../../../provider/rollout/history/shown-page";
import { toldMarkdown, toldText } from "../../../provider/rollout/history/told-page";
import { broughtBy } from "../../../provider/rollout/journal/brought-by";
import { Journal } from "../../../provider/rollout/journal/journal";
import { openSqlite } from "../../../provider/rollout/journal/sqlite-database";
import { markOfRollout } from "../../../provider/rollout/marks/mark-of-rollout";
import { oldRollouts } from "../../../provider/rollout/pruning/what-may-go";
import { reportHtml } from "../../../provider/rollout/report/report-html";
import { reportMarkdown } from "../../../provider/rollout/report/report-markdown";
import { reportText } from "../../../provider/rollout/report/report-text";
import { Rollouts } from "../../../provider/rollout/rollouts";
import { commandsIn, hostileText } from "../../support/hostile-text";
import { forged } from "../../support/journal-file";
import { added, FAILED, writeRollout } from "../../support/written-rollouts";

const folder = mkdtempSync(join(tmpdir(), "email-security-carrying-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What somebody may put in the place of anything. */
const anything: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(
    null,
    true,
    0,
    -1,
    1.5,
    1e300,
    9_007_199_254_740_991,
    "",
    "{}",
    "[]",
    "null",
    "../..",
    "__proto__",
  ),
  hostileText,
  fc.jsonValue(),
  fc.constant({ base64: Buffer.from(gzipSync('{"changes":null}')).toString("base64") }),
);

/** Puts something in the place of one value of a tree, or takes it out. */
function forge(tree: unknown, at: number, value: unknown): { readonly tree: unknown; readonly size: number } {
  if (at === 0) return { tree: value, size: 1 };
  if (typeof tree === "string" && /^[[{]/.test(tree)) {
    const inner = forge(JSON.parse(tree), at - 1, value);
    return { tree: JSON.stringify(inner.tree), size: inner.size + 1 };
  }
  if (typeof tree !== "object" || tree === null) return { tree, size: 1 };
  let size = 1;
  const entries = Object.entries(tree).map(([key, one]) => {
    const inner = forge(one, at - size, value);
    size += inner.size;
    return [key, inner.tree] as const;
  });
  return { tree: Array.isArray(tree) ? entries.map(([, one]) => one) : Object.fromEntries(entries), size };
}

it("is refused whatever of it is forged, or is told like any other, and as nothing but text", async () => {
  const journal = await Journal.open(await openSqlite(join(folder, "here.db")));
  const spec = {
    origin: { user: "dana", host: "h", revision: "3f2a" },
    services: [["https://a.example", { maxConcurrent: 2 }]] as const,
    tolerated: 3,
  };
  const files = { "acme.yaml": "version: 1\ndeny: [{ value: evil.example, ticket: INC-1 }]\n" };
  const tenants = { acme: [added("evil.example", { ticket: "INC-1" })], globex: [added("b.example")] };
  await writeRollout(journal, { tenants, files, spec, failing: ["globex"] });
  await writeRollout(journal, { tenants, files, spec, end: "waiting" });
  const file = join(folder, "journal.jsonl");
  await exportJournal(journal, file, Date.now());

  const text = readFileSync(file, "utf8");
  await journal.close();
  expect(text).toContain(FAILED.code);
  let [imported, refused] = [0, 0];
  await fc.assert(
    fc.asyncProperty(fc.nat(), fc.nat(), anything, async (which, at, value) => {
      const content = forged(text, (lines) => {
        if (value === undefined) return lines;
        const index = which % lines.length;
        const row: unknown = JSON.parse(lines[index] ?? "");
        const { size } = forge(row, -1, undefined);
        return lines.with(index, JSON.stringify(forge(row, 2 + (at % Math.max(1, size - 2)), value).tree));
      });
      writeFileSync(file, content);
      const database = join(folder, `${imported + refused}.db`);
      const rollouts = await Rollouts.open({ database, environment: {} });
      try {
        const error = await importJournal(rollouts.journal, file).then(
          () => undefined,
          (cause: Error & { code?: string }) => cause,
        );
        if (error === undefined) imported += 1;
        else {
          refused += 1;
          expect([error.code, commandsIn(error.message)]).toEqual(["ERR_CONFIGURATION", []]);
        }
        expect(await rollouts.journal.records()).toHaveLength(error === undefined ? 2 : 0);
        if (error === undefined) await expectTold(rollouts);
      } finally {
        await rollouts.close();
        for (const end of ["", "-wal", "-shm"]) rmSync(`${database}${end}`, { force: true });
      }
    }),
    // What was not forged is told all the same.
    { numRuns: 60, examples: [[0, 0, undefined]] },
  );
  expect(Math.min(imported, refused)).toBeGreaterThan(0);
});

async function expectTold(rollouts: Rollouts): Promise<void> {
  const { journal } = rollouts;
  const ids = (await journal.records()).map(({ id }) => id);
  const texts: string[] = [historyText(await historyOf(journal, { limit: 9 }, async () => false))];
  for (const id of ids) {
    const report = await rollouts.report(id);
    const page = shownPage(await shownRollout(journal, report));
    texts.push(reportText(report), toldText(page), toldMarkdown(page), reportMarkdown(report));
    reportHtml(report);
    await markOfRollout(journal, id, "here");
  }
  const page = differencePage(await differenceOf(journal, ids[0] ?? "", ids[1] ?? ""));
  texts.push(toldText(page), toldMarkdown(page));
  await broughtBy(journal.database, "acme", "evil.example");
  await oldRollouts(journal, Date.now() + 1e9);
  for (const text of texts) expect(commandsIn(text)).toEqual([]);
}

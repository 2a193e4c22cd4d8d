import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { parsePlan } from "../../provider/plan/render/plan-json";
import { buildSerializedProvider } from "../../provider/resources/serialized-provider";
import { openSqlite } from "../../provider/rollout/database/sqlite-database";
import { Journal } from "../../provider/rollout/journal/journal";
import { getReleaseFile, listReleases } from "../support/release-fixture";

/*
 * The files of each earlier release can be read. engine/upgrade.slow.test.ts checks through the engine that later
 * releases continue from them.
 */

const directory = mkdtempSync(join(tmpdir(), "email-security-kept-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe.each(listReleases())("data of release %s", (release) => {
  it("contains state for handlers that still exist", () => {
    const state = readFileSync(getReleaseFile(release, "dynamic/.state/.pulumi/stacks/settings/dev.json"), "utf8");
    const serializedHandlers = new Set(state.match(/exports\.handler(?:[^"\\]|\\.)*/g));
    const kinds = ["allowDenyEntry", "allowDenyList", "vipEmployee", "vipList"] as const;
    expect([...serializedHandlers].sort()).toEqual(
      kinds.map((kind) => JSON.stringify(buildSerializedProvider(kind)).slice(1, -1)),
    );
  });

  it("contains a journal that still opens with its rollouts", async () => {
    const file = join(directory, `${release}.db`);
    cpSync(getReleaseFile(release, "files/.email-security/rollouts.db"), file);
    const journal = await Journal.open(await openSqlite(file));
    try {
      const states = (await journal.listRollouts()).map(({ state }) => state);
      expect(states.sort()).toEqual(["done", "waiting"]);
    } finally {
      await journal.close();
    }
  });

  it("contains a reviewed plan that still parses", () => {
    const file = getReleaseFile(release, "files/plan.json");
    expect(parsePlan(readFileSync(file, "utf8"), file).changes).toMatchObject([{ key: "reviewed.example" }]);
  });
});

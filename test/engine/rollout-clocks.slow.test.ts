import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readStackMarker } from "../../provider/rollout/model/stack-marker";
import { createCli } from "../support/cli";
import { Fleet } from "../support/fleet";
import { cloneFleet } from "../support/second-clone";

/*
 * Two clones of one repository, each with its own journal, share a state backend. The second clone's clock is behind.
 */

const GOOD = "good.example";
const BAD = "bad.example";
const HOTFIX = `version: 1\nallow:\n  - ${BAD}\ndeny:\n  - ${GOOD}\n`;

describe.each([
  ["two minutes", 120_000],
  ["an hour", 3_600_000],
])("second machine whose clock is %s behind", (_name, behindMs) => {
  it("rolls back the hotfix only", async () => {
    await using fleet = await Fleet.start({ tenants: 2, entries: 1 });
    await fleet.writeBaseline([GOOD]);
    await fleet.commitAll("Deny a sender");
    const first = await fleet.runRollout("--yes");
    expect(first.code, first.output).toBe(0);
    const earlier = first.report().id;
    const before = fleet.listContents("t0");

    using clone = cloneFleet(fleet, behindMs);
    await writeFile(join(clone.directory, "settings/baseline.yaml"), HOTFIX);
    const second = await clone.run("rollout", "--yes", "--output", "report.json");
    expect(second.code, second.output).toBe(0);
    const report = JSON.parse(readFileSync(join(clone.directory, "report.json"), "utf8"));
    const hotfix = String(report.id);
    expect(Date.parse(report.startedAt)).toBeLessThan(Date.parse(first.report().startedAt ?? ""));
    const afterHotfix = fleet.listContents("t0");
    expect(afterHotfix).toContain(`allow ${BAD}`);
    expect(readMarker(fleet, "t0")).toMatchObject({ rollout: hotfix, seq: 2 });

    // The first clone's journal doesn't contain the hotfix, so the rollback must not undo anything beneath it.
    fleet.takeRequests();
    const rejection = await fleet.runRollout("rollback", "--yes");
    expect(rejection.code, rejection.output).toBe(3);
    expect(rejection.output).toContain(`The rollout ${hotfix} of another journal has changed "t0" since ${earlier}`);
    expect(fleet.takeRequests().filter(({ method }) => method !== "GET")).toEqual([]);
    expect(fleet.listContents("t0")).toEqual(afterHotfix);

    // With both journals, the hotfix is the latest rollout of every tenant.
    const here = createCli(fleet.directory, fleet.environment);
    const databases = [fleet.directory, clone.directory].flatMap((directory) => [
      "--database",
      join(directory, ".email-security/rollouts.db"),
    ]);
    await fleet.write("settings/baseline.yaml", HOTFIX);
    const status = JSON.parse((await here("fleet", "status", ...databases, "--format", "json")).stdout);
    for (const tenant of status.tenants)
      expect(tenant).toMatchObject({ syncStatus: "in-sync", lastRollout: { id: hotfix } });

    const back = await clone.run("rollout", "rollback", "--yes", "--output", "report.json");
    expect(back.code, back.output).toBe(0);
    expect(JSON.parse(readFileSync(join(clone.directory, "report.json"), "utf8"))).toMatchObject({
      rollsBack: hotfix,
      counts: { done: 2 },
    });
    expect(fleet.listContents("t0")).toEqual(before);
    expect(fleet.listContents("t1")).toContain(`deny ${GOOD}`);
    expect(fleet.listContents("t1")).not.toContain(`allow ${BAD}`);
  });
});

/** Returns the rollout marker in the state of a tenant's stack. */
function readMarker(fleet: Fleet, name: string) {
  const file = join(fleet.directory, ".state/.pulumi/stacks/fleet", `${name}.json`);
  const { checkpoint } = JSON.parse(readFileSync(file, "utf8"));
  return readStackMarker({ deployment: checkpoint.latest });
}

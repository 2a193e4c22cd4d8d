import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { PulumiLockStore } from "../../../provider/rollout/locks/pulumi-lock-store";
import type { RolloutLock } from "../../../provider/rollout/locks/rollout-lock";
import { runEnvironment } from "../../support/run-environment";

/* Locks stored next to the stacks, as Pulumi's real CLI keeps them. */

const state = mkdtempSync(join(tmpdir(), "email-security-locks-"));
afterAll(() => rmSync(state, { recursive: true, force: true }));

const buildLock = (rollout: string, message: string): RolloutLock => ({
  rollout,
  project: "fleet",
  state: "open",
  status: message,
  at: "2026-11-21T08:00:00.000Z",
  journal: "here",
  events: 1,
  pending: ["t0"],
  unreviewed: [],
});

it("writes a rollout lock even after somebody removed it", async () => {
  using locks = new PulumiLockStore(
    {
      ...runEnvironment(),
      PULUMI_BACKEND_URL: `file://${state}`,
      PULUMI_HOME: join(state, ".home"),
    },
    "here",
  );
  const [own, other] = ["20261121-0800-aaaaaa", "20261121-0801-bbbbbb"];
  await locks.write(buildLock(own, "waits"), true);
  await locks.write(buildLock(own, "goes on"));
  await locks.remove(own);
  await locks.write(buildLock(own, "goes on all the same"));
  await locks.write(buildLock(other, "begins"), true);
  expect(await locks.get(own)).toEqual(buildLock(own, "goes on all the same"));
  expect(await locks.read(own)).toEqual([buildLock(other, "begins")]);
});

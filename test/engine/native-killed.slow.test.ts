import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { AT, BrokenOffList, COUNT } from "./native-killed";

/** How long each entry takes at the service from when on the engine has heard of Ctrl-C, and tells the plugin. */
const SLOWED_MS = 100;

it("ends a list that is broken off by Ctrl-C as a partial failure, and the next up does the rest", async () => {
  await using list = await BrokenOffList.create();
  const { code, output } = await list.upUntil(
    ({ id }) => process.kill(id, "SIGINT"),
    async (run) => {
      while (!/cancel/i.test(run.said())) await sleep(20);
      await sleep(SLOWED_MS);
    },
  );
  expect(code).not.toBe(0);
  expect(output).toMatch(
    /\d+ of 400 entries could not be brought[\s\S]*The run was cancelled, so POST \S+ at \S+ was not sent\. [\s\S]*\[ERR_CANCELLED\]/,
  );
  const done = list.written();
  expect(done.length).toBeGreaterThanOrEqual(AT);
  expect(done.length).toBeLessThan(COUNT);
  const { resources } = await list.project.state();
  const kept = resources.find(({ type }) => type.endsWith(":AllowDenyList"));
  expect(Object.keys(kept?.outputs?.["entries"] as object).sort()).toEqual(done.toSorted());

  await list.project.up();
  await list.expectWhole();
});

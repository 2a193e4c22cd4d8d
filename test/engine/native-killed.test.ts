import { expect, it } from "vitest";
import { AT, BrokenOffList, gone } from "./native-killed";

it("repairs a list in which the engine was killed, by the next up", async () => {
  await using list = await BrokenOffList.create();
  // What the plugin has sent by then comes to the service after its end.
  await list.upUntil(
    (run) => run.kill(),
    (_run, plugin) => gone(plugin),
  );
  expect(list.written().length).toBeGreaterThanOrEqual(AT - 1);

  await list.project.succeed("cancel", "--yes");
  await list.project.up();
  await list.project.refresh("--clear-pending-creates");
  await list.expectWhole();
});

import { it } from "vitest";
import { endsByItself, goesOnAfterKills, isGuarded } from "./only-expired";
import { SettingsProject } from "./tenant-settings";

/* `apply --only-expired`, through the real engine and both fronts. */

it("takes away just what has lapsed, over dynamic resources", async () => {
  await using its = await SettingsProject.create();
  await endsByItself(its);
});

it("is refused where a list would be emptied, and goes on after runs that were killed half way", async () => {
  await using its = await SettingsProject.create({}, { native: true });
  await isGuarded(its);
  await goesOnAfterKills(its);
});

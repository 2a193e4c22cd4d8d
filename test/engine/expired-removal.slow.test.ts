import { it } from "vitest";
import { endsByItself, goesOnAfterKills, isGuarded } from "./expired-removal";
import { SettingsProject } from "./tenant-settings";

/* `apply --only-expired`, through the real engine with both providers. */

it("removes only expired entries with dynamic resources", async () => {
  await using its = await SettingsProject.create();
  await endsByItself(its);
});

it("enforces the removal guard and continues after kills", async () => {
  await using its = await SettingsProject.create({}, { native: true });
  await isGuarded(its);
  await goesOnAfterKills(its);
});

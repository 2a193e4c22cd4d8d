import { it } from "vitest";
import { isGuarded, testKilledRemoval, testOnlyExpired } from "./expired-removal";
import { SettingsProject } from "./tenant-settings";

/* `apply --only-expired`, through the real engine with both providers. */

it("removes only expired entries with dynamic resources", async () => {
  await using its = await SettingsProject.create();
  await testOnlyExpired(its);
});

it("enforces the removal guard across kills", async () => {
  await using its = await SettingsProject.create({}, { native: true });
  await isGuarded(its);
  await testKilledRemoval(its);
});

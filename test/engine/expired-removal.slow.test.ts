import { it } from "vitest";
import { isGuarded, testKilledRemoval, testOnlyExpired } from "./expired-removal";
import { SettingsProject } from "./tenant-settings";

/* `apply --only-expired`, through the real engine with both providers. */

it("removes only expired entries with dynamic resources", async () => {
  await using fixture = await SettingsProject.create();
  await testOnlyExpired(fixture);
});

it("enforces the removal guard across kills", async () => {
  await using fixture = await SettingsProject.create({}, { native: true });
  await isGuarded(fixture);
  await testKilledRemoval(fixture);
});

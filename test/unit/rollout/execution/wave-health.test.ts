import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { UNLIMITED_REQUESTS } from "../../../../provider/client/rate-limiter";
import { checkHealth, type HealthContext } from "../../../../provider/rollout/execution/wave-health";
import type { Wave } from "../../../../provider/rollout/model/wave";
import { AddressHealth } from "../../../../provider/rollout/probing/address-health";
import { createTestDirectory } from "../../../support/test-directory";

const wave: Wave = {
  name: "canary",
  maxConcurrent: 1,
  tolerated: 0,
  soakMs: 0,
  gate: false,
  tenants: [],
  health: { command: [process.execPath, "-e", "setInterval(() => {}, 1000)"], timeoutMs: 600_000 },
};

/** Builds a context whose run permits these commands. */
const allowCommands = (...commands: readonly (readonly string[])[]): HealthContext => ({
  ...context,
  requestContext: {
    ...context.requestContext,
    environment: {
      ...process.env,
      EMAIL_SECURITY_COMMANDS: commands.map((command) => JSON.stringify(command)).join("\n"),
    },
  },
});

const context: HealthContext = {
  rollout: "r",
  requestContext: { environment: {}, getTokens: () => UNLIMITED_REQUESTS },
  addressHealth: new AddressHealth({ probe: async () => {} }),
  now: () => 0,
};

it("reports unhealthy when the rollout is aborted during the command", async () => {
  const aborted = new AbortController();
  const checked = checkHealth(wave, [], {
    ...allowCommands(wave.health?.command ?? []),
    aborted: aborted.signal,
  });
  aborted.abort();
  expect(await checked).toMatchObject({ isHealthy: false });
});

it("reports a hanging command as unhealthy", async () => {
  // A shell that ignores SIGTERM, with a child that keeps its output open.
  const command = ["sh", "-c", "trap '' TERM; echo begun; sleep 600 & wait; exit 0"];
  const health = { command, timeoutMs: 300 };
  expect(await checkHealth({ ...wave, health }, [], allowCommands(command))).toEqual({
    isHealthy: false,
    message: '"sh" took longer than 0.3 s and was killed: begun.',
  });
});

it("doesn't run a command that isn't allowed", async () => {
  using directory = createTestDirectory({});
  const command = ["touch", directory.at("was-run")];
  const health = { command, timeoutMs: 10_000 };
  const { isHealthy, message } = await checkHealth({ ...wave, health }, [], allowCommands(["touch", "elsewhere"]));
  expect(isHealthy).toBe(false);
  expect(message).toContain("The command can't be run: This run does not allow the following");
  expect(message).toContain("[ERR_ROLLOUT_NOT_ALLOWED]");
  expect(existsSync(directory.at("was-run"))).toBe(false);
});

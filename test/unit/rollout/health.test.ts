import { expect, it } from "vitest";
import { AddressHealth } from "../../../provider/rollout/address-health";
import { checkHealth, type HealthContext } from "../../../provider/rollout/health";
import type { Wave } from "../../../provider/rollout/wave";

const wave: Wave = {
  name: "canary",
  maxConcurrent: 1,
  tolerated: 0,
  soakMs: 0,
  gate: false,
  tenants: [],
  health: { command: [process.execPath, "-e", "setInterval(() => {}, 1000)"], timeoutMs: 600_000 },
};

const context: HealthContext = {
  rollout: "r",
  commandEnvironment: {},
  reach: { environment: {}, permits: () => ({ take: async () => {}, refused: () => {} }) },
  addresses: new AddressHealth({ look: async () => {} }),
  now: () => 0,
};

it("ends the command when the rollout is to end at once, and never takes that for well", async () => {
  const aborted = new AbortController();
  const checked = checkHealth(wave, [], { ...context, aborted: aborted.signal });
  aborted.abort();
  expect(await checked).toMatchObject({ isWell: false });
});

it("kills a command that takes too long with all that it has started, and takes an end that comes after that for no answer", async () => {
  // A shell that hears no request to end, and whose own child holds its output open.
  const command = ["sh", "-c", "trap '' TERM; echo begun; sleep 600 & wait; exit 0"];
  const health = { command, timeoutMs: 300 };
  expect(await checkHealth({ ...wave, health }, [], { ...context, commandEnvironment: process.env })).toEqual(
    {
      isWell: false,
      message: '"sh" took longer than 0.3 s, and was killed: begun.',
    },
  );
});

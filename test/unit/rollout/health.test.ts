import { expect, it } from "vitest";
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
  environment: {},
  permits: () => ({ take: async () => {}, refused: () => {} }),
  now: () => 0,
};

it("ends the command when the rollout is to end at once, and never takes that for well", async () => {
  const aborted = new AbortController();
  const checked = checkHealth(wave, [], { ...context, aborted: aborted.signal });
  aborted.abort();
  expect(await checked).toMatchObject({ isWell: false });
});

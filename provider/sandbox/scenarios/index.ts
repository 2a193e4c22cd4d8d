import { SandboxError } from "../contract/errors";
import { acme } from "./acme";
import { empty } from "./empty";
import type { Scenario } from "./scenario";

const scenarios: readonly Scenario[] = [acme, empty];

/** The valid names for `scenario`; the first is the default. */
export const scenarioNames: readonly string[] = scenarios.map((scenario) => scenario.name);

/**
 * Returns the scenario with that name.
 *
 * @throws SandboxError `ERR_SANDBOX_SCENARIO` if the name is unknown.
 */
export function getScenario(name: string): Scenario {
  const scenario = scenarios.find((candidate) => candidate.name === name);
  if (scenario !== undefined) return scenario;
  throw new SandboxError(
    "ERR_SANDBOX_SCENARIO",
    `The scenario ${JSON.stringify(name)} doesn't exist. The scenarios are: ${scenarioNames.join(", ")}.`,
  );
}

import { type Command, Option } from "commander";
import { ConfigurationError } from "../client";
import { omitUndefined } from "../model/omit-undefined";
import type { Target, Targets } from "../rollout/model/target";
import type { TargetSelection } from "../rollout/targets/select-targets";

export const DEFAULT_TARGETS_FILE = "tenants.yaml";

export function createTargetsOption(): Option {
  return new Option("--targets <file>", "Read the tenants from this file").default(DEFAULT_TARGETS_FILE);
}

/** Creates the option that names one tenant of the targets file. */
export function createTenantOption(): Option {
  return new Option("--tenant <name>", "Use this tenant of the targets file, with its settings file, address and key");
}

/** The selection of tenants from the targets file. */
export interface SelectionOptions {
  readonly only?: readonly string[];
  readonly except?: readonly string[];
  readonly label?: readonly string[];
}

/** Adds the options for selecting tenants; each takes all words up to the next option. */
export function addSelectionOptions(command: Command): Command {
  return command
    .option("--only <name...>", `Select only these tenants; ${WILDCARD_HELP}`)
    .option("--except <name...>", `Select all but these tenants; ${WILDCARD_HELP}`)
    .option("--label <condition...>", `Select only tenants with ${LABEL_HELP}`);
}

/** Adds the selection options for a command with positional values: each takes one word and can be repeated. */
export function addRepeatableSelectionOptions(command: Command): Command {
  return command
    .option("--only <names>", `Select only these tenants, separated by commas; ${WILDCARD_HELP}`, collectValues)
    .option("--except <names>", "Select all but these tenants, separated by commas", collectValues)
    .option("--label <condition>", `Select only tenants with ${LABEL_HELP}; repeat for several`, collectValues);
}

const WILDCARD_HELP = "* matches any characters";
const LABEL_HELP = "ring=canary, ring=canary,beta, or !ring=canary";

export function collectValues(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, value];
}

/**
 * Parses the tenant selection.
 *
 * @throws {ConfigurationError} if `--only` or `--except` is empty, for example because of an unset variable: it would otherwise select all
 * tenants.
 */
export function parseSelection({ only, except, label: labels }: SelectionOptions): TargetSelection {
  return omitUndefined({
    only: parseTenantNames("--only", only),
    except: parseTenantNames("--except", except),
    labels,
  });
}

function parseTenantNames(option: string, values: readonly string[] | undefined): readonly string[] | undefined {
  // Names contain no commas.
  const names = values?.flatMap((value) => value.split(",")).filter((name) => name !== "");
  if (names?.length === 0) {
    throw new ConfigurationError(`${option} contains no tenant. Give a name, or omit the option to select all.`);
  }
  return names;
}

/** A tenant with the shared settings of the targets file. */
export interface NamedTenant {
  readonly target: Target;
  readonly services: Targets["services"];
}

/**
 * Returns the tenant that `--tenant` names.
 *
 * @throws {ConfigurationError} if a name with `*` matches several tenants.
 * @throws {SelectionError} (`ERR_ROLLOUT_SELECTION`) if no tenant matches.
 */
export async function resolveNamedTenant(name: string, file: string): Promise<NamedTenant> {
  const { readTargets } = await import("../rollout/targets/read-targets.js");
  const { selectTargets } = await import("../rollout/targets/select-targets.js");
  const { targets, services } = readTargets(file);
  const [target, secondTarget] = selectTargets(targets, { only: [name] });
  if (target !== undefined && secondTarget === undefined) return { target, services };
  throw new ConfigurationError("--tenant matches several tenants; give the name of one.");
}

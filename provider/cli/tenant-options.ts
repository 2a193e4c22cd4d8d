import { type Command, Option } from "commander";
import { ConfigurationError } from "../client";
import type { Target, Targets } from "../rollout/model/target";
import type { Selection } from "../rollout/targets/select-targets";
import { withoutUndefined } from "../settings/without-undefined";

/** The default targets file. */
export const TARGETS_FILE = "tenants.yaml";

/** The option for the file that lists the tenants. */
export function targetsOption(): Option {
  return new Option("--targets <file>", "Read the tenants from this file").default(TARGETS_FILE);
}

/** The selection of tenants from the targets file. */
export interface Selecting {
  readonly only?: readonly string[];
  readonly except?: readonly string[];
  readonly label?: readonly string[];
}

/** Adds the options for selecting tenants; each takes all words up to the next option. */
export function withSelection(command: Command): Command {
  return command
    .option("--only <name...>", `Select only these tenants; ${WILDCARD_HELP}`)
    .option("--except <name...>", `Select all but these tenants; ${WILDCARD_HELP}`)
    .option("--label <condition...>", `Select only tenants with ${LABEL_HELP}`);
}

/** Adds the selection options for a command with positional values: each takes one word and can be repeated. */
export function withSelectionBesideValues(command: Command): Command {
  return command
    .option("--only <names>", `Select only these tenants, with commas; ${WILDCARD_HELP}`, several)
    .option("--except <names>", "Select all but these tenants, with commas", several)
    .option("--label <condition>", `Select only tenants with ${LABEL_HELP}; repeat for several`, several);
}

const WILDCARD_HELP = "* stands for any characters";
const LABEL_HELP = "ring=canary, ring=canary,beta, or !ring=canary";

/** Collects the values of a repeatable option. */
export function several(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, value];
}

/**
 * Parses the tenant selection.
 *
 * @throws {ConfigurationError} if `--only` or `--except` is empty, for example because of an unset variable: it would otherwise select all
 * tenants.
 */
export function selectionOf({ only, except, label: labels }: Selecting): Selection {
  return withoutUndefined({
    only: parseTenantNames("--only", only),
    except: parseTenantNames("--except", except),
    labels,
  });
}

function parseTenantNames(option: string, values: readonly string[] | undefined): readonly string[] | undefined {
  // Names contain no commas.
  const names = values?.flatMap((value) => value.split(",")).filter((name) => name !== "");
  if (names?.length === 0) {
    throw new ConfigurationError(`${option} names no tenant. Give a name, or leave it out to mean all.`);
  }
  return names;
}

/** A tenant with the shared settings of the targets file. */
export interface TenantNamed {
  readonly target: Target;
  readonly services: Targets["services"];
}

/**
 * Returns the tenant that `--tenant` names.
 *
 * @param file the targets file.
 * @throws {ConfigurationError} if a name with `*` matches several tenants.
 * @throws {SelectionError} (`ERR_ROLLOUT_SELECTION`) if no tenant matches.
 */
export async function tenantNamed(name: string, file: string): Promise<TenantNamed> {
  const { readTargets } = await import("../rollout/targets/read-targets.js");
  const { selectTargets } = await import("../rollout/targets/select-targets.js");
  const { targets, services } = readTargets(file);
  const [target, secondTarget] = selectTargets(targets, { only: [name] });
  if (target !== undefined && secondTarget === undefined) return { target, services };
  throw new ConfigurationError("--tenant means several tenants; give the name of one.");
}

import { type Command, Option } from "commander";
import { ConfigurationError } from "../client";
import type { Target, Targets } from "../rollout/model/target";
import type { Selection } from "../rollout/targets/select-targets";
import { withoutUndefined } from "../settings/without-undefined";

/** The targets file where none is named. */
export const TARGETS_FILE = "tenants.yaml";

/** The file that lists the tenants. */
export function targetsOption(): Option {
  return new Option("--targets <file>", "Read the tenants from this file").default(TARGETS_FILE);
}

/** Which tenants of the targets file are meant. */
export interface Selecting {
  readonly only?: readonly string[];
  readonly except?: readonly string[];
  readonly label?: readonly string[];
}

/** Adds the options that select tenants; each takes all words up to the next option. */
export function withSelection(command: Command): Command {
  return command
    .option("--only <name...>", `Select only these tenants; ${ANY}`)
    .option("--except <name...>", `Select all but these tenants; ${ANY}`)
    .option("--label <condition...>", `Select only tenants with ${CONDITIONS}`);
}

/** The same for a command whose values stand beside its options: each takes one word, and is given again for more. */
export function withSelectionBesideValues(command: Command): Command {
  return command
    .option("--only <names>", `Select only these tenants, with commas; ${ANY}`, several)
    .option("--except <names>", "Select all but these tenants, with commas", several)
    .option("--label <condition>", `Select only tenants with ${CONDITIONS}; repeat for several`, several);
}

const ANY = "* stands for any characters";
const CONDITIONS = "ring=canary, ring=canary,beta, or !ring=canary";

/** Gathers what an option is given again and again. */
export function several(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/**
 * Which tenants the options select.
 *
 * @throws {ConfigurationError} when `--only` or `--except` is given and names nobody, as by a variable that is not set: that would be all.
 */
export function selectionOf({ only, except, label: labels }: Selecting): Selection {
  return withoutUndefined({ only: namesIn("--only", only), except: namesIn("--except", except), labels });
}

function namesIn(option: string, given: readonly string[] | undefined): readonly string[] | undefined {
  // No name has a comma in it.
  const names = given?.flatMap((some) => some.split(",")).filter((name) => name !== "");
  if (names?.length === 0) {
    throw new ConfigurationError(`${option} names no tenant. Give a name, or leave it out to mean all.`);
  }
  return names;
}

/** A tenant, and what all tenants of the file share. */
export interface TenantNamed {
  readonly target: Target;
  readonly services: Targets["services"];
}

/**
 * The one tenant that `--tenant` names.
 *
 * @param file the targets file.
 * @throws {ConfigurationError} when the name, with `*` in it, means several.
 * @throws {SelectionError} (`ERR_ROLLOUT_SELECTION`) when there is none of it.
 */
export async function tenantNamed(name: string, file: string): Promise<TenantNamed> {
  const { readTargets } = await import("../rollout/targets/read-targets.js");
  const { selectTargets } = await import("../rollout/targets/select-targets.js");
  const { targets, services } = readTargets(file);
  const [target, another] = selectTargets(targets, { only: [name] });
  if (target !== undefined && another === undefined) return { target, services };
  throw new ConfigurationError("--tenant means several tenants; give the name of one.");
}

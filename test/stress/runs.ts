import { parseArgs } from "node:util";
import { ENVIRONMENT_NAMES, type EnvironmentName } from "#stress/environments";

/** The tiers by their names on the command line, with the arguments of vitest. */
export const TIERS = { test: [], all: ["--mode=all"] } as const satisfies Record<string, readonly string[]>;

export type Tier = keyof typeof TIERS;

export const TIER_NAMES = Object.keys(TIERS) as Tier[];

/** One run of a tier. */
export interface StressRun {
  readonly number: number;
  readonly tier: Tier;
  /** The files to run, as on the command line of vitest. All files of the tier if empty. */
  readonly files: readonly string[];
  /** Determines the order of the files. */
  readonly seed: number;
  readonly environment: EnvironmentName;
}

export interface RunSelection {
  readonly tiers: readonly Tier[];
  /** The number of the first run. */
  readonly from: number;
  /** The number of runs of each tier. */
  readonly count: number;
  readonly environments: readonly EnvironmentName[];
  readonly files: readonly string[];
}

export interface StressOptions extends RunSelection {
  readonly concurrency: number;
  /** The number of busy threads. */
  readonly load: number;
}

/**
 * Parses the command line.
 *
 * @throws {Error} if an argument is invalid.
 */
export function parseOptions(args: readonly string[], cores: number): StressOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      tier: { type: "string", multiple: true, default: TIER_NAMES },
      from: { type: "string", default: "1" },
      runs: { type: "string", default: "20" },
      environment: { type: "string", multiple: true, default: ENVIRONMENT_NAMES },
      concurrency: { type: "string", default: "2" },
      load: { type: "string", default: String(cores) },
    },
  });
  return {
    tiers: values.tier.map((name) => parseName("tier", name, TIER_NAMES)),
    from: parseCount("from", values.from, 1),
    count: parseCount("runs", values.runs, 1),
    environments: values.environment.map((name) => parseName("environment", name, ENVIRONMENT_NAMES)),
    concurrency: parseCount("concurrency", values.concurrency, 1),
    load: parseCount("load", values.load, 0),
    files: positionals,
  };
}

/** Lists the runs: the first of each tier, then the second of each, and so on. A run's number determines everything else. */
export function listRuns({ tiers, from, count, environments, files }: RunSelection): readonly StressRun[] {
  const numbers = Array.from({ length: count }, (_, index) => from + index);
  return numbers.flatMap((number) => {
    const environment = environments[(number - 1) % environments.length] ?? "default";
    return tiers.map((tier) => ({ number, tier, files, seed: number, environment }));
  });
}

/** Identifies a run in the journal. */
export function getRunKey({ number, tier, files, environment }: StressRun): string {
  return [tier, number, environment, ...files].join(" ");
}

/** Lists the runs that didn't end with the current sources. A run that ended red isn't repeated. */
export function listPendingRuns<Run extends StressRun>(
  runs: readonly Run[],
  results: readonly (StressRun & { readonly sources: string })[],
  sources: string,
): readonly Run[] {
  const ended = new Set(results.filter((result) => result.sources === sources).map(getRunKey));
  return runs.filter((run) => !ended.has(getRunKey(run)));
}

/** Formats the command that repeats a run, with other files if given. */
export function formatCommand(
  { tier, number, environment, files }: StressRun,
  only: readonly string[] = files,
): string {
  return [`npm run test:stress -- --tier ${tier} --from ${number} --runs 1 --environment ${environment}`, ...only].join(
    " ",
  );
}

/** Returns the arguments of vitest. */
export function buildVitestArguments({ tier, seed, files }: StressRun): string[] {
  return [...TIERS[tier], "--sequence.shuffle.files", `--sequence.seed=${seed}`, ...files];
}

function parseName<Name extends string>(option: string, name: string, names: readonly Name[]): Name {
  const match = names.find((candidate) => candidate === name);
  if (match === undefined) throw new Error(`Invalid --${option} "${name}". Choose one of ${names.join(", ")}.`);
  return match;
}

function parseCount(option: string, text: string, min: number): number {
  const count = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(count >= min)) throw new Error(`Invalid --${option} "${text}". Use a whole number of at least ${min}.`);
  return count;
}

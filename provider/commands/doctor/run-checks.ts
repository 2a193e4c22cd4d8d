import type { Check, CheckContext, CheckOutcome } from "./check-outcome";
import { connectionChecks, resolveAddress } from "./connection-checks";
import { engineChecks, programChecks, settingsChecks } from "./local-checks";
import { pluginChecks } from "./plugin-check";
import { previewChecks } from "./preview-check";
import { serviceChecks } from "./service-checks";
import { type ServiceProbe, sendProbe } from "./service-probe";
import { sourceChecks } from "./source-check";

/** The outcome of a named check. */
export interface Diagnosis extends CheckOutcome {
  /** The stable name of the check: `address`, `key-accepted`. */
  readonly check: string;
}

/** The options of {@link runChecks}. */
export interface DoctorOptions {
  readonly environment: NodeJS.ProcessEnv;
  readonly packageVersion: string;
  /** Settings files, or directories of them. Default: the directory `settings`, or `settings.yaml`. */
  readonly files?: readonly string[];
  /** The machine's clock, in milliseconds since 1970. Default: the clock of this process. */
  readonly now?: () => number;
}

/** All checks, in the order of the output. */
const CHECKS: readonly Check[] = [
  ...programChecks,
  ...connectionChecks,
  ...serviceChecks,
  ...engineChecks,
  ...pluginChecks,
  ...previewChecks,
  ...settingsChecks,
  ...sourceChecks,
];

/** The names of all checks, in order. */
export const CHECK_NAMES: readonly string[] = CHECKS.map(({ name }) => name);

/**
 * Checks the requirements for managing a tenant from this machine: programs, address, connection, key and its permissions, clock, engine,
 * state, native plugin, settings files and sources. It only reads, and shows no part of the key. It skips checks that depend on a failed one.
 */
export async function* runChecks(options: DoctorOptions): AsyncGenerator<Diagnosis, void, undefined> {
  const { environment, packageVersion, files, now = Date.now } = options;
  let probeResult: Promise<ServiceProbe> | undefined;
  const context: CheckContext = {
    environment,
    packageVersion,
    directory: process.cwd(),
    files,
    now,
    probeService() {
      probeResult ??= sendProbe(resolveAddress(context), environment, now);
      return probeResult;
    },
  };
  // Maps each failed or skipped check to the failure that caused it.
  const failureCauses = new Map<string, string>();
  for (const { name, needs = [], run } of CHECKS) {
    const cause = needs.map((requirement) => failureCauses.get(requirement)).find((failure) => failure !== undefined);
    if (cause !== undefined) {
      failureCauses.set(name, cause);
      yield { check: name, status: "skipped", result: `not checked, because ${cause} failed` };
      continue;
    }
    const result = await run(context);
    if (result.status === "fail") failureCauses.set(name, name);
    yield { check: name, ...result };
  }
}

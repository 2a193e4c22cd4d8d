import type { Check, Observation, Patient } from "./check";
import { addressOf, connectionChecks } from "./connection-checks";
import { type Contact, makeContact } from "./contact";
import { engineChecks, programChecks, settingsChecks } from "./local-checks";
import { pluginChecks } from "./plugin-check";
import { previewChecks } from "./preview-check";
import { serviceChecks } from "./service-checks";

/** What was found of one thing, and which. */
export interface Diagnosis extends Observation {
  /** A stable name: `address`, `key-accepted`. */
  readonly check: string;
}

/** What is examined. */
export interface DoctorOptions {
  readonly environment: NodeJS.ProcessEnv;
  /** The version of this package. */
  readonly packageVersion: string;
  /** Settings files, or folders of them. Default: the folder `settings`, or `settings.yaml`. */
  readonly files?: readonly string[];
  /** The machine's clock, in milliseconds since 1970. Default: the process's own. */
  readonly now?: () => number;
}

/** In the order in which they are told. */
const CHECKS: readonly Check[] = [
  ...programChecks,
  ...connectionChecks,
  ...serviceChecks,
  ...engineChecks,
  ...pluginChecks,
  ...previewChecks,
  ...settingsChecks,
];

/** The names of all checks, in their order. */
export const CHECK_NAMES: readonly string[] = CHECKS.map(({ name }) => name);

/**
 * Examines what is needed to manage a tenant from here: programs, address, connection, key and its rights, clock, engine,
 * state, native plugin, settings files. Reads only, and shows no part of the key. What rests on something that has failed is left out.
 */
export async function* examine(options: DoctorOptions): AsyncGenerator<Diagnosis, void, undefined> {
  const { environment, packageVersion, files, now = Date.now } = options;
  let probeResult: Promise<Contact> | undefined;
  const context: Patient = {
    environment,
    packageVersion,
    folder: process.cwd(),
    files,
    now,
    contact() {
      probeResult ??= makeContact(addressOf(context), environment, now);
      return probeResult;
    },
  };
  // With what has failed at the bottom of it.
  const failureCauses = new Map<string, string>();
  for (const { name, needs = [], look } of CHECKS) {
    const cause = needs
      .map((requirement) => failureCauses.get(requirement))
      .find((failure) => failure !== undefined);
    if (cause !== undefined) {
      failureCauses.set(name, cause);
      yield { check: name, health: "skipped", found: `not looked at, since ${cause} failed` };
      continue;
    }
    const result = await look(context);
    if (result.health === "fail") failureCauses.set(name, name);
    yield { check: name, ...result };
  }
}

import { spawn } from "node:child_process";
import type { SettingsClient } from "../../client";
import { eachAtOnce } from "../../settings/at-once";
import { withCode } from "../../settings/email-security-error";
import { printable, quote } from "../../settings/text";
import type { TenantRecord } from "../journal/rollout-record";
import type { HealthCheck, ThreatLimit, Wave } from "../model/wave";
import type { AddressHealth, Asking } from "../probing/address-health";
import { type Reach, withTargetClient } from "../probing/target-client";
import { commandEnvironment } from "../targets/allowed";
import { refuseNotAllowed } from "../targets/not-allowed";
import { readKey } from "../targets/read-key";

/** What a health check said. */
export interface Health {
  readonly isWell: boolean;
  /** A sentence, or several. */
  readonly message: string;
}

/** What a health check works with. */
export interface HealthContext {
  readonly rollout: string;
  /** How the tenants are asked, and what the run allows. */
  readonly reach: Reach;
  /** What is known of their addresses. */
  readonly addresses: AddressHealth;
  readonly now: () => number;
  /** Ends the command at once. Default: never. */
  readonly aborted?: AbortSignal;
}

/**
 * Looks whether a wave is well: its command ends with 0, and none of its changed tenants has more threats than its limit
 * lets it. What can't be found out is not well. Never throws.
 */
export async function checkHealth(
  { health, name }: Wave,
  changed: readonly TenantRecord[],
  context: HealthContext,
): Promise<Health> {
  if (health === undefined) return { isWell: true, message: "There is nothing to check." };
  const { threats } = health;
  const rises = threats === undefined ? [] : await manyThreats(threats, changed, context);
  // The team's own command speaks of the whole wave: it comes before tenants, of which the last are cut.
  const found = [
    ...(await commandFailed(health, name, changed, context).catch((error: unknown) => [
      `The command can't be run: ${withCode(error)}`,
    ])),
    ...rises,
  ];
  if (found.length > 0) return { isWell: false, message: atMost(found) };
  return { isWell: true, message: "All checks are well." };
}

/** The command hears of its wave from its environment. */
async function commandFailed(
  health: HealthCheck,
  wave: string,
  changed: readonly TenantRecord[],
  { rollout, reach: { environment }, aborted }: HealthContext,
): Promise<readonly string[]> {
  const { command, timeoutMs } = health;
  const [program, ...args] = command ?? [];
  if (program === undefined) return [];
  // It is the journal's: who went on with the rollout may have been shown another one.
  refuseNotAllowed("the rollout", [], [{ name: wave, health }], environment);
  const own = {
    ...commandEnvironment(environment),
    EMAIL_SECURITY_ROLLOUT: rollout,
    EMAIL_SECURITY_WAVE: wave,
    EMAIL_SECURITY_TENANTS: changed.map(({ name }) => name).join(","),
  };
  const child = spawn(program, args, {
    env: own,
    stdio: ["ignore", "pipe", "pipe"],
    // Ctrl-C in the terminal is for the rollout, which finishes the check.
    detached: true,
  });
  let isLate = false;
  const end = (): void => {
    try {
      // The whole group: what the command has started too.
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      child.kill("SIGKILL");
    }
  };
  const timer = setTimeout(() => {
    isLate = true;
    end();
  }, timeoutMs);
  aborted?.addEventListener("abort", end);
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      printed = `${printed}${text}`.slice(-MAX_PRINTED);
    });
  }
  return await new Promise<readonly string[]>((resolve) => {
    child.once("error", (error) => resolve([`${quote(program)} can't be run: ${printable(error.message)}.`]));
    child.once("close", (code, signal) => {
      if (code === 0 && !isLate) return resolve([]);
      const last = printable(printed.trim().split("\n").at(-1) ?? "");
      const how = isLate
        ? `took longer than ${timeoutMs / 1_000} s, and was killed`
        : `ended with ${signal ?? code}`;
      resolve([`${quote(program)} ${how}${last === "" ? "" : `: ${last}`}.`]);
    });
  }).finally(() => {
    clearTimeout(timer);
    aborted?.removeEventListener("abort", end);
  });
}

const MAX_PRINTED = 4_096;

/** So many tenants are asked at once. */
const AT_ONCE = 8;

async function manyThreats(
  limit: ThreatLimit,
  changed: readonly TenantRecord[],
  context: HealthContext,
): Promise<readonly string[]> {
  const found: ThreatRise[] = [];
  await eachAtOnce(changed, AT_ONCE, async (tenant) => {
    const one = await tooManyThreats(limit, tenant, context);
    if (one !== undefined) found.push(one);
  });
  return found
    .sort((one, other) => other.rise - one.rise || (one.message < other.message ? -1 : 1))
    .map(({ message }) => message);
}

interface ThreatRise {
  /** How many threats more than before; 0 where they can't be counted. */
  readonly rise: number;
  readonly message: string;
}

/** Compares the threats since a tenant's change with those of as long a time before it, by the totals of two windows. */
async function tooManyThreats(
  { risePercent, min }: ThreatLimit,
  { target, finishedAtMs }: TenantRecord,
  { reach, addresses, now }: HealthContext,
): Promise<ThreatRise | undefined> {
  const minutes = Math.max(1, Math.ceil((now() - (finishedAtMs ?? now())) / 60_000));
  try {
    const key = await readKey(target, reach);
    const count = async (client: SettingsClient) =>
      [await total(client, minutes), await total(client, 2 * minutes)] as const;
    const [since, both] = await addresses.ask(
      target,
      async (asking: Asking) => await withTargetClient(target, key, reach, count, asking),
    );
    const before = Math.max(0, both - since);
    if (since - before < min || since <= before * (1 + risePercent / 100)) return undefined;
    return {
      rise: since - before,
      message: `${quote(target.name)} has ${since} threats in the ${minutes} min since its change, and had ${before} in as long before it.`,
    };
  } catch (error) {
    return {
      rise: 0,
      message: `The threats of ${quote(target.name)} can't be counted: ${printable(withCode(error))}.`,
    };
  }
}

async function total(client: SettingsClient, minutes: number): Promise<number> {
  const page = await client.threats.list({ minutes_ago: minutes, page_size: 1 });
  if (page.total === undefined) throw new Error("the service tells no total");
  return page.total;
}

const SHOWN = 10;

function atMost(found: readonly string[]): string {
  const more = found.length > SHOWN ? [`… and ${found.length - SHOWN} more.`] : [];
  return [...found.slice(0, SHOWN), ...more].join(" ");
}

import { spawn } from "node:child_process";
import type { SettingsClient } from "../../client";
import { formatErrorWithCode } from "../../model/email-security-error";
import { forEachConcurrently } from "../../model/for-each-concurrently";
import { quote, sanitizeLine } from "../../model/text";
import type { TenantRecord } from "../journal/rollout-record";
import type { HealthCheck, ThreatLimit, Wave } from "../model/wave";
import type { AddressHealth, RequestPolicy } from "../probing/address-health";
import { type RequestContext, useTargetClient } from "../probing/target-client";
import { assertRunPermissions } from "../targets/assert-run-permissions";
import { readKey } from "../targets/read-key";
import { buildCommandEnvironment } from "../targets/run-permissions";

export interface HealthResult {
  readonly isHealthy: boolean;
  /** One or more sentences. */
  readonly message: string;
}

export interface HealthContext {
  readonly rollout: string;
  readonly requestContext: RequestContext;
  readonly addressHealth: AddressHealth;
  readonly now: () => number;
  /** Kills the command at once. Default: never. */
  readonly aborted?: AbortSignal;
}

/**
 * Checks whether a wave is healthy: its command exits with 0, and the increase in threats of each changed tenant is within the limit.
 * If a check can't run, the wave is unhealthy. Never throws.
 */
export async function checkHealth(
  { health, name }: Wave,
  changedTenants: readonly TenantRecord[],
  context: HealthContext,
): Promise<HealthResult> {
  if (health === undefined) return { isHealthy: true, message: "There is nothing to check." };
  const { threats } = health;
  const threatProblems = threats === undefined ? [] : await findThreatRises(threats, changedTenants, context);
  // The team's own command covers the whole wave, so it comes before the tenants, whose list is truncated.
  const problems = [
    ...(await runHealthCommand(health, name, changedTenants, context).catch((error: unknown) => [
      `The command can't be run: ${formatErrorWithCode(error)}`,
    ])),
    ...threatProblems,
  ];
  if (problems.length > 0) return { isHealthy: false, message: formatFirstProblems(problems) };
  return { isHealthy: true, message: "All checks passed." };
}

async function runHealthCommand(
  health: HealthCheck,
  wave: string,
  changedTenants: readonly TenantRecord[],
  { rollout, requestContext: { environment }, aborted }: HealthContext,
): Promise<readonly string[]> {
  const { command, timeoutMs } = health;
  const [program, ...args] = command ?? [];
  if (program === undefined) return [];
  // The command comes from the journal. The person who resumed the rollout may have reviewed a different one.
  assertRunPermissions("the rollout", [], [{ name: wave, health }], environment);
  const commandEnv = {
    ...buildCommandEnvironment(environment),
    EMAIL_SECURITY_ROLLOUT: rollout,
    EMAIL_SECURITY_WAVE: wave,
    EMAIL_SECURITY_TENANTS: changedTenants.map(({ name }) => name).join(","),
  };
  const child = spawn(program, args, {
    env: commandEnv,
    stdio: ["ignore", "pipe", "pipe"],
    // Ctrl-C in the terminal is meant for the rollout, which finishes the check.
    detached: true,
  });
  let hasTimedOut = false;
  const kill = (): void => {
    try {
      // Kills the whole group, including the command's own children.
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      child.kill("SIGKILL");
    }
  };
  const timer = setTimeout(() => {
    hasTimedOut = true;
    kill();
  }, timeoutMs);
  aborted?.addEventListener("abort", kill);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output = `${output}${text}`.slice(-MAX_OUTPUT_LENGTH);
    });
  }
  return await new Promise<readonly string[]>((resolve) => {
    child.once("error", (error) => resolve([`${quote(program)} can't be run: ${sanitizeLine(error.message)}.`]));
    child.once("close", (code, signal) => {
      if (code === 0 && !hasTimedOut) return resolve([]);
      const lastLine = sanitizeLine(output.trim().split("\n").at(-1) ?? "");
      const outcome = hasTimedOut
        ? `took longer than ${timeoutMs / 1_000} s and was killed`
        : `exited with ${signal ?? code}`;
      resolve([`${quote(program)} ${outcome}${lastLine === "" ? "" : `: ${lastLine}`}.`]);
    });
  }).finally(() => {
    clearTimeout(timer);
    aborted?.removeEventListener("abort", kill);
  });
}

const MAX_OUTPUT_LENGTH = 4_096;

const CHECK_CONCURRENCY = 8;

async function findThreatRises(
  threatLimit: ThreatLimit,
  changedTenants: readonly TenantRecord[],
  context: HealthContext,
): Promise<readonly string[]> {
  const rises: ThreatRise[] = [];
  await forEachConcurrently(changedTenants, CHECK_CONCURRENCY, async (tenant) => {
    const rise = await findThreatRise(threatLimit, tenant, context);
    if (rise !== undefined) rises.push(rise);
  });
  return rises.sort((a, b) => b.rise - a.rise || (a.message < b.message ? -1 : 1)).map(({ message }) => message);
}

interface ThreatRise {
  /** How many more threats than before. 0 if they can't be counted. */
  readonly rise: number;
  readonly message: string;
}

/** Compares the threats since a tenant's change with those of an equally long period before it, using the totals of two windows. */
async function findThreatRise(
  { risePercent, min }: ThreatLimit,
  { target, finishedAtMs }: TenantRecord,
  { requestContext, addressHealth, now }: HealthContext,
): Promise<ThreatRise | undefined> {
  const minutes = Math.max(1, Math.ceil((now() - (finishedAtMs ?? now())) / 60_000));
  try {
    const key = await readKey(target, requestContext);
    const countWindows = async (client: SettingsClient) =>
      [await countThreats(client, minutes), await countThreats(client, 2 * minutes)] as const;
    const [countAfter, countTotal] = await addressHealth.run(
      target,
      async (requestPolicy: RequestPolicy) =>
        await useTargetClient(target, key, requestContext, countWindows, requestPolicy),
    );
    const countBefore = Math.max(0, countTotal - countAfter);
    if (countAfter - countBefore < min || countAfter <= countBefore * (1 + risePercent / 100)) return undefined;
    return {
      rise: countAfter - countBefore,
      message: `${quote(target.name)} has ${countAfter} threats in the ${minutes} min since its change, compared with ${countBefore} in the ${minutes} min before it.`,
    };
  } catch (error) {
    return {
      rise: 0,
      message: `The threats of ${quote(target.name)} can't be counted: ${sanitizeLine(formatErrorWithCode(error))}.`,
    };
  }
}

async function countThreats(client: SettingsClient, minutes: number): Promise<number> {
  const page = await client.threats.list({ minutes_ago: minutes, page_size: 1 });
  if (page.total === undefined) throw new Error("the service reports no total");
  return page.total;
}

const MAX_PROBLEMS = 10;

function formatFirstProblems(problems: readonly string[]): string {
  const truncation = problems.length > MAX_PROBLEMS ? [`… and ${problems.length - MAX_PROBLEMS} more.`] : [];
  return [...problems.slice(0, MAX_PROBLEMS), ...truncation].join(" ");
}

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { EmailSecurityError } from "../../model/email-security-error";
import { formatAcceptAdvice, isEmptyTenantAccepted, OTHER_TENANT_LEAD } from "../../model/mail-domains";
import { omitUndefined } from "../../model/omit-undefined";
import { isEmptyIdentity, type TenantIdentity } from "../../model/tenant-identity";
import { quote } from "../../model/text";
import { buildDesiredState, type StackLists } from "../../plan/desired-state";
import { getObservedIdentity, type ObservedState } from "../../plan/observed-state";
import type { Plan } from "../../plan/plan";
import { isOtherTenantPlan, redactOtherTenantPlan } from "../../plan/plan-redaction";
import { formatPulumiOutput, type PulumiRun } from "../../plan/pulumi-cli";
import { formatPlanJson } from "../../plan/render/plan-json";
import { OTHER_TENANT_CODE } from "../../plan/tenant-mismatch";
import { PLAN_DIGEST_VARIABLE, PLAN_FILE_VARIABLE } from "../../resources/lifecycle/reviewed-plan";
import { SettingsFileError } from "../../settings-files/finding";
import { lintSettings } from "../../settings-files/lint";
import { createScratchDirectory } from "../../system/scratch-directory";
import { RolloutError } from "../model/rollout-error";
import type { StackMarker } from "../model/stack-marker";
import type { Target, Targets } from "../model/target";
import { extractBundle, packFiles } from "../planning/file-bundle";
import { buildEngineEnvironment, getStackConfigFiles } from "../planning/plan-rollout";
import { buildTenantPlan, readTargetStack } from "../planning/plan-target";
import { hasDeclarations } from "../planning/replaced-tenant";
import type { Grant } from "../rate-limit/rate-limit-broker";
import { buildExpectedTenantEnv } from "../stack/expected-tenant-env";
import { runOnStack } from "../stack/run-on-stack";
import { assertPassphrase, getProjectDirectory, resolveStateBackend } from "../stack/state-backend";
import { buildTenantEnvironment, getKeyVariables } from "../stack/tenant-environment";

export interface StackRemoval {
  readonly target: Target;
  readonly exists: boolean;
  readonly known: StackLists;
  /** The marker of the last rollout that changed it. Absent: none. */
  readonly marker?: StackMarker;
  readonly resource: string;
  /** Runs Pulumi on the stack, in a project that is laid out for it. Removes the lock of a killed run. */
  readonly runPulumi: (args: readonly string[], environment?: Readonly<Record<string, string>>) => Promise<PulumiRun>;
}

/**
 * Opens the stack of a tenant for the given work.
 *
 * @throws {ConfigurationError} if the state backend doesn't exist, or the passphrase is missing.
 * @throws {RolloutError} (`ERR_STACK_FOREIGN`) if the stack holds resources that no settings file creates.
 */
export async function openStackRemoval<T>(
  target: Target,
  { file, project, targets }: Targets,
  environment: NodeJS.ProcessEnv,
  useStack: (stack: StackRemoval) => Promise<T>,
  log: (line: string) => void = () => {},
): Promise<T> {
  const backend = resolveStateBackend(environment, getProjectDirectory(file));
  const stackFiles = getStackConfigFiles({ source: file }, [target]);
  assertPassphrase(environment, backend, [...stackFiles.values()]);
  const workDirectory = extractBundle(packFiles([], stackFiles), project, backend.url);
  try {
    const cliEnvironment = buildEngineEnvironment(environment, getKeyVariables(targets), backend);
    const { exists, known, marker, resource } = await readTargetStack(target, {
      project,
      directory: workDirectory.path,
      environment: cliEnvironment,
    });
    return await useStack({
      target,
      exists,
      known,
      ...omitUndefined({ marker }),
      resource,
      runPulumi: async (args, extraEnvironment = {}) => {
        const stack = {
          project,
          stack: target.stack,
          directory: workDirectory.path,
          environment: cliEnvironment,
        };
        return await runOnStack(args, stack, { extraEnvironment, log });
      },
    });
  } finally {
    workDirectory.remove();
  }
}

/**
 * Plans the removals at the service for a tenant that is being removed: everything that its stack declared, and nothing
 * else. Protected entries, and signs of another tenant, become blockers of the plan.
 *
 * @param other the error if the key belongs to another tenant, according to rollouts. Default: no such sign.
 * @param environment may declare that the tenant is empty, or that its users have other domains now.
 * @throws {SettingsFileError} if the settings file can't be used. It determines the protected entries and the owner of
 * the tenant.
 */
export function planStackRemoval(
  stack: StackRemoval,
  observed: ObservedState,
  {
    host,
    today,
    other,
    environment,
  }: {
    readonly host: string;
    readonly today: string;
    readonly other?: EmailSecurityError | undefined;
    readonly environment: NodeJS.ProcessEnv;
  },
): Plan {
  const { target, known, resource } = stack;
  const { settings, findings } = lintSettings(target.settings, { today, ownDomains: [] });
  if (settings === undefined) throw new SettingsFileError(target.settings, findings);
  const { entries, vips } = settings.lists;
  // An exclusive list would also remove entries that this stack never declared.
  const lists = {
    entries: { ...entries, mode: "additive" as const },
    vips: { ...vips, mode: "additive" as const },
  };
  const emptySettings = { ...settings, lists, entries: [], vips: [], expired: [] };
  const targetWithResource = { ...target, resource };
  const plan = buildTenantPlan(
    targetWithResource,
    emptySettings,
    buildDesiredState(emptySettings, known, []),
    observed,
    host,
    { acceptanceEnvironment: environment },
  );
  // The user asked for the removal of everything, and confirmed it with the tenant's name.
  const blockers = plan.blockers.filter(({ code }) => code !== "removal-guard");
  const message =
    other?.message ?? (isOtherTenantPlan(plan) ? undefined : explainEmptyTenant(stack, observed, environment));
  if (message === undefined) return { ...plan, blockers };
  return redactOtherTenantPlan({ ...plan, blockers: [{ code: OTHER_TENANT_CODE, message }, ...blockers] });
}

/** Explains why an empty tenant may not be the one of a stack with declarations, however few; undefined if nothing indicates that. */
function explainEmptyTenant(
  { target: { name, baseUrl }, known }: Pick<StackRemoval, "target" | "known">,
  observed: ObservedState,
  environment: NodeJS.ProcessEnv,
): string | undefined {
  if (isEmptyTenantAccepted(environment, name) || !hasDeclarations(known)) return undefined;
  if (!isEmptyIdentity(getObservedIdentity(baseUrl, observed))) return undefined;
  const advice = formatAcceptAdvice("if everything that its stack declared was removed on purpose", environment, name);
  return `${OTHER_TENANT_LEAD}: it is empty, and the stack has declarations. Check which tenant the key belongs to. ${advice}`;
}

/**
 * Applies the removals of a plan from {@link planStackRemoval}, and enforces the plan. If the run is interrupted, the next one continues.
 *
 * @param grant keeps the run within the rate limit of its address. Default: no limit.
 * @throws {RolloutError} (`ERR_PULUMI`) if Pulumi fails. The message contains its output.
 */
export async function destroyStack(
  { target, runPulumi }: StackRemoval,
  plan: Plan,
  key: string,
  identity: TenantIdentity,
  environment: NodeJS.ProcessEnv,
  grant?: Grant,
): Promise<void> {
  using scratch = createScratchDirectory("plan");
  const file = join(scratch.path, "plan.json");
  writeFileSync(file, formatPlanJson(plan), { mode: 0o600 });
  const run = await runPulumi(["destroy", "--yes", "--skip-preview", "--color", "never"], {
    ...buildTenantEnvironment(target, key, environment),
    ...buildExpectedTenantEnv(target, identity),
    ...(isEmptyTenantAccepted(environment, target.name) ? { EMAIL_SECURITY_ACCEPT_EMPTY_TENANT: "true" } : {}),
    ...grant?.environment,
    [PLAN_FILE_VARIABLE]: file,
    [PLAN_DIGEST_VARIABLE]: plan.digest,
  });
  if (run.code !== 0) throw buildPulumiError(target, "destroyed", run);
}

/**
 * Removes a stack.
 *
 * @param isForced whether to remove it even if it still holds resources. These stay at the service without a stack.
 * @throws {RolloutError} (`ERR_PULUMI`) if Pulumi fails.
 */
export async function removeStack({ target, runPulumi }: StackRemoval, isForced: boolean): Promise<void> {
  const run = await runPulumi(["stack", "rm", "--yes", ...(isForced ? ["--force"] : [])]);
  if (run.code !== 0 && !/no stack named.*found/.test(run.stderr)) throw buildPulumiError(target, "removed", run);
}

function buildPulumiError({ name, stack }: Target, action: string, run: PulumiRun): RolloutError {
  return new RolloutError(
    "ERR_PULUMI",
    `The stack ${quote(stack)} of ${quote(name)} could not be ${action}; no file was changed. Run this again: completed steps are not repeated. Output of Pulumi:\n${formatPulumiOutput(run)}`,
  );
}

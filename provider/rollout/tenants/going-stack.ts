import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { SettingsFileError } from "../../files/finding";
import { lintSettings } from "../../files/lint";
import { scratchFolder } from "../../machine/scratch-folder";
import { desiredOf, type KnownLists } from "../../plan/desired";
import type { Observed } from "../../plan/observed";
import type { Plan } from "../../plan/plan";
import { type PulumiRun, toldBy } from "../../plan/pulumi";
import { planJson } from "../../plan/render/json";
import { OTHER_TENANT } from "../../plan/same-tenant";
import { withheld } from "../../plan/withheld";
import { PLAN_DIGEST, PLAN_FILE } from "../../resources/lifecycle/reviewed-plan";
import type { TenantIdentity } from "../../settings/tenant-identity";
import { quote } from "../../settings/text";
import { withoutUndefined } from "../../settings/without-undefined";
import { expectedTenant } from "../execution/other-tenant";
import { RolloutError } from "../model/errors";
import type { StackMarker } from "../model/stack-marker";
import type { Target, Targets } from "../model/target";
import { layOut, packFiles } from "../planning/file-bundle";
import { engineEnvironment, stackFilesOf } from "../planning/plan-rollout";
import { planOf, stackOf } from "../planning/plan-target";
import type { Grant } from "../rate-limit/permit-office";
import { runOnStack } from "../stack/run-on-stack";
import { projectFolder, requirePassphrase, stateBackend } from "../stack/state-backend";
import { keyVariablesOf, ofTenant } from "../stack/tenant-environment";
import type { SameTenantError } from "../targets/same-tenant";

/** The stack of a tenant that is being removed, for the duration of the work on it. */
export interface GoingStack {
  readonly target: Target;
  readonly isThere: boolean;
  /** The declarations of the stack. */
  readonly known: KnownLists;
  /** What the last rollout that changed it left there. Absent: nothing. */
  readonly marker?: StackMarker;
  readonly resource: string;
  /** Runs Pulumi on the stack, in a project that is laid out for it. Removes the lock of a killed run. */
  readonly pulumi: (args: readonly string[], environment?: Readonly<Record<string, string>>) => Promise<PulumiRun>;
}

/**
 * Opens the stack of a tenant, and works on it.
 *
 * @param log receives a line about each lock that is removed.
 * @throws {ConfigurationError} if the state backend doesn't exist, or the passphrase is missing.
 * @throws {RolloutError} (`ERR_STACK_FOREIGN`) if the stack holds resources that no settings file creates.
 */
export async function withGoingStack<T>(
  target: Target,
  { file, project, targets }: Targets,
  environment: NodeJS.ProcessEnv,
  useStack: (stack: GoingStack) => Promise<T>,
  log: (line: string) => void = () => {},
): Promise<T> {
  const backend = stateBackend(environment, projectFolder(file));
  const stackFiles = stackFilesOf({ source: file }, [target]);
  requirePassphrase(environment, backend, [...stackFiles.values()]);
  const workDirectory = layOut(packFiles([], stackFiles), project, backend.url);
  try {
    const cliEnvironment = engineEnvironment(environment, keyVariablesOf(targets), backend);
    const { isThere, known, marker, resource } = await stackOf(target, {
      project,
      folder: workDirectory.path,
      environment: cliEnvironment,
    });
    return await useStack({
      target,
      isThere,
      known,
      ...withoutUndefined({ marker }),
      resource,
      pulumi: async (args, extraEnvironment = {}) => {
        const stack = {
          project,
          stack: target.stack,
          folder: workDirectory.path,
          environment: cliEnvironment,
        };
        return await runOnStack(args, stack, { more: extraEnvironment, log });
      },
    });
  } finally {
    workDirectory.remove();
  }
}

/**
 * Plans the removals at the service for a tenant that is being removed: everything that its stack declared, and nothing else. Protected
 * entries, and signs of another tenant, become guards of the plan.
 *
 * @param other the error if the key opens the tenant of another name, according to rollouts. Default: no such sign.
 * @throws {SettingsFileError} if the settings file can't be used. It determines the protected entries and the owner of the tenant.
 */
export function planGoing(
  { target, known, resource }: GoingStack,
  observed: Observed,
  {
    host,
    today,
    other,
  }: { readonly host: string; readonly today: string; readonly other?: SameTenantError | undefined },
): Plan {
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
  const plan = planOf(targetWithResource, emptySettings, desiredOf(emptySettings, known, []), observed, host, {
    accepting: {},
  });
  // The user asked for the removal of everything, and confirmed it with the tenant's name.
  const guards = plan.guards.filter(({ code }) => code !== "removal-guard");
  if (other === undefined) return { ...plan, guards };
  return withheld({ ...plan, guards: [{ code: OTHER_TENANT, message: other.message }, ...guards] });
}

/**
 * Applies the removals of a plan from {@link planGoing}, and enforces the plan. If the run is interrupted, the next one continues.
 *
 * @param identity the identity that the plan read from the tenant.
 * @param grant keeps the run within the rate limit of its address. Default: no limit.
 * @throws {RolloutError} (`ERR_PULUMI`) if Pulumi fails. The message contains its output.
 */
export async function destroyStack(
  { target, pulumi }: GoingStack,
  plan: Plan,
  key: string,
  identity: TenantIdentity,
  environment: NodeJS.ProcessEnv,
  grant?: Grant,
): Promise<void> {
  using scratch = scratchFolder("plan");
  const file = join(scratch.path, "plan.json");
  writeFileSync(file, planJson(plan), { mode: 0o600 });
  const run = await pulumi(["destroy", "--yes", "--skip-preview", "--color", "never"], {
    ...ofTenant(target, key, environment),
    ...expectedTenant(target, identity),
    ...grant?.environment,
    [PLAN_FILE]: file,
    [PLAN_DIGEST]: plan.digest,
  });
  if (run.code !== 0) throw buildPulumiError(target, "destroyed", run);
}

/**
 * Removes a stack.
 *
 * @param isForced whether to remove it even if it still holds resources. These stay at the service without a stack.
 * @throws {RolloutError} (`ERR_PULUMI`) if Pulumi fails.
 */
export async function removeStack({ target, pulumi }: GoingStack, isForced: boolean): Promise<void> {
  const run = await pulumi(["stack", "rm", "--yes", ...(isForced ? ["--force"] : [])]);
  if (run.code !== 0 && !/no stack named.*found/.test(run.stderr)) throw buildPulumiError(target, "removed", run);
}

function buildPulumiError({ name, stack }: Target, action: string, run: PulumiRun): RolloutError {
  return new RolloutError(
    "ERR_PULUMI",
    `The stack ${quote(stack)} of ${quote(name)} could not be ${action}; no file was changed. Run it again: what is done already is not done twice. Pulumi says:\n${toldBy(run)}`,
  );
}

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
import { expectedTenant } from "../execution/other-tenant";
import { RolloutError } from "../model/errors";
import type { Target, Targets } from "../model/target";
import { layOut, packFiles } from "../planning/file-bundle";
import { engineEnvironment, stackFilesOf } from "../planning/plan-rollout";
import { planOf, stackOf } from "../planning/plan-target";
import type { Grant } from "../rate-limit/permit-office";
import { runOnStack } from "../stack/run-on-stack";
import { projectFolder, requirePassphrase, stateBackend } from "../stack/state-backend";
import { keyVariablesOf, ofTenant } from "../stack/tenant-environment";
import type { SameTenantError } from "../targets/same-tenant";

/** The stack of a tenant that goes, as long as it is worked with. */
export interface GoingStack {
  readonly target: Target;
  readonly isThere: boolean;
  /** What it has declared. */
  readonly known: KnownLists;
  readonly resource: string;
  /** Changes it by Pulumi, in a project that is laid out for that. What a run that was killed has left locked is unlocked. */
  readonly pulumi: (
    words: readonly string[],
    environment?: Readonly<Record<string, string>>,
  ) => Promise<PulumiRun>;
}

/**
 * Looks at the stack of a tenant, and works with it.
 *
 * @param log told of each lock that is taken away.
 * @throws {ConfigurationError} when there is no such state backend, or no passphrase.
 * @throws {RolloutError} (`ERR_STACK_FOREIGN`) when the stack holds what no settings file makes.
 */
export async function withGoingStack<T>(
  target: Target,
  { file, project, targets }: Targets,
  environment: NodeJS.ProcessEnv,
  work: (stack: GoingStack) => Promise<T>,
  log: (line: string) => void = () => {},
): Promise<T> {
  const backend = stateBackend(environment, projectFolder(file));
  const stackFiles = stackFilesOf({ source: file }, [target]);
  requirePassphrase(environment, backend, [...stackFiles.values()]);
  const place = layOut(packFiles([], stackFiles), project, backend.url);
  try {
    const base = engineEnvironment(environment, keyVariablesOf(targets), backend);
    const { isThere, known, resource } = await stackOf(target, {
      project,
      folder: place.path,
      environment: base,
    });
    return await work({
      target,
      isThere,
      known,
      resource,
      pulumi: async (words, more = {}) => {
        const stack = { project, stack: target.stack, folder: place.path, environment: base };
        return await runOnStack(words, stack, { more, log });
      },
    });
  } finally {
    place.remove();
  }
}

/**
 * What is taken away at the service of a tenant that goes: what its stack has declared, and nothing else. What the settings file protects,
 * and what tells another tenant, are guards of the plan.
 *
 * @param other that the key opens the tenant of another name, by what rollouts read. Default: nothing says so.
 * @throws {SettingsFileError} when its settings file can't be used, which says what is protected and whose the tenant is.
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
  // An exclusive list would take away what this stack has never declared, too.
  const lists = {
    entries: { ...entries, mode: "additive" as const },
    vips: { ...vips, mode: "additive" as const },
  };
  const nothing = { ...settings, lists, entries: [], vips: [], expired: [] };
  const named = { ...target, resource };
  const plan = planOf(named, nothing, desiredOf(nothing, known, []), observed, host, { accepting: {} });
  // That all goes is what is asked for, and confirmed by the tenant's name.
  const guards = plan.guards.filter(({ code }) => code !== "removal-guard");
  if (other === undefined) return { ...plan, guards };
  return withheld({ ...plan, guards: [{ code: OTHER_TENANT, message: other.message }, ...guards] });
}

/**
 * Takes away at the service what a plan of {@link planGoing} tells, held to it; a run that was interrupted is gone on with by the next.
 *
 * @param identity of the tenant, as the plan's reading has it.
 * @param grant by which it keeps to its address's limit. Default: there is none.
 * @throws {RolloutError} (`ERR_PULUMI`) when Pulumi can't do it; what it says is in the message.
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
  if (run.code !== 0) throw failed(target, "destroyed", run);
}

/**
 * Takes a stack away.
 *
 * @param isForced whether also where it still holds resources: they are forgotten, and stay at the service.
 * @throws {RolloutError} (`ERR_PULUMI`)
 */
export async function removeStack({ target, pulumi }: GoingStack, isForced: boolean): Promise<void> {
  const run = await pulumi(["stack", "rm", "--yes", ...(isForced ? ["--force"] : [])]);
  if (run.code !== 0 && !/no stack named.*found/.test(run.stderr)) throw failed(target, "removed", run);
}

function failed({ name, stack }: Target, done: string, run: PulumiRun): RolloutError {
  return new RolloutError(
    "ERR_PULUMI",
    `The stack ${quote(stack)} of ${quote(name)} could not be ${done}; no file was changed. Run it again: what is done already is not done twice. Pulumi says:\n${toldBy(run)}`,
  );
}

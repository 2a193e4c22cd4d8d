import { omitUndefined } from "../../model/omit-undefined";
import type { LastAppliedRollouts } from "../../rollout/journal/last-applied";
import {
  type FormerStack,
  findFormerStack,
  type NewTenant,
  type OrphanedStack,
} from "../../rollout/planning/renamed-tenant";
import { type ReadIdentityRecords, selectIdentityRecord } from "../../rollout/targets/tenant-conflicts";
import type { AppliedSettings } from "./applied-settings";
import type { StackStates } from "./stack-states";

export interface FormerStacksOptions {
  /** The stacks of all tenants of the targets file. */
  readonly declaredStacks: ReadonlySet<string>;
  readonly lastApplied: LastAppliedRollouts | undefined;
  readonly appliedSettings: AppliedSettings | undefined;
  readonly stackStates: StackStates | undefined;
  readonly readIdentityRecords: ReadIdentityRecords | undefined;
}

/** Finds the stacks that tenants had before somebody renamed them in the targets file. */
export class FormerStacks {
  readonly #options: FormerStacksOptions;
  #orphans: Promise<readonly OrphanedStack[]> | undefined;

  constructor(options: FormerStacksOptions) {
    this.#options = options;
  }

  async find(tenant: NewTenant): Promise<FormerStack | undefined> {
    this.#orphans ??= this.#findOrphans();
    return findFormerStack(tenant, await this.#orphans);
  }

  async #findOrphans(): Promise<readonly OrphanedStack[]> {
    const { declaredStacks, lastApplied, appliedSettings, stackStates, readIdentityRecords } = this.#options;
    const names = new Set([...(stackStates?.listStacks() ?? []), ...(lastApplied?.stacks.keys() ?? [])]);
    const records = await readIdentityRecords?.("all");
    const orphans: OrphanedStack[] = [];
    for (const stack of [...names].filter((name) => !declaredStacks.has(name)).sort()) {
      const lastRollout = lastApplied?.stacks.get(stack)?.applied;
      const state = stackStates?.read({ name: stack, stack });
      // A stack that was removed with its tenant can't be a former stack.
      if (state?.exists === false) continue;
      const knownLists = state?.lists ?? (lastRollout && (await appliedSettings?.getLists(lastRollout)));
      if (knownLists === undefined) continue;
      const record = selectIdentityRecord({ stack }, records?.get(stack), state?.marker);
      orphans.push({ stack, knownLists, ...omitUndefined({ last: lastRollout, record }) });
    }
    return orphans;
  }
}

import type { Reached } from "../../rollout/journal/reached";
import {
  type FormerStack,
  findFormerStack,
  type NewTenant,
  type OrphanedStack,
} from "../../rollout/planning/renamed-tenant";
import { withoutUndefined } from "../../settings/without-undefined";
import type { AppliedSettings } from "./applied-settings";
import type { StackStates } from "./stack-states";

/** The options of {@link FormerStacks}. */
export interface FormerStacksOptions {
  /** The stacks of all tenants of the targets file. */
  readonly declared: ReadonlySet<string>;
  readonly reached: Reached | undefined;
  readonly applied: AppliedSettings | undefined;
  readonly states: StackStates | undefined;
}

/** Finds the stacks that tenants had before somebody renamed them in the targets file. */
export class FormerStacks {
  readonly #options: FormerStacksOptions;
  #orphans: Promise<readonly OrphanedStack[]> | undefined;

  constructor(options: FormerStacksOptions) {
    this.#options = options;
  }

  async of(tenant: NewTenant): Promise<FormerStack | undefined> {
    this.#orphans ??= this.#read();
    return findFormerStack(tenant, await this.#orphans);
  }

  async #read(): Promise<readonly OrphanedStack[]> {
    const { declared, reached, applied, states } = this.#options;
    const names = new Set([...(states?.names() ?? []), ...(reached?.stacks.keys() ?? [])]);
    const orphans: OrphanedStack[] = [];
    for (const stack of [...names].filter((name) => !declared.has(name)).sort()) {
      const lastRollout = reached?.stacks.get(stack)?.last;
      const state = states?.of({ name: stack, stack });
      // A stack that was removed with its tenant can't be a former stack.
      if (state?.isThere === false) continue;
      const known = state?.known ?? (lastRollout && (await applied?.of(lastRollout)));
      if (known !== undefined) orphans.push({ stack, known, ...withoutUndefined({ last: lastRollout }) });
    }
    return orphans;
  }
}

import { inspectSettings, type ReadCache } from "../files/read-settings";
import type { TenantFound } from "../gitops/find/find-schema";
import {
  findTenant,
  type MatchingRows,
  readMatching,
  type TenantPlaces,
  unreadOf,
} from "../gitops/find/find-tenant";
import type { Matcher } from "../gitops/find/matcher";
import type { ExpectedPeople } from "../plan/same-tenant";
import type { Target } from "../rollout/model/target";
import type { Reach } from "../rollout/probing/target-client";
import { refuseNotAllowed } from "../rollout/targets/not-allowed";
import type { ReadMemory } from "../rollout/targets/same-tenant";
import { withoutUndefined } from "../settings/without-undefined";
import { readEach } from "./read-each";

/** Where a fleet is looked through. */
export interface FindInFleetOptions {
  /** How tenants are asked; undefined: they are not, and files alone are read. */
  readonly reach: Reach | undefined;
  /** How many tenants are read at once. */
  readonly concurrency: number;
  /** The day (UTC) by which `expires` is judged. Default: today. */
  readonly today?: string;
  /** What rollouts read of tenants. Default: nothing. */
  readonly memory?: ReadMemory;
}

/**
 * Looks through the settings files and the lists of many tenants. Of a list that was read, only what concerns the values is
 * kept; ⌈N/200⌉ requests a list. The VIPs are read too where they show whose tenant it is.
 *
 * @throws {NotAllowedError} when the targets ask for what the run does not allow: nothing was asked then.
 * @throws {ConfigurationError} when the environment holds a value that no request can be made with.
 */
export async function findInFleet(
  matcher: Matcher,
  targets: readonly Target[],
  { reach, concurrency, today, memory }: FindInFleetOptions,
): Promise<readonly TenantFound[]> {
  const [first] = targets;
  if (reach !== undefined && first !== undefined) {
    refuseNotAllowed(first.place.file, targets, [], reach.environment);
  }
  const cache: ReadCache = new Map();
  const results = new Map<Target, TenantFound>();
  const look = (target: Target, tenant: TenantPlaces["tenant"]): void => {
    const { name, baseUrl, settings: file } = target;
    const about = { name, host: URL.parse(baseUrl)?.host ?? baseUrl };
    results.set(target, findTenant(matcher, { ...about, file, tenant, reading: { today, cache } }));
  };
  if (reach === undefined) for (const target of targets) look(target, undefined);
  else {
    const remembered = await memory?.("declared");
    const hasPeople = [...(remembered?.values() ?? [])].some(({ identity }) => identity.people?.length);
    const peopleOf = ({ name, stack, settings: file }: Target): ExpectedPeople | undefined => {
      const { settings, draft } = inspectSettings(file, {
        ownDomains: [],
        together: false,
        cache,
        ...withoutUndefined({ today }),
      });
      const { ownDomains = [] } = settings ?? draft ?? {};
      if (ownDomains.length === 0 && !hasPeople) return undefined;
      const accepting = { environment: reach.environment, name };
      return { ownDomains, fingerprint: remembered?.get(stack)?.fingerprint, accepting };
    };
    await readEach<MatchingRows>(targets, {
      reach,
      concurrency,
      sameKeys: "refused",
      identity: ({ identity }) => identity,
      ...withoutUndefined({ memory }),
      read: async (client, target, { answered }) =>
        await readMatching(client, matcher, answered, peopleOf(target)),
      settled: (target, { read, error }) => look(target, read === undefined ? { error } : { rows: read }),
    });
  }
  return targets.map(
    (target) =>
      results.get(target) ?? {
        name: target.name,
        found: [],
        decisions: [],
        unread: [unreadOf("tenant", new Error("it was not read"))],
      },
  );
}

import { inspectSettings, type ReadCache } from "../files/read-settings";
import type { TenantFound } from "../gitops/find/find-schema";
import { findTenant, type MatchingRows, readMatching, type TenantPlaces, unreadOf } from "../gitops/find/find-tenant";
import type { Matcher } from "../gitops/find/matcher";
import type { ExpectedPeople } from "../plan/same-tenant";
import type { OtherTenantError } from "../resources/lifecycle/errors";
import type { Target } from "../rollout/model/target";
import type { Reach } from "../rollout/probing/target-client";
import { refuseNotAllowed } from "../rollout/targets/not-allowed";
import { findReplacedTenant } from "../rollout/targets/replaced-reason";
import type { ReadMemory } from "../rollout/targets/same-tenant";
import { withoutUndefined } from "../settings/without-undefined";
import { readEach } from "./read-each";

/** The options of {@link findInFleet}. */
export interface FindInFleetOptions {
  /** How to reach the tenants; undefined: only the files are searched. */
  readonly reach: Reach | undefined;
  /** How many tenants are read at once. */
  readonly concurrency: number;
  /** The day (UTC) for which `expires` is evaluated. Default: today. */
  readonly today?: string;
  /** Reads the identities of tenants from earlier rollouts. Default: none. */
  readonly memory?: ReadMemory;
}

/**
 * Searches the settings files and the lists of many tenants. Keeps only the rows of a list that match. Sends ⌈N/200⌉ requests for each
 * list. Also reads the VIPs if they are needed to identify the tenant.
 *
 * @throws {NotAllowedError} if the targets ask for something that the run doesn't allow. Nothing has been requested then.
 * @throws {ConfigurationError} if the environment holds a value that makes every request impossible.
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
  const findInTenant = (target: Target, tenant: TenantPlaces["tenant"]): void => {
    const { name, baseUrl, settings: file } = target;
    const tenantInfo = { name, host: URL.parse(baseUrl)?.host ?? baseUrl };
    results.set(target, findTenant(matcher, { ...tenantInfo, file, tenant, reading: { today, cache } }));
  };
  if (reach === undefined) for (const target of targets) findInTenant(target, undefined);
  else {
    const remembered = await memory?.("declared");
    const hasPeople = [...(remembered?.values() ?? [])].some(({ identity }) => identity.people?.length);
    const getExpectedPeople = ({ name, stack, settings: file }: Target): ExpectedPeople | undefined => {
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
    await readEach<MatchingRows & { readonly other: OtherTenantError | undefined }>(targets, {
      reach,
      concurrency,
      sameKeys: "refused",
      identity: ({ identity }) => identity,
      ...withoutUndefined({ memory }),
      read: async (client, target, { answered }) => {
        const before = remembered?.get(target.stack);
        const expectedReading = before?.isInterrupted === true ? before.lasting : before?.identity;
        const people = getExpectedPeople(target);
        const rows = await readMatching(client, matcher, answered, people, expectedReading);
        const other = await findReplacedTenant(target, before, reach.environment, rows.isTenantOf);
        return { ...rows, other };
      },
      // Whose key it is, where rollouts know that tenant by another name, is reported first.
      settled: (target, { read, error = read?.other }) =>
        findInTenant(target, read === undefined || error !== undefined ? { error } : { rows: read }),
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

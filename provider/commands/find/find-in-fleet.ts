import { type ReadEachTenantOptions, readEachTenant } from "../../fleet/read-each-tenant";
import { omitUndefined } from "../../model/omit-undefined";
import type { ExpectedMailboxes } from "../../plan/tenant-mismatch";
import type { OtherTenantError } from "../../resources/lifecycle/errors";
import type { Target } from "../../rollout/model/target";
import type { RequestContext } from "../../rollout/probing/target-client";
import { assertRunPermissions } from "../../rollout/targets/assert-run-permissions";
import { checkTenantIdentity } from "../../rollout/targets/tenant-replacement";
import { inspectSettings, type SettingsReadCache } from "../../settings-files/read-settings";
import type { TenantMatches } from "./find-schema";
import {
  buildReadError,
  findTenantMatches,
  type MatchingRows,
  readMatchingRows,
  type TenantSources,
} from "./find-tenant-matches";
import type { QueryMatcher } from "./query-matcher";

export interface FindInFleetOptions
  extends Pick<ReadEachTenantOptions<never>, "concurrency" | "readIdentityRecords" | "onProgress"> {
  /** How to connect to the tenants; undefined if only the files are searched. */
  readonly requestContext: RequestContext | undefined;
  /** The day (UTC) to which `expires` is compared. Default: today. */
  readonly today?: string;
}

/**
 * Searches the settings files and the lists of many tenants. Keeps only the rows of a list that match. Sends one request for every 200 rows of each
 * list. Also reads the VIPs if they are needed to identify the tenant.
 *
 * @throws {NotAllowedError} if the targets need something that the run doesn't allow. No request has been sent.
 * @throws {ConfigurationError} if the environment holds a value that makes every request impossible.
 */
export async function findInFleet(
  matcher: QueryMatcher,
  targets: readonly Target[],
  { requestContext, concurrency, today, readIdentityRecords, onProgress }: FindInFleetOptions,
): Promise<readonly TenantMatches[]> {
  const [first] = targets;
  if (requestContext !== undefined && first !== undefined) {
    assertRunPermissions(first.place.file, targets, [], requestContext.environment);
  }
  const cache: SettingsReadCache = new Map();
  const results = new Map<Target, TenantMatches>();
  const findInTenant = (target: Target, tenant: TenantSources["tenant"]): void => {
    const { name, baseUrl, settings: file } = target;
    const tenantInfo = { name, host: URL.parse(baseUrl)?.host ?? baseUrl };
    results.set(target, findTenantMatches(matcher, { ...tenantInfo, file, tenant, readOptions: { today, cache } }));
  };
  if (requestContext === undefined) for (const target of targets) findInTenant(target, undefined);
  else {
    const identityRecords = await readIdentityRecords?.("declared");
    const hasPeople = [...(identityRecords?.values() ?? [])].some(({ identity }) => identity.people?.length);
    const getExpectedMailboxes = ({ name, stack, settings: file }: Target): ExpectedMailboxes | undefined => {
      const { settings, draft } = inspectSettings(file, {
        ownDomains: [],
        shouldCrossCheck: false,
        cache,
        ...omitUndefined({ today }),
      });
      const { ownDomains = [] } = settings ?? draft ?? {};
      if (ownDomains.length === 0 && !hasPeople) return undefined;
      const acceptance = { environment: requestContext.environment, name };
      return { ownDomains, fingerprint: identityRecords?.get(stack)?.fingerprint, acceptance };
    };
    await readEachTenant<MatchingRows & { readonly otherTenantError: OtherTenantError | undefined }>(targets, {
      requestContext,
      concurrency,
      onDuplicateKeys: "reject",
      getIdentity: ({ identity }) => identity,
      ...omitUndefined({ readIdentityRecords, onProgress }),
      read: async (client, target, { onAnswer }) => {
        const identityRecord = identityRecords?.get(target.stack);
        const expectedIdentity =
          identityRecord?.isInterrupted === true ? identityRecord.stableIdentity : identityRecord?.identity;
        const people = getExpectedMailboxes(target);
        const rows = await readMatchingRows(client, matcher, {
          onAnswered: onAnswer,
          // A single tenant is compared only with earlier rollouts.
          isIdentityNeeded: targets.length > 1,
          ...omitUndefined({ expected: people, earlier: expectedIdentity }),
        });
        const otherTenantError = await checkTenantIdentity(
          target,
          identityRecord,
          requestContext.environment,
          rows.isTenantOf,
        );
        return { ...rows, otherTenantError };
      },
      // If rollouts know the key's tenant by another name, report that first.
      onSettled: (target, { value, error = value?.otherTenantError }) =>
        findInTenant(target, value === undefined || error !== undefined ? { error } : { rows: value }),
    });
  }
  return targets.map(
    (target) =>
      results.get(target) ?? {
        name: target.name,
        matches: [],
        decisions: [],
        readErrors: [buildReadError("tenant", new Error("it was not read"))],
      },
  );
}

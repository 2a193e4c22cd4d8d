import { parseMailbox } from "../../model/entry-value";
import type { Settings } from "../../settings-files/settings-model";
import type { TenantData } from "./review-items";

/** Explains in sentences what a review can't check, because the data was not requested or is not available. */
export function describeReviewGaps(settings: Settings, tenantData: TenantData | undefined): string[] {
  const { policy, entries, vips, ownDomains } = settings;
  const hasMailboxes = vips.length > 0 || entries.some(({ owner }) => owner !== undefined && parseMailbox(owner).ok);
  const ownDomainsNote =
    ownDomains.length > 0
      ? "people outside the `ownDomains` are reported"
      : "with `ownDomains` in the files, people outside these domains would be reported";
  return [
    ...(tenantData === undefined
      ? [
          "The tenant was not read, so its mail, unused entries, targeted people, unmanaged entries and the age of entries are unknown.",
        ]
      : []),
    ...(tenantData !== undefined && entries.some(({ entryType }) => entryType === "ip")
      ? [
          "The service doesn't report which mail came from IP addresses, so it is unknown whether these entries are used.",
        ]
      : []),
    ...(policy.reviewEvery === undefined
      ? ["The policy sets no review interval (`reviewEvery`), so no entry is due because of its age alone."]
      : []),
    ...(hasMailboxes
      ? [
          `It is unknown whether owners and VIPs still have a mailbox, because the service has no directory to query; ${ownDomainsNote}.`,
        ]
      : []),
  ];
}

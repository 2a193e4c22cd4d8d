import type { Settings } from "../../files/settings";
import { parseMailbox } from "../../settings/entry-value";
import type { TenantData } from "./worklist";

/** Explains in sentences what a review can't check, because the data was not requested or is not available. */
export function describeReviewGaps(settings: Settings, tenantData: TenantData | undefined): string[] {
  const { policy, entries, vips, ownDomains } = settings;
  const hasMailboxes = vips.length > 0 || entries.some(({ owner }) => owner !== undefined && parseMailbox(owner).ok);
  const ownDomainsNote =
    ownDomains.length > 0
      ? "who is outside the `ownDomains` is told"
      : "with `ownDomains` in the files, who is outside them would be";
  return [
    ...(tenantData === undefined
      ? [
          "The tenant was not read, so its mail, unused entries, targeted people, unmanaged entries and the age of entries are unknown.",
        ]
      : []),
    ...(tenantData !== undefined && entries.some(({ entryType }) => entryType === "ip")
      ? ["Of addresses, the service does not tell what mail came from them: whether these are used is not known."]
      : []),
    ...(policy.reviewEvery === undefined
      ? ["The policy does not say how often all is reviewed (`reviewEvery`), so that nothing is due by its age alone."]
      : []),
    ...(hasMailboxes
      ? [
          `Whether owners and VIPs still have a mailbox is not told: the service has no directory that can be asked; ${ownDomainsNote}.`,
        ]
      : []),
  ];
}

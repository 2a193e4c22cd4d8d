import { formatAddress, normalizeAddress } from "../../model/tenant-identity";
import { quote } from "../../model/text";
import type { Finding } from "../../settings-files/finding";
import type { Target } from "../model/target";
import type { IdentityRecords } from "./tenant-conflicts";

/** Finds tenants whose last rollout was at another address. A rollout leaves what it declared there. */
export function findAddressChanges(targets: readonly Target[], records: IdentityRecords): readonly Finding[] {
  return targets.flatMap(({ name, stack, baseUrl, place }): Finding[] => {
    const record = records.get(stack);
    if (record === undefined || record.identity.address === normalizeAddress(baseUrl)) return [];
    const message = `${quote(name)} has a different address than in the rollout ${record.rollout}, which used ${formatAddress(record.identity.address)}; its entries and VIPs there stay, and this rollout only reads and changes the new address`;
    return [{ code: "address-changed", level: "warning", message, place }];
  });
}

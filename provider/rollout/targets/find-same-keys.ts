import { createHmac, randomBytes } from "node:crypto";
import { EmailSecurityError } from "../../model/email-security-error";
import { quote } from "../../model/text";
import { formatLineLocation } from "../../settings-files/finding";
import type { Target } from "../model/target";

/** Several tenants have the same key, so they are one tenant of the service. Nothing was written. */
export class SameKeyError extends EmailSecurityError {
  readonly groups: readonly (readonly Target[])[];

  constructor(groups: readonly (readonly Target[])[]) {
    const lines = groups
      .slice(0, MAX_LISTED)
      .map((group) => `  ${group.slice(0, MAX_LISTED).map(formatTargetLocation).join(", ")}`);
    const suffixLines = groups.length > MAX_LISTED ? [`  … and ${groups.length - MAX_LISTED} more`] : [];
    const message =
      "Several tenants have the same key, so they are one tenant of the service, even if their addresses are written differently. Each would remove what the other declares. Give each its own key:";
    super("ERR_ROLLOUT_SAME_KEY", [message, ...lines, ...suffixLines].join("\n"));
    this.groups = groups;
  }
}

const MAX_LISTED = 20;

/** Formats a tenant and its line of the targets file: `"acme" (tenants.yaml:12)`. */
export function formatTargetLocation({ name, place }: Target): string {
  return `${quote(name)} (${formatLineLocation(place)})`;
}

/**
 * Finds the tenants that have the same key, even if their addresses use different names of the service's host. Each
 * group is in the given order. Usually the result is empty. Compares hashes with a salt that is discarded, and never
 * returns a key.
 *
 * @param keys the key of each tenant whose key could be read.
 * @param salt random bytes.
 */
export function findSameKeys(
  keys: ReadonlyMap<Target, string>,
  salt: Uint8Array = randomBytes(32),
): readonly (readonly Target[])[] {
  const groups = new Map<string, Target[]>();
  for (const [target, key] of keys) {
    const identity = createHmac("sha256", salt).update(key).digest("base64");
    const group = groups.get(identity);
    if (group === undefined) groups.set(identity, [target]);
    else group.push(target);
  }
  return [...groups.values()].filter((group) => group.length > 1);
}

import type { EntryMetadata } from "../../gitops/list-change";

export function formatExpiry({ expires }: Pick<EntryMetadata, "expires">): string {
  if (expires === undefined) return "";
  return expires === "never" ? " without an expiry date" : ` until ${expires}`;
}

/** Returns a date for comparison. An entry without an expiry sorts after all dates. */
export function getComparableExpiry(expires: string | undefined): string {
  return expires === undefined || expires === "never" ? "9999" : expires;
}

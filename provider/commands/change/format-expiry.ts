import type { EntryMetadata } from "../../gitops/list-change";

export function formatExpiry({ expires }: Pick<EntryMetadata, "expires">): string {
  if (expires === undefined) return "";
  return expires === "never" ? " without an expiry date" : ` until ${expires}`;
}

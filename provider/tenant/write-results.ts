import type { AllowDenyEntryRow } from "../client";

/** The response to a create, and whether the entry is new to the lists. */
export interface CreatedEntry {
  readonly row: AllowDenyEntryRow;
  readonly isNew: boolean;
}

/**
 * The outcome of a deletion: `gone` if the service doesn't know the entry, `refused` if it responds that it did not
 * delete it.
 */
export type Deletion = "deleted" | "gone" | "refused" | "changed";

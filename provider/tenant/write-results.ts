import type { AllowDenyEntryRow } from "../client";

/** What a create answered with, and whether that entry was not on the lists before. */
export interface CreatedEntry {
  readonly row: AllowDenyEntryRow;
  readonly isNew: boolean;
}

/** What came of a deletion: `gone` where the service knows no such entry, `refused` where it answers that it did not delete it. */
export type Deletion = "deleted" | "gone" | "refused" | "changed";

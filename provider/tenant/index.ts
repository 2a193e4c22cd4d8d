export {
  type EntryQuery,
  getRowNaturalKey,
  hasNaturalKey,
  isAutoDetected,
  isStoredRow,
  selectEffectiveRow,
  sortBySpelling,
} from "./match-rows";
export { readConfirmed } from "./read-confirmed";
export { readUntil } from "./read-until";
export { TenantCache } from "./tenant-cache";
export { OperationTimeoutError, TimeLimit } from "./time-limit";
export type { CreatedEntry, Deletion } from "./write-results";

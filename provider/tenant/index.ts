export { readConfirmed } from "./confirmation";
export {
  type EntryQuery,
  isAbout,
  isAutomatic,
  isStored,
  keyOfValue,
  rowThatCounts,
  writtenSoFirst,
} from "./matching";
export { readUntil } from "./read-until";
export { Tenant } from "./tenant";
export { TimeIsOverError, TimeLimit } from "./time-limit";
export type { CreatedEntry, Deletion } from "./write-results";

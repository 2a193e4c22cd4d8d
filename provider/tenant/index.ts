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
export { type CreatedEntry, type Deletion, Tenant } from "./tenant";
export { TimeIsOverError, TimeLimit } from "./time-limit";

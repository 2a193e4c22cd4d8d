export { type CreatedEntry, type EntryQuery, isStored, Tenant } from "./tenant";

export { type CreatedEntry, type EntryQuery, isAutomatic, isStored, Tenant } from "./tenant";

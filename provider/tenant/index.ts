export { type CreatedEntry, type EntryQuery, Tenant } from "./tenant";

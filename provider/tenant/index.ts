export { type CreatedEntry, type EntryQuery, Tenant, type TenantOptions } from "./tenant";

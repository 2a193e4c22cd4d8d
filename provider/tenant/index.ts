export { type CreatedEntry, Tenant } from "./tenant";

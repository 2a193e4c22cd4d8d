/** The type of a `TenantSettings` in state, on either front. */
export const TENANT_SETTINGS_TYPE = "email-security:index:TenantSettings";

/** The type of a `TenantSettings` in state. */
export const TENANT_SETTINGS_TYPE = "email-security:index:TenantSettings";

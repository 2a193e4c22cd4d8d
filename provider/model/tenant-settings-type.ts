/** The type of a `TenantSettings` in state. It is the same for the dynamic provider and the native provider plugin. */
export const TENANT_SETTINGS_TYPE = "email-security:index:TenantSettings";

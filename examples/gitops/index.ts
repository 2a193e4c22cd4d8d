import { TenantSettings } from "pulumi-email-security";

new TenantSettings("acme", { file: "settings/acme.yaml" });

import { AllowDenyEntry, VipEmployee } from "pulumi-email-security";

new VipEmployee("cfo", {
  email: "Yuki.Sato@acme.example",
  comment: "Signs payments; impersonated twice this year",
});

new AllowDenyEntry("payroll-partner", {
  list: "allow",
  value: "payroll.example",
  comment: "Payroll partner, contract 2026-114",
});

new AllowDenyEntry("look-alike", {
  list: "deny",
  value: "acme-invoices.example",
  comment: "Look-alike of our own domain",
});

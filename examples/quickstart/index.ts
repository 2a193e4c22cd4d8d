import { AllowDenyEntry, VipEmployee } from "pulumi-email-security";

new VipEmployee("treasury", {
  email: "lena.hartmann@acme.example",
  comment: "Releases payments; often impersonated",
});

new AllowDenyEntry("trade-fair", {
  list: "allow",
  value: "trade-fair.example",
  comment: "Exhibitor portal, until the fair in May",
});

new AllowDenyEntry("look-alike", {
  list: "deny",
  value: "acme-login.example",
  comment: "Look-alike of our own domain, INC-1042",
});

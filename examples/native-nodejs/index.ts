import { AllowDenyList, getTopTargetedEntitiesOutput, VipEmployee } from "pulumi-email-security/native";

new AllowDenyList("lists", {
  entries: {
    "trade-fair.example": "allow: Exhibitor portal, until the fair in May",
    "acme-login.example": "deny: Look-alike of our own domain, INC-1042",
    "192.0.2.66": "deny: Bulletproof hoster, INC-1051",
  },
});

new VipEmployee("treasury", {
  email: "lena.hartmann@acme.example",
  comment: "Releases payments; often impersonated",
});

export const mostTargeted = getTopTargetedEntitiesOutput({ days: 30 }).entities;

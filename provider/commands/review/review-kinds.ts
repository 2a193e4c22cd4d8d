/** Reasons for a review, the worst first. */
export const REVIEW_KINDS = [
  "malicious",
  "reported",
  "policy",
  "undeclared",
  "expired",
  "expiring",
  "due",
  "contradicted",
  "shadowed",
  "external-owner",
  "departed",
  "unused",
  "targeted",
] as const;

export type ReviewKind = (typeof REVIEW_KINDS)[number];

export const REVIEW_TITLES: Readonly<Record<ReviewKind, string>> = {
  malicious: "Found malicious",
  reported: "Reported by users",
  policy: "Breaks the policy",
  undeclared: "Undeclared",
  expired: "Expired",
  expiring: "Expires soon",
  due: "Due for review",
  contradicted: "Contradicted",
  shadowed: "Redundant",
  "external-owner": "External owner",
  departed: "May have left",
  unused: "Unused",
  targeted: "Targeted, but not a VIP",
};

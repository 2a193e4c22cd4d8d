/** Reasons for a review, the worst first. */
export const REVIEW_KINDS = [
  "malicious",
  "reported",
  "policy",
  "undeclared",
  "ended",
  "ending",
  "due",
  "contradicted",
  "shadowed",
  "owner",
  "left",
  "unused",
  "targeted",
] as const;

export type ReviewKind = (typeof REVIEW_KINDS)[number];

export const REVIEW_TITLES: Readonly<Record<ReviewKind, string>> = {
  malicious: "Found malicious",
  reported: "Reported by users",
  policy: "Breaks the policy",
  undeclared: "Undeclared",
  ended: "Expired",
  ending: "Expires soon",
  due: "Due for review",
  contradicted: "Contradicted",
  shadowed: "Redundant",
  owner: "External owner",
  left: "May have left",
  unused: "Unused",
  targeted: "Targeted, but not a VIP",
};

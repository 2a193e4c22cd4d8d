import type { ReviewItem, ReviewReport } from "../../provider/commands/review/review-schema";
import { HOSTILE } from "./hostile-text";

/** Builds a review report of these items. */
export function buildReviewReport(items: readonly ReviewItem[], rest: Partial<ReviewReport> = {}): ReviewReport {
  return {
    format: 1,
    file: "settings/acme.yaml",
    host: "mail.example",
    today: "2026-11-21",
    items,
    missingEvidence: [],
    limitations: [],
    ...rest,
  };
}

const location = { file: "settings/acme.yaml", line: 12, column: 5 };

/** One item of most kinds, the most severe first. */
export const mixedReview = buildReviewReport(
  [
    {
      list: "allow",
      value: "supplier-portal.test",
      scope: "global",
      place: location,
      comment: "Contract 7\nasked for by sales",
      ticket: "INC-1042",
      owner: "noah.keller@acme.example",
      expires: "2026-12-02",
      reasons: [
        {
          kind: "malicious",
          evidence:
            "The service detected threats in 13 messages from it in the last 30 days: 13 malicious; 2 of them stayed in a mailbox.",
        },
        { kind: "expiring", evidence: "It expires on 2026-12-02, in 11 days, unless you extend it." },
      ],
    },
    {
      list: "allow",
      value: "billing@partner.example",
      scope: "graymail",
      place: { ...location, file: "settings/baseline.yaml", line: 4 },
      isShared: true,
      owner: "dana@elsewhere.example",
      reasons: [
        {
          kind: "policy",
          evidence: '"billing@partner.example" has no ticket; write `ticket: …`. The team\'s policy requires it.',
        },
        {
          kind: "external-owner",
          evidence: "Its owner dana@elsewhere.example has no mailbox in the organization's own domains (acme.example).",
        },
      ],
    },
    {
      list: "allow",
      value: "auditors.example",
      scope: "global",
      reasons: [
        {
          kind: "undeclared",
          evidence:
            "It exists at the tenant, created by Dana Reyes (console) on 2025-08-04T09:27:00.000Z, and none of these files declares it.",
        },
      ],
    },
    {
      list: "deny",
      value: "xn--pypal-4ve.example",
      scope: "global",
      place: { ...location, line: 30 },
      expires: "2026-11-01",
      reasons: [
        {
          kind: "expired",
          evidence: "It expired on 2026-11-01, and its line no longer has any effect.",
        },
      ],
    },
    {
      list: "vip",
      value: "greta.nilsen@acme.example",
      reasons: [{ kind: "targeted", evidence: "6 threats were sent to it in the last 30 days." }],
    },
  ],
  {
    limitations: [
      "It is unknown whether owners and VIPs still have a mailbox, because the service has no directory to query.",
    ],
  },
);

/** A review without items, and with data that could not be read. */
export const unreadReview = buildReviewReport([], { missingEvidence: ["Of the threats, none could be read: 500."] });

/** A review without items. */
export const emptyReview = buildReviewReport([]);

/** Builds a review with this many items. */
export function buildHugeReview(count: number): ReviewReport {
  return buildReviewReport(
    Array.from({ length: count }, (_, index) => ({
      list: "deny",
      value: `d${index}.example`,
      scope: "global",
      place: { ...location, line: index + 5 },
      reasons: [{ kind: "unused", evidence: "No mail that the service detected came from it." }],
    })),
  );
}

/** Builds a review with the text in every field that accepts text. */
export function buildTextReview(text: string): ReviewReport {
  const item: ReviewItem = {
    list: "allow",
    value: text,
    scope: text,
    place: { ...location, file: text },
    comment: text,
    ticket: text,
    owner: text,
    expires: "2026-12-02",
    reasons: [{ kind: "malicious", evidence: text }],
  };
  return buildReviewReport([item, { list: "vip", value: text, reasons: [{ kind: "departed", evidence: text }] }], {
    file: text,
    host: text,
    missingEvidence: [text],
    limitations: [text],
  });
}

export const hostileReview = buildReviewReport(
  Object.values(HOSTILE).flatMap((text) => buildTextReview(text).items),
  { file: Object.values(HOSTILE).join(" ") },
);

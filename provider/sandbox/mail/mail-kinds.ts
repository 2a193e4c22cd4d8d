import type { SandboxThreatIndicator, SandboxVerdict } from "../contract/schemas";
import type { WeightedChoice } from "./random";

export interface MailKind {
  threatType: string;
  /** The weight of its campaigns, relative to the other kinds. */
  weight: number;
  criticality: "low" | "medium" | "high";
  verdicts: readonly WeightedChoice<SandboxVerdict>[];
  sender: SenderStyle;
  /** The targets: attacks aim at people who can pay, bulk mail doesn't. */
  audience: "leaders" | "finance" | "anyone";
  recipients: number;
  /**
   * Texts here and below can contain the placeholders {company}, {domain}, {leader}, {number}, {sender} and
   * {sender_domain}.
   */
  subjects: readonly string[];
  reasonings: readonly string[];
  indicators: readonly SandboxThreatIndicator[];
}

export type SenderStyle = "look-alike" | "impersonation" | "stranger" | "bulk";

const attackVerdicts: MailKind["verdicts"] = [
  [91, "malicious"],
  [4, "unknown"],
  [3, "safe"],
  [2, "no_analysis"],
];

const lookAlikeDomain: SandboxThreatIndicator = {
  indicator_type: "look_alike_domain",
  explanation: "The sender's domain is easily mistaken for {domain}, but isn't the company's.",
  grounding: "{sender_domain}",
};

const firstContact: SandboxThreatIndicator = {
  indicator_type: "first_contact",
  explanation: "Nobody in the company has had mail from this address before.",
  grounding: "{sender}",
};

export const mailKinds: readonly MailKind[] = [
  {
    threatType: "credential_phishing",
    weight: 24,
    criticality: "high",
    verdicts: attackVerdicts,
    sender: "look-alike",
    audience: "anyone",
    recipients: 4,
    subjects: [
      "Your {company} password expires today",
      "Action required: verify your mailbox",
      "{company} shared a document with you (#{number})",
      "Unusual sign-in to your account",
      "3 messages are held for your review",
    ],
    reasonings: [
      "The message leads to a sign-in form that imitates the company's and is hosted elsewhere.",
      "It pressures the recipient to enter a password behind a link whose text and target differ.",
    ],
    indicators: [
      lookAlikeDomain,
      {
        indicator_type: "suspicious_link",
        explanation: "The link's text shows one address, but its target is another.",
        grounding: "https://{sender_domain}/session/{number}",
      },
      {
        indicator_type: "urgency",
        explanation: "The text threatens a loss unless the recipient acts at once.",
        grounding: "within 24 hours",
      },
    ],
  },
  {
    threatType: "business_email_compromise",
    weight: 10,
    criticality: "high",
    verdicts: attackVerdicts,
    sender: "impersonation",
    audience: "finance",
    recipients: 1,
    subjects: ["Are you at your desk?", "Confidential: payment to arrange", "Quick favour", "Today's transfer"],
    reasonings: ["The sender uses the name of {leader} with an outside mailbox and asks for an irregular payment."],
    indicators: [
      {
        indicator_type: "display_name_impersonation",
        explanation: "The display name is an executive's, but the address is not.",
        grounding: "{leader} <{sender}>",
      },
      firstContact,
    ],
  },
  {
    threatType: "executive_impersonation",
    weight: 8,
    criticality: "high",
    verdicts: attackVerdicts,
    sender: "impersonation",
    audience: "leaders",
    recipients: 2,
    subjects: ["Board papers, before they go out", "Call me when you see this", "Regarding the announcement"],
    reasonings: ["Written in the name of {leader}, from a mailbox that {leader} has never used."],
    indicators: [
      {
        indicator_type: "display_name_impersonation",
        explanation: "The display name is an executive's, but the address is not.",
        grounding: "{leader} <{sender}>",
      },
    ],
  },
  {
    threatType: "invoice_fraud",
    weight: 10,
    criticality: "high",
    verdicts: attackVerdicts,
    sender: "look-alike",
    audience: "finance",
    recipients: 2,
    subjects: [
      "Invoice {number} is overdue",
      "Change of our bank details",
      "Corrected invoice {number}, please discard the last one",
    ],
    reasonings: ["Asks for payment to a different account than the supplier's earlier invoices named."],
    indicators: [
      {
        indicator_type: "bank_details_changed",
        explanation: "The account differs from that of the supplier's earlier invoices.",
        grounding: "Invoice {number}",
      },
      lookAlikeDomain,
    ],
  },
  {
    threatType: "payroll_diversion",
    weight: 5,
    criticality: "high",
    verdicts: attackVerdicts,
    sender: "impersonation",
    audience: "finance",
    recipients: 1,
    subjects: ["New bank account for my salary", "Direct deposit update"],
    reasonings: ["Asks for an employee's salary to go to a new account, from outside the company."],
    indicators: [
      firstContact,
      {
        indicator_type: "payment_request",
        explanation: "The text asks to change where money is paid.",
        grounding: "before the next payroll run",
      },
    ],
  },
  {
    threatType: "malware_attachment",
    weight: 8,
    criticality: "high",
    verdicts: attackVerdicts,
    sender: "stranger",
    audience: "anyone",
    recipients: 3,
    subjects: ["Delivery note {number}", "Scan from the 3rd floor printer", "Purchase order {number}"],
    reasonings: ["The attachment is an archive with a script that downloads and runs a program."],
    indicators: [
      {
        indicator_type: "malicious_attachment",
        explanation: "The archive contains a script with the name of a document.",
        grounding: "order-{number}.pdf.js",
      },
      firstContact,
    ],
  },
  {
    threatType: "qr_code_phishing",
    weight: 6,
    criticality: "medium",
    verdicts: attackVerdicts,
    sender: "look-alike",
    audience: "anyone",
    recipients: 4,
    subjects: ["Renew your second factor", "Your parking card for {company}", "Benefits enrolment closes Friday"],
    reasonings: ["An image contains a QR code that leads to a sign-in form, out of sight of link scanners."],
    indicators: [
      {
        indicator_type: "qr_code",
        explanation: "The image's code leads to a domain that has nothing to do with the sender.",
        grounding: "https://{sender_domain}/q/{number}",
      },
      lookAlikeDomain,
    ],
  },
  {
    threatType: "callback_phishing",
    weight: 5,
    criticality: "medium",
    verdicts: attackVerdicts,
    sender: "stranger",
    audience: "anyone",
    recipients: 3,
    subjects: ["Your subscription {number} was renewed", "Order {number} confirmed, 499.00 charged"],
    reasonings: ["Confirms an order that nobody placed and gives a number to call for its cancellation."],
    indicators: [
      {
        indicator_type: "callback_number",
        explanation: "The only way to object is to call a number that isn't the vendor's.",
        grounding: "Order {number}",
      },
    ],
  },
  {
    threatType: "extortion",
    weight: 3,
    criticality: "medium",
    verdicts: attackVerdicts,
    sender: "stranger",
    audience: "leaders",
    recipients: 2,
    subjects: ["I have seen your files", "Pay by Friday"],
    reasonings: ["Threatens to publish data unless a ransom is paid; there is no sign that it has any."],
    indicators: [
      {
        indicator_type: "threatening_language",
        explanation: "The text threatens the recipient and demands a payment.",
        grounding: "you have 48 hours",
      },
    ],
  },
  {
    threatType: "spam",
    weight: 12,
    criticality: "low",
    verdicts: [
      [92, "spam"],
      [5, "unknown"],
      [3, "safe"],
    ],
    sender: "stranger",
    audience: "anyone",
    recipients: 3,
    subjects: ["Double your leads this quarter", "Attendee list, {number} contacts", "Re: our last conversation"],
    reasonings: ["Unsolicited advertising, sent to many unrelated recipients."],
    indicators: [
      {
        indicator_type: "bulk_sender",
        explanation: "The same text went to many unrelated mailboxes.",
        grounding: "{sender_domain}",
      },
    ],
  },
  {
    threatType: "graymail",
    weight: 8,
    criticality: "low",
    verdicts: [
      [96, "graymail"],
      [4, "safe"],
    ],
    sender: "bulk",
    audience: "anyone",
    recipients: 4,
    subjects: ["This week's offers", "Webinar: what's new in logistics", "Your digest, issue {number}"],
    reasonings: ["A newsletter that the recipient once subscribed to but no longer reads."],
    indicators: [
      {
        indicator_type: "list_unsubscribe",
        explanation: "The headers offer a way to unsubscribe, as newsletters do.",
        grounding: "<https://{sender_domain}/unsubscribe?n={number}>",
      },
    ],
  },
  {
    threatType: "phishing_simulation",
    weight: 3,
    criticality: "low",
    verdicts: [[1, "simulation"]],
    sender: "bulk",
    audience: "anyone",
    recipients: 6,
    subjects: ["You have a parcel waiting", "Please sign the updated travel policy"],
    reasonings: ["Sent by the company's own training vendor to see who would click."],
    indicators: [
      {
        indicator_type: "simulation_header",
        explanation: "A header marks the message as part of awareness training.",
        grounding: "X-Awareness-Training: {number}",
      },
    ],
  },
];

export const ordinarySubjects: readonly string[] = [
  "Minutes of Tuesday's meeting",
  "Your travel booking {number}",
  "Question about purchase order {number}",
  "Lunch on Thursday?",
  "Maintenance window this weekend",
];

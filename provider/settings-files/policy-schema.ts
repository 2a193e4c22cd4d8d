import { RE2JS } from "re2js";
import { z } from "zod";
import { parseTermDays } from "../model/expiry-term";
import { quote } from "../model/text";
import {
  booleanField,
  formatChoices,
  formatFieldError,
  formatMappingError,
  integerField,
  singleLineTextField,
  textField,
} from "./field-schemas";

/** The sections with declarations. */
export const POLICY_SUBJECTS = ["allow", "deny", "vips"] as const;

const buildSubjectList = (description: string) =>
  z
    .array(
      z.enum(POLICY_SUBJECTS, {
        error: (issue) => formatFieldError(issue.input, formatChoices(POLICY_SUBJECTS)),
      }),
      {
        error: (issue) => formatFieldError(issue.input, "a list of allow, deny and vips, such as [allow]"),
      },
    )
    .describe(description)
    .optional();

/** A login at GitHub or GitLab: only their common format is checked. */
const login = singleLineTextField("a login").refine((text) => /^[\w.[\]-]+$/.test(text), {
  error: (issue) => `is ${quote(issue.input)}; write only the login, without @ and spaces`,
});

/** With two names for one login, one approval would count for two people. */
const approvers = z
  .record(singleLineTextField("a name"), login, { error: (issue) => formatMappingError(issue.input) })
  .check((context) => {
    const nameByLogin = new Map<string, string>();
    for (const [name, loginName] of Object.entries(context.value)) {
      const otherName = nameByLogin.get(loginName.toLowerCase());
      nameByLogin.set(loginName.toLowerCase(), name);
      if (otherName === undefined) continue;
      const message = `is already the login of ${quote(otherName)}; each person needs their own login`;
      context.issues.push({ code: "custom", message, input: loginName, path: [name] });
    }
  });

/** The rules of a team's policy. `lint` and `plan` report each violation. */
export const policyRules = z.strictObject(
  {
    requireComment: buildSubjectList("The entries that need a comment."),
    requireTicket: buildSubjectList("The entries that need a ticket."),
    ticketPattern: textField("a regular expression")
      .refine(
        isRegularExpression,
        "isn't a valid RE2 regular expression (RE2 has no look-around or back-references, so that every match ends in linear time)",
      )
      .describe("The pattern of a ticket, as a regular expression: ^(INC|CHG)-[0-9]+$")
      .optional(),
    requireOwner: buildSubjectList("The entries that need an owner."),
    requireExpiry: buildSubjectList("The entries that need an expiry: a date, or `expires: never`."),
    maxDays: integerField("a number of days")
      .min(1, "is 0; write a number of days")
      .describe("The maximum number of days until an allow's `expires`. With a limit, `never` is rejected too.")
      .optional(),
    requireTwoPeople: buildSubjectList("The entries that need an owner and a second person who agreed (approvedBy)."),
    requireApproval: buildSubjectList(
      "The entries that, when added or changed, must have an approver of the change in approvedBy (lint --approvals).",
    ),
    approvers: approvers
      .describe("The approvers, by their name in approvedBy, with their login: { Dana Reyes: dana-reyes }")
      .optional(),
    reviewEvery: textField("an interval such as 90d")
      .refine((text) => parseTermDays(text) !== undefined, {
        error: (issue) => `is ${quote(issue.input)}; write days, such as 90d, or weeks, such as 12w, up to ten years`,
      })
      .describe("The review interval for all declarations, such as 90d or 12w. A due review is a warning.")
      .optional(),
    rejectWholeDomains: booleanField
      .describe("Whether an allow of a whole domain needs acceptRisk. Allowing a single sender is often enough.")
      .optional(),
    allowFrom: booleanField.describe("Whether a source may add allow entries. Default: false.").optional(),
  },
  { error: (issue) => formatMappingError(issue.input) },
);

/** A team's policy. */
export type Policy = z.infer<typeof policyRules>;

/** A section that a policy rule applies to. */
export type PolicySubject = (typeof POLICY_SUBJECTS)[number];

function isRegularExpression(text: string): boolean {
  try {
    RE2JS.compile(text);
    return true;
  } catch {
    return false;
  }
}

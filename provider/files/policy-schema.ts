import { RE2JS } from "re2js";
import { z } from "zod";
import { parseTermDays } from "../settings/term";
import { quote } from "../settings/text";
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

const subjectList = (description: string) =>
  z
    .array(
      z.enum(POLICY_SUBJECTS, {
        error: (issue) => formatFieldError(issue.input, formatChoices(POLICY_SUBJECTS)),
      }),
      {
        error: (issue) => formatFieldError(issue.input, "a list of allow, deny and vips, as [allow]"),
      },
    )
    .describe(description)
    .optional();

/** A login at GitHub or GitLab: only their common format is checked. */
const login = singleLineTextField("a login").refine((text) => /^[\w.[\]-]+$/.test(text), {
  error: (issue) => `is ${quote(issue.input)}; write the login alone, without @ and spaces`,
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
      const message = `is the login of ${quote(otherName)} already; one login is one person`;
      context.issues.push({ code: "custom", message, input: loginName, path: [name] });
    }
  });

/** The rules of a team's policy. `lint` and `plan` report each violation. */
export const policyRules = z.strictObject(
  {
    requireComment: subjectList("The entries that need a comment."),
    requireTicket: subjectList("The entries that need a ticket."),
    ticketPattern: textField("a regular expression")
      .refine(
        isRegularExpression,
        "isn't a valid regular expression (of RE2: without look-around and back-references, so that every match ends in linear time)",
      )
      .describe("What a ticket looks like, as a regular expression: ^(INC|CHG)-[0-9]+$")
      .optional(),
    requireOwner: subjectList("The entries that need an owner."),
    requireExpiry: subjectList("The entries that need an end: a date, or `expires: never`."),
    maxDays: integerField("a number of days")
      .min(1, "is 0; write a number of days")
      .describe("How many days ahead an allow's `expires` may lie; `never` is then refused too.")
      .optional(),
    requireTwoPeople: subjectList("The entries that need an owner and somebody else who agreed (approvedBy)."),
    requireApproval: subjectList(
      "What, once a change adds or alters it, must name in approvedBy somebody who approved that change (lint --approvals).",
    ),
    approvers: approvers
      .describe("Who may approve, as approvedBy names them, and their login: { Dana Reyes: dana-reyes }")
      .optional(),
    reviewEvery: textField("a term such as 90d")
      .refine((text) => parseTermDays(text) !== undefined, {
        error: (issue) => `is ${quote(issue.input)}; write days as 90d, or weeks as 12w, at most ten years`,
      })
      .describe("How often all declared entries are reviewed again, as 90d or 12w; a due review is a warning.")
      .optional(),
    refuseWholeDomains: booleanField
      .describe("Whether an allow of a whole domain needs acceptRisk, as one sender is often enough.")
      .optional(),
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

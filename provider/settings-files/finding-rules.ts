import { RISKS, type RiskKind } from "../model/risk";
import type { FindingLevel } from "./finding";

export interface FindingRule {
  readonly code: string;
  readonly level: FindingLevel;
  /** A few words. */
  readonly title: string;
  /** The importance of the finding and the fix, in a few sentences. */
  readonly help: string;
}

/** Returns the rule of a code, or a generic one for an unknown code. */
export function getFindingRule(code: string, level: FindingLevel): FindingRule {
  return FINDING_RULES.get(code) ?? { code, level, title: code.replaceAll("-", " "), help: "See the message." };
}

const ACCEPT_ADVICE =
  "If you need the entry, give the reason with it: `acceptRisk: …`. Reviewers see the reason; the service doesn't receive it.";

/** The last sentences of each policy rule. */
export const POLICY_ADVICE =
  "The rule is under `policy` in the settings files. A file can be stricter than the files it includes. It can be less strict only if they allow it.";

const riskRules: FindingRule[] = Object.entries<RiskKind>(RISKS).map(([code, { title, explanation }]) => ({
  code,
  level: "error",
  title: `An entry ${title}`,
  help: `${explanation} ${ACCEPT_ADVICE}`,
}));

/** All rules for settings files by code. A released code keeps its meaning. */
export const FINDING_RULES: ReadonlyMap<string, FindingRule> = new Map(
  [
    ...riskRules,
    defineErrorRule(
      "yaml-syntax",
      "The file isn't valid YAML",
      "Nothing in the file was used. Editors that use the JSON schema of settings files show this error while you type.",
    ),
    defineErrorRule(
      "json-syntax",
      "A .json file isn't valid JSON",
      "Other tools parse the file by its extension, and reject trailing commas, comments and unquoted keys. Write JSON, or rename the file to .yaml.",
    ),
    defineErrorRule(
      "yaml-tab",
      "A line is indented with a tab",
      "YAML allows only spaces for indentation, because editors show tabs at different widths. Indent with two spaces.",
    ),
    defineErrorRule(
      "yaml-duplicate-key",
      "Duplicate key",
      "Only one of two values under the same key takes effect, and tools differ in which one. Keep one.",
    ),
    defineErrorRule(
      "yaml-boolean",
      "A word that some tools read as true or false",
      "In YAML 1.1, which many tools still use, yes, no, on, off, y and n are booleans. Quote the text.",
    ),
    defineErrorRule(
      "yaml-not-text",
      "A number instead of text",
      "YAML reads 010 as the number 10 and 1.10 as 1.1, which changes the value. Quote it.",
    ),
    defineErrorRule(
      "yaml-anchor",
      "An anchor, an alias or a merge key",
      "A change to one line must not change the value of another, because a review shows only the changed lines. Repeat the value.",
    ),
    defineErrorRule(
      "yaml-tag",
      "A YAML tag",
      "Tags change how a value is read, and tools differ in their support for them. Remove the tag, and quote the text.",
    ),
    defineErrorRule(
      "yaml-documents",
      "Several documents in one file",
      "Some tools would read only the first one. Write a separate file for each, and `include` them.",
    ),
    defineErrorRule("yaml-hidden", "An invisible character", "It can make one line look like another. Remove it."),
    defineErrorRule("yaml-too-large", "The file is too large", "Split it with `include`."),
    defineErrorRule(
      "file-unreadable",
      "A file can't be read",
      "Check its path, which is relative to the file that includes it.",
    ),
    defineErrorRule("file-encoding", "The file isn't UTF-8", "Save it as UTF-8."),
    defineErrorRule("include-circle", "A file includes itself", "Remove one of the `include` lines."),
    defineErrorRule(
      "include-url",
      "An include isn't a file",
      "Included files must be in the repository, so that they are reviewed. Copy the file there.",
    ),
    defineErrorRule(
      "include-path",
      "An include isn't a settings file of the repository",
      "Write the path of a .yaml, .yml or .json file, relative to the file that includes it.",
    ),
    defineErrorRule("include-too-many", "Too many included files", "Merge small files."),
    defineErrorRule(
      "unknown-key",
      "Unknown key",
      "Most unknown keys are typos, and would otherwise be ignored silently. The message lists the valid keys.",
    ),
    defineErrorRule("invalid-value", "Invalid value", "The message says what to write."),
    defineErrorRule(
      "duplicate-declaration",
      "Duplicate declaration",
      "Only one of two declarations can take effect. Keep one. To change a declaration of an included file, `remove` it or declare it again in the including file.",
    ),
    defineErrorRule(
      "override-rejected",
      "A forbidden override",
      "The file weakens a rule of an included file, which more people review than the files that include it. A file can tighten such a rule. It can loosen it only if the included file lists the rule under `allowedOverrides`.",
    ),
    noteRule(
      "override",
      "An allowed override",
      "The file weakens a rule of an included file, which allows this, or a declaration that the included file doesn't protect. Overrides are shown first, so that reviewers see how this tenant differs.",
    ),
    defineErrorRule(
      "list-overridden",
      "An included entry moves to the other list",
      "Reviewers must see when a deny becomes an allow. List the entry under `remove` too.",
    ),
    defineErrorRule(
      "list-options",
      "Invalid list options",
      "The options contradict the declarations or each other. The message says which ones, and how to fix them.",
    ),
    defineWarningRule(
      "remove-nothing",
      "A removal without effect",
      "No included file declares this value any more, or the value has a typo. Delete or correct the line.",
    ),
    defineWarningRule("duplicate-removal", "Duplicate removal", "Keep one of the two."),
    defineErrorRule("policy-comment", "Policy: missing comment", `Give the reason for the entry. ${POLICY_ADVICE}`),
    defineErrorRule(
      "policy-ticket",
      "Policy: missing or invalid ticket",
      `Give the ticket with the request and the decision. ${POLICY_ADVICE}`,
    ),
    defineErrorRule(
      "policy-owner",
      "Policy: missing owner",
      `Name the person who is responsible for the entry. ${POLICY_ADVICE}`,
    ),
    defineErrorRule(
      "policy-expiry",
      "Policy: missing expiry date",
      `Set \`expires\` to a date or \`never\`, because entries without an expiry date are forgotten. ${POLICY_ADVICE}`,
    ),
    defineErrorRule(
      "policy-max-days",
      "Policy: an allow expires too late",
      `Allows must be reviewed regularly. Choose an earlier date. ${POLICY_ADVICE}`,
    ),
    defineErrorRule(
      "policy-two-people",
      "Policy: missing second person",
      `The entry must name two people: one as \`owner\`, and another as \`approvedBy\`. ${POLICY_ADVICE}`,
    ),
    defineErrorRule(
      "policy-allow-from",
      "Policy: a source of allow entries",
      `The owner of the feed could let mail in. Feed a deny list instead, or allow it with \`allowFrom: true\` in the baseline. ${POLICY_ADVICE}`,
    ),
    defineErrorRule(
      "policy-whole-domain",
      "Policy: an allow of a whole domain",
      `Allowing a single sender is often enough: allow the mailbox. Otherwise, give the reason for allowing the whole domain in \`acceptRisk\`. ${POLICY_ADVICE}`,
    ),
    defineErrorRule(
      "approval-unchecked",
      "Policy: approval not checked",
      `The policy requires an approval of this change (\`requireApproval\`). The pipeline checks it with \`lint --approvals\`. On your own machine, use \`lint --no-approvals\` to leave the check to the pipeline. ${POLICY_ADVICE}`,
    ),
    defineErrorRule(
      "approval-missing",
      "Policy: missing approver",
      `Name the person who approves this change in \`approvedBy\`. Only new and changed entries are checked. ${POLICY_ADVICE}`,
    ),
    defineErrorRule(
      "approval-unproven",
      "An unproven approval",
      "The person in `approvedBy` didn't approve the current version of this change, isn't one of the policy's `approvers`, or is the author. Get that person's approval, or name someone who approved the change.",
    ),
    defineWarningRule(
      "shadowed",
      "A redundant entry",
      "An entry for the parent domain already covers it, on the same list and in the same scope. Fewer entries are easier to review: remove one of the two.",
    ),
    noteRule(
      "contradicted",
      "An exception to an entry of the other list",
      "An allow below a denied domain, or a deny below an allowed one. The service's reference doesn't say which of the two takes precedence.",
    ),
    defineWarningRule(
      "expired",
      "An expired declaration",
      "The line no longer has any effect. Remove it, or set a later date.",
    ),
    noteRule(
      "expires-soon",
      "Expires within 30 days",
      "The first run after its last day removes it. Set a later date if you still need it.",
    ),
    defineWarningRule(
      "review-overdue",
      "Overdue review",
      "The policy requires regular reviews (`policy.reviewEvery`), and the last one is too long ago. Review it, and write the date and your name in its `reviewed` field, or remove it.",
    ),
    noteRule(
      "never-reviewed",
      "Never reviewed",
      "The files don't show how old a declaration is, so it is counted but not reported as overdue. A new declaration needs no action. After a review, write the date and your name in its `reviewed` field.",
    ),
    defineWarningRule(
      "source-not-included",
      "A source without effect",
      "`email-security sync` writes the entries of a source to its own file, which no file includes. Add the file to `include`.",
    ),
    defineWarningRule(
      "source-gone",
      "A generated file without its source",
      "Nothing updates the file any more. Remove it and its `include`. To keep the entries as your own, remove `source` from it instead.",
    ),
    noteRule(
      "accepted-risk",
      "An accepted risk",
      "No action is needed. It is shown so that reviewers see the risk and the reason to accept it.",
    ),
    noteRule(
      "accepted-mail",
      "An accepted risk that depends on mail",
      "A plan checks the sender's mail. It then reports evidence against the entry as an accepted risk instead of a danger. Remove `acceptRisk` if it was meant for something else.",
    ),
    defineWarningRule(
      "accepted-nothing",
      "An accepted risk that doesn't exist",
      "Remove `acceptRisk`. Otherwise, it would accept a future risk that nobody has reviewed.",
    ),
    defineWarningRule(
      "scope-unknown",
      "A scope with a possible typo",
      "If the service doesn't know the scope, it rejects the entry when it is written. Write the intended scope.",
    ),
    noteRule(
      "scope-other",
      "A scope that this version doesn't know",
      "It is reported once. If the service doesn't know the scope either, it rejects the entry when it is written. Check that the scope is the intended one.",
    ),
  ].map((rule) => [rule.code, rule]),
);

function defineErrorRule(code: string, title: string, help: string): FindingRule {
  return { code, level: "error", title, help };
}

function defineWarningRule(code: string, title: string, help: string): FindingRule {
  return { code, level: "warning", title, help };
}

function noteRule(code: string, title: string, help: string): FindingRule {
  return { code, level: "note", title, help };
}

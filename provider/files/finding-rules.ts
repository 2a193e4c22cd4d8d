import { RISKS, type RiskKind } from "../settings/risk";
import type { FindingLevel } from "./finding";

/** Describes a kind of finding, for editors, pull requests and reports. */
export interface FindingRule {
  readonly code: string;
  readonly level: FindingLevel;
  /** A few words. */
  readonly title: string;
  /** Why it matters and what to do, in a few sentences. */
  readonly help: string;
}

/** Returns the rule of a code, or a generic one for an unknown code. */
export function getFindingRule(code: string, level: FindingLevel): FindingRule {
  return FINDING_RULES.get(code) ?? { code, level, title: code.replaceAll("-", " "), help: "See its message." };
}

const ACCEPT_ADVICE =
  "If it is meant all the same, say why with the entry: `acceptRisk: …`. The review sees it; the service is not sent it.";

const POLICY_ADVICE =
  "The rule stands under `policy` in the settings files; a file can ask for more than those that it includes, and for less only where they let it.";

const riskRules: FindingRule[] = Object.entries<RiskKind>(RISKS).map(([code, { title, why }]) => ({
  code,
  level: "error",
  title: `An entry ${title}`,
  help: `${why} ${ACCEPT_ADVICE}`,
}));

/** All rules for settings files by code. A released code keeps its meaning. */
export const FINDING_RULES: ReadonlyMap<string, FindingRule> = new Map(
  [
    ...riskRules,
    errorRule(
      "yaml-syntax",
      "The file is no valid YAML",
      "Nothing of the file was used. Editors that know the JSON Schema of settings files show this while you write.",
    ),
    errorRule(
      "json-syntax",
      "A .json file is not valid JSON",
      "Other tools read the file by its name, and refuse trailing commas, comments and keys without quotes. Write JSON, or name the file .yaml.",
    ),
    errorRule(
      "yaml-tab",
      "A line is indented with a tab",
      "YAML allows spaces only, as tabs are shown in different widths. Let the editor indent with two spaces.",
    ),
    errorRule(
      "yaml-duplicate-key",
      "A key is written twice",
      "Of two values under one key only one could count, and tools differ in which. Keep one.",
    ),
    errorRule(
      "yaml-boolean",
      "A word that some tools read as true or false",
      "By YAML 1.1, which many tools still read, yes, no, on, off, y and n are no texts. Write quotes around a text.",
    ),
    errorRule(
      "yaml-not-text",
      "A number where a text is meant",
      "YAML reads 010 as the number 10 and 1.10 as 1.1, so what would be kept is not what was written. Write quotes around it.",
    ),
    errorRule(
      "yaml-anchor",
      "An anchor, an alias or a merge key",
      "What stands in one line must not change with another: a review sees the changed lines alone. Write it out.",
    ),
    errorRule(
      "yaml-tag",
      "A tag of YAML",
      "Tags change how a value is read, and tools differ in them. Take it away, and write quotes around a text.",
    ),
    errorRule(
      "yaml-documents",
      "More than one document in a file",
      "Tools would read the first one alone. Write one file for each, and `include` them.",
    ),
    errorRule("yaml-hidden", "An invisible character", "It can make a line look like another one. Take it out."),
    errorRule("yaml-too-large", "The file is too large", "Split it with `include`."),
    errorRule(
      "file-unreadable",
      "A file can't be read",
      "Check its path, which is relative to the file that includes it.",
    ),
    errorRule("file-encoding", "A file is no UTF-8", "Save it as UTF-8; Windows' editors call it so, too."),
    errorRule("include-circle", "A file includes itself", "Take one of the `include` lines away."),
    errorRule(
      "include-url",
      "An include is no file",
      "What is reviewed has to be in the repository. Copy the file there.",
    ),
    errorRule(
      "include-path",
      "An include that is no settings file of the repository",
      "Write the path of a .yaml, .yml or .json file, relative to the file that includes it.",
    ),
    errorRule("include-too-many", "Too many files are included", "Put small files together."),
    errorRule(
      "unknown-key",
      "A key that means nothing",
      "It would be ignored silently, so it is refused: mostly it is a slip. The message names the keys there are.",
    ),
    errorRule("invalid-value", "A value that can't be used", "The message says what to write."),
    errorRule(
      "declared-twice",
      "Something is declared twice",
      "Of two declarations only one could count. Keep one; what an included file declares is taken out with `remove`, or declared again in the file that includes it.",
    ),
    errorRule(
      "loosening-refused",
      "What an included file asks for is loosened",
      "A file that many include is reviewed by more people than each that includes it. What it asks for can be tightened, and loosened only where it says so under `mayLoosen`.",
    ),
    noteRule(
      "loosened",
      "Less than an included file asks for or declares",
      "It may be: the included file lets it, or does not protect it. It is shown first, so that a review sees what holds for this tenant and not for the others.",
    ),
    errorRule(
      "list-overridden",
      "An included entry is moved to the other list",
      "A deny that becomes an allow must be seen in a review. Also write it under `remove`, and it is.",
    ),
    errorRule(
      "list-options",
      "The options of a list can't hold",
      "They contradict what is declared, or each other. The message says which and what to do.",
    ),
    warningRule(
      "remove-nothing",
      "A removal that removes nothing",
      "No included file declares it any more, or it has a slip. Take the line away, or mend it.",
    ),
    warningRule("removed-twice", "A removal is written twice", "Keep one of the two."),
    errorRule("policy-comment", "Policy: a comment is missing", `Say why the entry is here. ${POLICY_ADVICE}`),
    errorRule(
      "policy-ticket",
      "Policy: a ticket is missing, or looks like none",
      `Name where it was asked for and decided. ${POLICY_ADVICE}`,
    ),
    errorRule("policy-owner", "Policy: an owner is missing", `Name who answers for it. ${POLICY_ADVICE}`),
    errorRule(
      "policy-expiry",
      "Policy: the end is not said",
      `Say when it ends, with a date or \`never\`: what has no end is forgotten. ${POLICY_ADVICE}`,
    ),
    errorRule(
      "policy-max-days",
      "Policy: an allow ends too late",
      `An allow is looked at anew from time to time. Choose an earlier date. ${POLICY_ADVICE}`,
    ),
    errorRule(
      "policy-two-people",
      "Policy: nobody else agreed",
      `Two people stand behind it: \`owner\`, and \`approvedBy\` somebody else. ${POLICY_ADVICE}`,
    ),
    errorRule(
      "policy-whole-domain",
      "Policy: an allow of a whole domain",
      `One sender is often enough: allow the mailbox. Or say why all of the domain is meant, in \`acceptRisk\`. ${POLICY_ADVICE}`,
    ),
    errorRule(
      "approval-unchecked",
      "Policy: nobody told who approved",
      `A change of what the policy names under \`requireApproval\` is held to who approved it, which the pipeline tells (\`lint --approvals\`). On your own machine, \`lint --no-approvals\` leaves that to it. ${POLICY_ADVICE}`,
    ),
    errorRule(
      "approval-missing",
      "Policy: a change names nobody who approved",
      `Name in \`approvedBy\` who approves this change. What stood there before is not asked. ${POLICY_ADVICE}`,
    ),
    errorRule(
      "approval-unproven",
      "An approval that nobody gave",
      "Whom `approvedBy` names has not approved this change as it is now, is none of the policy's `approvers`, or made it. Let them approve it, or name who did.",
    ),
    warningRule(
      "shadowed",
      "An entry that another one covers",
      "The entry of the domain above it stands for it already, on the same list and in the same scope. Fewer entries are easier to judge: take one of the two away.",
    ),
    noteRule(
      "contradicted",
      "An exception from an entry of the other list",
      "An allow below a denied domain, or a deny below an allowed one. The service's reference does not say which of the two decides.",
    ),
    warningRule(
      "expired",
      "What is past its end",
      "It is declared no longer, so the line does nothing. Take it away, or write a later date.",
    ),
    noteRule(
      "expires-soon",
      "What ends within 30 days",
      "After that day it is declared no longer, and the next run takes it away. Write a later date if it is still needed.",
    ),
    warningRule(
      "review-overdue",
      "What is due for a review again",
      "The team looks at all that stands from time to time (`policy.reviewEvery`), and the last decision is past that. Look at it anew, and write the day and who decided in its `reviewed`, or take it away.",
    ),
    noteRule(
      "never-reviewed",
      "What says nothing of a review",
      "Files alone do not tell since when it stands, so it is counted and not called due. Nothing is wrong with what is new; once somebody has looked at it, write the day and who in its `reviewed`.",
    ),
    noteRule(
      "accepted-risk",
      "A risk that somebody accepted",
      "Nothing to mend. It is shown so that a review sees which risk it is, and why it is accepted.",
    ),
    noteRule(
      "accepted-mail",
      "A risk is accepted that only the mail can tell",
      "A plan looks at the mail of the sender. Where that speaks against the entry, it is told as an accepted risk and not as a danger. Take `acceptRisk` away when it was meant for something else.",
    ),
    warningRule(
      "accepted-nothing",
      "A risk is accepted where there is none",
      "Take `acceptRisk` away: it would accept what becomes risky later, without anybody having looked at it.",
    ),
    warningRule(
      "scope-unknown",
      "A scope that looks like a slip",
      "A service that does not know it refuses the entry when it is written. Write the one that is meant.",
    ),
    noteRule(
      "scope-other",
      "A scope that this version does not know",
      "Told once. A service that does not know it either refuses the entry when it is written. Look whether it is the one that is meant.",
    ),
  ].map((rule) => [rule.code, rule]),
);

function errorRule(code: string, title: string, help: string): FindingRule {
  return { code, level: "error", title, help };
}

function warningRule(code: string, title: string, help: string): FindingRule {
  return { code, level: "warning", title, help };
}

function noteRule(code: string, title: string, help: string): FindingRule {
  return { code, level: "note", title, help };
}

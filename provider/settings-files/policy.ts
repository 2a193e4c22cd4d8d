import { RE2JS } from "re2js";
import { InvalidArgumentError } from "../client/errors";
import { validateArguments } from "../model/arguments";
import type { EntryType, List } from "../model/assumptions";
import { excerpt, quote } from "../model/text";
import type { Finding } from "./finding";
import type { DeclaredEntry, DeclaredVip, Settings } from "./settings-model";
import { type Policy, type PolicySubject, policyRules } from "./settings-schema";

/** Checks settings against the team's policy. Each violation is an error at the line of the declaration, with its fix. */
export function findPolicyViolations({ today, entries, vips, policy }: Settings): Finding[] {
  const rules = buildPolicyRules(policy, today);
  if (rules.length === 0) return [];
  const findings: Finding[] = [];
  for (const declaration of [...entries, ...vips]) {
    for (const { code, getViolation } of rules) {
      const problem = getViolation(declaration);
      if (problem === undefined) continue;
      const subject = { kind: declaration.kind, key: declaration.key };
      findings.push({
        code,
        level: "error",
        message: formatViolation(declaration, problem),
        place: declaration.location,
        subject,
      });
    }
  }
  return findings;
}

/** The code of a violated policy rule, as in `lint`. */
export type PolicyCode =
  | "policy-comment"
  | "policy-ticket"
  | "policy-owner"
  | "policy-expiry"
  | "policy-max-days"
  | "policy-two-people"
  | "policy-whole-domain";

/** The fields that policy rules check, for any way of declaring. Texts are not empty. */
export interface PolicyFields {
  /** The reason for the declaration. */
  readonly comment?: string | undefined;
  readonly ticket?: string | undefined;
  /** The responsible person. */
  readonly owner?: string | undefined;
  /** The person who agreed. */
  readonly approvedBy?: string | undefined;
  /** The last day (UTC), `2027-03-31`, or `never`. */
  readonly expires?: string | undefined;
}

/** An entry, as policy rules see it. */
export interface PolicyEntry extends PolicyFields {
  readonly kind: "entry";
  readonly list: List;
  /** In canonical form. */
  readonly value: string;
  readonly entryType: EntryType;
  readonly acceptRisk?: string | undefined;
}

/** A VIP, as policy rules see it. */
export interface PolicyVip extends PolicyFields {
  readonly kind: "vip";
}

/**
 * Builds a function that returns the policy rules an entry or VIP violates.
 *
 * @param policy the policy as in a settings file.
 * @param today the day (UTC) from which `maxDays` counts: `2026-11-21`.
 * @throws {InvalidArgumentError} for an unknown or invalid rule, which would otherwise be ignored.
 */
export function createPolicyCheck(policy: Policy, today: string): (item: PolicyEntry | PolicyVip) => PolicyCode[] {
  const problems = validateArguments(policyRules, policy).map(
    ({ property, reason }) => `policy: ${property} ${reason}`,
  );
  if (problems.length > 0) throw new InvalidArgumentError(problems.join("\n"));
  const rules = buildPolicyRules(policy, today);
  return (item) => rules.filter(({ getViolation }) => getViolation(item) !== undefined).map(({ code }) => code);
}

function buildPolicyRules(policy: Policy, today: string): PolicyRule[] {
  return [
    buildCommentRule(policy.requireComment),
    buildTicketRule(policy.requireTicket, policy.ticketPattern),
    buildOwnerRule(policy.requireOwner),
    buildExpiryRule(policy.requireExpiry),
    buildMaxDaysRule(policy.maxDays, policy.requireExpiry, today),
    buildTwoPeopleRule(policy.requireTwoPeople),
    buildWholeDomainRule(policy.rejectWholeDomains),
  ].filter((rule) => rule !== undefined);
}

interface PolicyRule {
  readonly code: PolicyCode;
  /** Describes the violation and its fix in a settings file; undefined if the rule is met. */
  readonly getViolation: (item: PolicyEntry | PolicyVip) => string | undefined;
}

type RequiredSubjects = readonly PolicySubject[] | undefined;

function buildCommentRule(subjects: RequiredSubjects): PolicyRule | undefined {
  return requireField(subjects, "policy-comment", ({ comment }) =>
    comment === undefined ? "has no comment; write `comment: …`" : undefined,
  );
}

/** An optional ticket must match the pattern too. */
function buildTicketRule(subjects: RequiredSubjects = [], pattern: string | undefined): PolicyRule | undefined {
  if (subjects.length === 0 && pattern === undefined) return undefined;
  const ticketPattern = pattern === undefined ? undefined : RE2JS.compile(pattern);
  const patternHint = pattern === undefined ? "" : ` that matches ${quote(pattern, 200)}`;
  return {
    code: "policy-ticket",
    getViolation(item) {
      if (item.ticket === undefined) {
        return subjects.includes(getPolicySubject(item))
          ? `has no ticket; write \`ticket: …\`${patternHint}`
          : undefined;
      }
      return ticketPattern === undefined || ticketPattern.matcher(item.ticket).find()
        ? undefined
        : `has the ticket ${quote(item.ticket)}; write one${patternHint}`;
    },
  };
}

function buildOwnerRule(subjects: RequiredSubjects): PolicyRule | undefined {
  return requireField(subjects, "policy-owner", ({ owner }) =>
    owner === undefined ? "has no owner; write `owner: …`" : undefined,
  );
}

function buildExpiryRule(subjects: RequiredSubjects): PolicyRule | undefined {
  return requireField(subjects, "policy-expiry", ({ expires }) =>
    expires === undefined
      ? "has no expiry date; write `expires:` with a date, such as 2027-03-31, or never"
      : undefined,
  );
}

/** A missing expiry counts as `never`, unless the rule that requires an expiry reports it. */
function buildMaxDaysRule(
  maxDays: number | undefined,
  requireExpiry: RequiredSubjects = [],
  today: string,
): PolicyRule | undefined {
  if (maxDays === undefined) return undefined;
  const latestDate = addDaysWithinRange(today, maxDays);
  const limitText = maxDays === 1 ? "1 day is" : `${maxDays} days are`;
  return {
    code: "policy-max-days",
    getViolation(item) {
      if (item.kind === "vip" || item.list !== "allow") return undefined;
      const { expires } = item;
      if (expires === undefined && requireExpiry.includes("allow")) return undefined;
      const latestDay = latestDate === undefined ? "a date" : `a date up to ${latestDate}`;
      if (expires === undefined || expires === "never") {
        return `is allowed without an expiry date, but ${limitText} the maximum; write \`expires:\` with ${latestDay}`;
      }
      return latestDate !== undefined && expires > latestDate
        ? `is allowed until ${expires}, but ${limitText} the maximum; write ${latestDay}`
        : undefined;
    },
  };
}

function buildTwoPeopleRule(subjects: RequiredSubjects): PolicyRule | undefined {
  return requireField(subjects, "policy-two-people", ({ owner, approvedBy }) => {
    const missing = [
      ...(owner === undefined ? ["`owner: …`"] : []),
      ...(approvedBy === undefined ? ["`approvedBy: …`"] : []),
    ];
    if (missing.length > 0) {
      return `needs two people, an owner and another person who agreed; write ${missing.join(" and ")}`;
    }
    return isSamePerson(owner ?? "", approvedBy ?? "")
      ? `is approved by ${quote(approvedBy)}, who is also its owner; have another person review it, and name them in \`approvedBy:\``
      : undefined;
  });
}

function buildWholeDomainRule(isEnabled: boolean | undefined): PolicyRule | undefined {
  if (isEnabled !== true) return undefined;
  return {
    code: "policy-whole-domain",
    getViolation(item) {
      if (item.kind === "vip" || item.list !== "allow" || item.entryType !== "domain") return undefined;
      if (item.acceptRisk !== undefined) return undefined;
      return `allows a whole domain; allow the mailboxes that write to you, such as ${quote(`name@${item.value}`, 300)}, or give the reason for allowing the domain in \`acceptRisk: …\``;
    },
  };
}

/** Builds a rule for the sections in the policy. */
function requireField(
  subjects: RequiredSubjects = [],
  code: PolicyCode,
  getFieldProblem: (fields: PolicyFields) => string | undefined,
): PolicyRule | undefined {
  if (subjects.length === 0) return undefined;
  return {
    code,
    getViolation(item) {
      return subjects.includes(getPolicySubject(item)) ? getFieldProblem(item) : undefined;
    },
  };
}

function getPolicySubject(item: PolicyEntry | PolicyVip): PolicySubject {
  return item.kind === "vip" ? "vips" : item.list;
}

function formatViolation(item: DeclaredEntry | DeclaredVip, problem: string): string {
  const key = item.kind === "vip" ? "email" : "value";
  const mappingHint =
    item.isShort === true ? ` (as a mapping, under \`- ${key}: ${excerpt(item.rawValue, 300)}\`)` : "";
  return `${quote(item.rawValue)} ${problem}${mappingHint}. The team's policy requires it`;
}

/** Ignores word order and case: "Reyes, Dana" equals "dana reyes". */
export function isSamePerson(a: string, b: string): boolean {
  const normalizeName = (name: string): string =>
    name
      .normalize("NFKC")
      .toLowerCase()
      .split(/[\s,;]+/)
      .filter(Boolean)
      .sort()
      .join(" ");
  return normalizeName(a) === normalizeName(b);
}

/** Undefined if the date is out of range. */
function addDaysWithinRange(day: string, limitText: number): string | undefined {
  const date = new Date(Date.parse(`${day}T00:00:00Z`) + limitText * DAY_MS);
  return Number.isNaN(date.getTime()) || date.getUTCFullYear() > 9999 ? undefined : date.toISOString().slice(0, 10);
}

const DAY_MS = 24 * 60 * 60 * 1000;

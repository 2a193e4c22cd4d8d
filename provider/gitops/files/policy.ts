import { excerpt, quote } from "../../settings/text";
import type { Finding } from "./finding";
import type { DeclaredEntry, DeclaredVip, Settings } from "./settings";
import type { PolicySubject } from "./settings-schema";

/**
 * Holds settings to the rules of the team's own `policy`. Each rule that is broken is an error at the line that declares
 * the entry or VIP, with what to write there.
 */
export function policyFindings(settings: Settings): Finding[] {
  const { today, entries, vips, policy } = settings;
  const rules: readonly Rule[] = [
    commentRule(policy.requireComment),
    ticketRule(policy.requireTicket, policy.ticketPattern),
    ownerRule(policy.requireOwner),
    expiryRule(policy.requireExpiry),
    maxDaysRule(policy.maxDays, policy.requireExpiry, today),
    twoPeopleRule(policy.requireTwoPeople),
    wholeDomainRule(policy.refuseWholeDomains),
  ].filter((rule) => rule !== undefined);
  if (rules.length === 0) return [];
  return [...entries, ...vips].flatMap((one) =>
    rules.flatMap(({ code, broken }): Finding[] => {
      const message = broken(one);
      if (message === undefined) return [];
      const subject = { kind: one.kind, key: one.key };
      return [{ code, level: "error", message, place: one.place, subject }];
    }),
  );
}

interface Rule {
  readonly code: string;
  /** What is wrong with one that breaks the rule, and what to write. */
  readonly broken: (one: DeclaredEntry | DeclaredVip) => string | undefined;
}

type Subjects = readonly PolicySubject[] | undefined;

function commentRule(subjects: Subjects): Rule | undefined {
  return required(subjects, "policy-comment", ({ comment }) =>
    comment === undefined ? "does not say why it is here; write `comment: …`" : undefined,
  );
}

/** A ticket that is there must look like one, whether it is asked for or not. */
function ticketRule(subjects: Subjects = [], pattern: string | undefined): Rule | undefined {
  if (subjects.length === 0 && pattern === undefined) return undefined;
  const ticket = pattern === undefined ? undefined : new RegExp(pattern, "u");
  const like = pattern === undefined ? "" : ` that looks like ${quote(pattern, 200)}`;
  return {
    code: "policy-ticket",
    broken(one) {
      if (one.ticket === undefined) {
        return subjects.includes(subjectOf(one))
          ? told(one, `names no ticket; write \`ticket: …\`${like}`)
          : undefined;
      }
      return ticket === undefined || ticket.test(one.ticket)
        ? undefined
        : told(one, `has the ticket ${quote(one.ticket)}; write one${like}`);
    },
  };
}

function ownerRule(subjects: Subjects): Rule | undefined {
  return required(subjects, "policy-owner", ({ owner }) =>
    owner === undefined ? "names nobody who answers for it; write `owner: …`" : undefined,
  );
}

function expiryRule(subjects: Subjects): Rule | undefined {
  return required(subjects, "policy-expiry", ({ expires }) =>
    expires === undefined
      ? "does not say when it ends; write `expires:` with a date, as 2027-03-31, or never"
      : undefined,
  );
}

/** An allow that says nothing of its end has none, so it is as bad as `never`; where it must say, that is told instead. */
function maxDaysRule(
  maxDays: number | undefined,
  requireExpiry: Subjects = [],
  today: string,
): Rule | undefined {
  if (maxDays === undefined) return undefined;
  const latest = daysAfter(today, maxDays);
  const days = maxDays === 1 ? "1 day is" : `${maxDays} days are`;
  return {
    code: "policy-max-days",
    broken(one) {
      if (one.kind === "vip" || one.list !== "allow") return undefined;
      const { expires } = one;
      if (expires === undefined && requireExpiry.includes("allow")) return undefined;
      const latestDay = latest === undefined ? "a date" : `a date up to ${latest}`;
      if (expires === undefined || expires === "never") {
        return told(
          one,
          `is allowed without end, and ${days} the most; write \`expires:\` with ${latestDay}`,
        );
      }
      return latest !== undefined && expires > latest
        ? told(one, `is allowed until ${expires}, and ${days} the most; write ${latestDay}`)
        : undefined;
    },
  };
}

function twoPeopleRule(subjects: Subjects): Rule | undefined {
  return required(subjects, "policy-two-people", ({ owner, approvedBy }) => {
    const missing = [
      ...(owner === undefined ? ["`owner: …`"] : []),
      ...(approvedBy === undefined ? ["`approvedBy: …`"] : []),
    ];
    if (missing.length > 0) {
      return `needs two people, one who answers for it and another who agreed; write ${missing.join(" and ")}`;
    }
    return isSamePerson(owner ?? "", approvedBy ?? "")
      ? `is approved by ${quote(approvedBy)}, who also answers for it; let somebody else look at it, and write who in \`approvedBy:\``
      : undefined;
  });
}

function wholeDomainRule(isRefused: boolean | undefined): Rule | undefined {
  if (isRefused !== true) return undefined;
  return {
    code: "policy-whole-domain",
    broken(one) {
      if (one.kind === "vip" || one.list !== "allow" || one.entryType !== "domain") return undefined;
      if (one.acceptRisk !== undefined) return undefined;
      return told(
        one,
        `allows a whole domain; allow the mailboxes that write to you, as ${quote(`name@${one.value}`, 300)}, or say why all of it is meant in \`acceptRisk: …\``,
      );
    },
  };
}

/** A rule on the subjects that the policy names. */
function required(
  subjects: Subjects = [],
  code: string,
  lacks: (one: DeclaredEntry | DeclaredVip) => string | undefined,
): Rule | undefined {
  if (subjects.length === 0) return undefined;
  return {
    code,
    broken(one) {
      if (!subjects.includes(subjectOf(one))) return undefined;
      const what = lacks(one);
      return what === undefined ? undefined : told(one, what);
    },
  };
}

function subjectOf(one: DeclaredEntry | DeclaredVip): PolicySubject {
  return one.kind === "vip" ? "vips" : one.list;
}

function told(one: DeclaredEntry | DeclaredVip, what: string): string {
  const key = one.kind === "vip" ? "email" : "value";
  const how = one.isShort === true ? ` (as a mapping, below \`- ${key}: ${excerpt(one.written, 300)}\`)` : "";
  return `${quote(one.written)} ${what}${how}. The team's policy asks for it`;
}

/** "Reyes, Dana" and "dana reyes" are one. */
function isSamePerson(one: string, other: string): boolean {
  const words = (name: string): string =>
    name
      .normalize("NFKC")
      .toLowerCase()
      .split(/[\s,;]+/)
      .filter(Boolean)
      .sort()
      .join(" ");
  return words(one) === words(other);
}

/** Undefined beyond the last day there is. */
function daysAfter(day: string, days: number): string | undefined {
  const date = new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY_MS);
  return Number.isNaN(date.getTime()) || date.getUTCFullYear() > 9999
    ? undefined
    : date.toISOString().slice(0, 10);
}

const DAY_MS = 24 * 60 * 60 * 1000;

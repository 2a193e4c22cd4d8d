// @ts-check
const {
  declaredBy,
  isFromSettingsFiles,
  OwnDomains,
  policyJudge,
  RISKS,
  risksOf,
} = require("pulumi-email-security/policy");

/**
 * The decisions of a team.
 *
 * @typedef {object} Team
 * @property {string[]} ownDomains
 * @property {import("pulumi-email-security/policy").RiskCode[]} neverAccepted
 * @property {RegExp} ticket
 * @property {import("pulumi-email-security/policy").Policy} policy
 *
 * @typedef {ReturnType<typeof declaredBy>[number]} Declared
 * @typedef {import("@pulumi/policy").ResourceValidationPolicy} ResourcePolicy
 */

/** A program has one text for the reason, the people and the end. `readComment` reads this format. */
const EXAMPLE = "CHG-12: Contract (owner: Dana Reyes, approved by: Tomas Lindqvist) until 2027-03-31";

/**
 * The policies of a team.
 *
 * @param {Team} team
 * @param {string} today the day (UTC) that decides whether an entry has expired: `2026-11-21`
 * @returns {ResourcePolicy[]}
 */
function policiesOf(team, today) {
  refuseUnheard(team);
  const own = new OwnDomains(team.ownDomains);
  const judge = policyJudge(team.policy, today);

  /** @type {(one: Declared) => import("pulumi-email-security/policy").RiskCode[]} */
  const risks = (one) => (one.kind === "vip" ? [] : risksOf(one, own).map(({ code }) => code));
  /** @type {(one: Declared) => boolean} */
  const isAccepted = (one) => one.kind === "entry" && one.acceptRisk !== undefined;

  return [
    policy("risky-entry", "mandatory", "What is risky is not declared without `acceptRisk`", (one) =>
      isAccepted(one) ? undefined : worded(risks(one)),
    ),
    policy("never-accepted", "mandatory", "Some risks are not for a program to accept", (one) =>
      isAccepted(one) ? worded(risks(one).filter((code) => team.neverAccepted.includes(code))) : undefined,
    ),
    policy("accepted-risk", "advisory", "What is risky and accepted is worth a second look", (one) =>
      isAccepted(one) ? worded(risks(one)) : undefined,
    ),
    policy("past-its-end", "advisory", "What has ended is taken away", (one, isFromFiles) => {
      const { expires = today } = readComment(one, team);
      return !isFromFiles && expires < today ? "was to end before today" : undefined;
    }),
    ...RULES.map(({ code, description, what, isInComment }) =>
      policy(code, "mandatory", description, (one, isFromFiles) => {
        // A settings file has its own fields for these, which the engine doesn't see.
        if (isInComment && isFromFiles) return undefined;
        return judge({ ...one, ...readComment(one, team) }).includes(code) ? what : undefined;
      }),
    ),
  ];
}

/**
 * Rejects unknown rules, because nothing would enforce them.
 *
 * @param {Team} team
 */
function refuseUnheard({ ownDomains, neverAccepted, ticket, policy, ...others }) {
  const unheard = [...Object.keys(others), ...neverAccepted.filter((code) => !Object.hasOwn(RISKS, code))];
  if (unheard.length > 0) throw new Error(`The team's rules have ${unheard.join(", ")}, which nobody reads.`);
}

/**
 * The meaning of each rule of a settings file's `policy` for a program.
 *
 * @type {{ code: import("pulumi-email-security/policy").PolicyCode, description: string, what: string, isInComment: boolean }[]}
 */
const RULES = [
  {
    code: "policy-comment",
    description: "A comment says why an entry or a VIP is there",
    what: "has no comment",
    isInComment: false,
  },
  {
    code: "policy-whole-domain",
    description: "One sender is often enough: allow the mailbox, or say in `acceptRisk` why all of it is meant",
    what: "allows a whole domain",
    isInComment: false,
  },
  {
    code: "policy-ticket",
    description: `The comment names a ticket, as in "${EXAMPLE}"`,
    what: "names no ticket",
    isInComment: true,
  },
  {
    code: "policy-owner",
    description: `The comment names who answers for it, as in "${EXAMPLE}"`,
    what: "names no owner",
    isInComment: true,
  },
  {
    code: "policy-two-people",
    description: `The comment names who answers for it, and somebody else who agreed, as in "${EXAMPLE}"`,
    what: "does not name two people",
    isInComment: true,
  },
  {
    code: "policy-expiry",
    description: `The comment says until when, as in "${EXAMPLE}"`,
    what: "does not say until when",
    isInComment: true,
  },
  {
    code: "policy-max-days",
    description: `The comment of an allow says until when, and not too far ahead, as in "${EXAMPLE}"`,
    what: "is allowed without end, or for too long",
    isInComment: true,
  },
];

/** Limits the reported violations: thousands of entries in a list usually break a rule in the same way. */
const SHOWN = 20;

/**
 * Creates a policy that checks one entry or VIP at a time. Policies get secrets in plain text, so a violation names only the
 * value, and never a comment or a reason.
 *
 * @param {string} name
 * @param {import("@pulumi/policy").EnforcementLevel} enforcementLevel
 * @param {string} description
 * @param {(one: Declared, isFromFiles: boolean) => string | undefined} tell returns the problem
 * @returns {ResourcePolicy}
 */
function policy(name, enforcementLevel, description, tell) {
  return {
    name,
    enforcementLevel,
    description,
    validateResource(resource, report) {
      const isFromFiles = isFromSettingsFiles(resource);
      const told = declaredBy(resource).flatMap((one) => {
        const what = tell(one, isFromFiles);
        return what === undefined ? [] : [`${one.key}: ${what}`];
      });
      for (const text of told.slice(0, SHOWN)) report(text);
      if (told.length > SHOWN) report(`and ${told.length - SHOWN} more`);
    },
  };
}

/**
 * Reads the people, the ticket and the end from a comment.
 *
 * @param {Declared} one
 * @param {Pick<Team, "ticket">} team
 * @returns {import("pulumi-email-security/policy").Accountable}
 */
function readComment({ comment = "" }, { ticket }) {
  return {
    ticket: comment.match(ticket)?.[0],
    owner: /\bowner: *([^,;()\n]+)/i.exec(comment)?.[1]?.trim() || undefined,
    approvedBy: /\bapproved by: *([^,;()\n]+)/i.exec(comment)?.[1]?.trim() || undefined,
    expires: /\buntil (\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))\b/i.exec(comment)?.[1],
  };
}

/** @param {import("pulumi-email-security/policy").RiskCode[]} codes */
function worded(codes) {
  return codes.length === 0 ? undefined : codes.map((code) => `${RISKS[code].title} (${code})`).join(", ");
}

module.exports = { policiesOf };

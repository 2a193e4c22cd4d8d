// @ts-check
const {
  listDeclaredItems,
  isFromSettingsFiles,
  OwnDomains,
  createPolicyCheck,
  RISKS,
  findEntryRisks,
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
 * @typedef {ReturnType<typeof listDeclaredItems>[number]} Declared
 * @typedef {import("@pulumi/policy").ResourceValidationPolicy} ResourcePolicy
 */

/** A program has one text for the reason, the people and the expiry. `readComment` reads this format. */
const EXAMPLE = "CHG-12: Contract (owner: Dana Reyes, approved by: Tomas Lindqvist) until 2027-03-31";

/**
 * The policies of a team.
 *
 * @param {Team} team
 * @param {string} today the day (UTC) that decides whether an entry has expired: `2026-11-21`
 * @returns {ResourcePolicy[]}
 */
function createPolicies(team, today) {
  assertKnownRules(team);
  const own = new OwnDomains(team.ownDomains);
  const judge = createPolicyCheck(team.policy, today);

  /** @type {(one: Declared) => import("pulumi-email-security/policy").RiskCode[]} */
  const risks = (item) => (item.kind === "vip" ? [] : findEntryRisks(item, own).map(({ code }) => code));
  /** @type {(one: Declared) => boolean} */
  const isAccepted = (item) => item.kind === "entry" && item.acceptRisk !== undefined;

  return [
    policy("risky-entry", "mandatory", "Risky entries require `acceptRisk`", (item) =>
      isAccepted(item) ? undefined : formatRisks(risks(item)),
    ),
    policy("never-accepted", "mandatory", "These risks can't be accepted by a program", (item) =>
      isAccepted(item) ? formatRisks(risks(item).filter((code) => team.neverAccepted.includes(code))) : undefined,
    ),
    policy("accepted-risk", "advisory", "Review entries with an accepted risk", (item) =>
      isAccepted(item) ? formatRisks(risks(item)) : undefined,
    ),
    policy("expired", "advisory", "Remove expired entries", (item, isFromFiles) => {
      const { expires = today } = readComment(item, team);
      return !isFromFiles && expires < today ? "has expired" : undefined;
    }),
    ...RULES.map(({ code, description, problem, isInComment }) =>
      policy(code, "mandatory", description, (item, isFromFiles) => {
        // A settings file has its own fields for these, which the engine doesn't see.
        if (isInComment && isFromFiles) return undefined;
        return judge({ ...item, ...readComment(item, team) }).includes(code) ? problem : undefined;
      }),
    ),
  ];
}

/**
 * Rejects unknown rules, because nothing would enforce them.
 *
 * @param {Team} team
 */
function assertKnownRules({ ownDomains, neverAccepted, ticket, policy, ...others }) {
  const unknown = [...Object.keys(others), ...neverAccepted.filter((code) => !Object.hasOwn(RISKS, code))];
  if (unknown.length > 0) throw new Error(`Unknown rules of the team: ${unknown.join(", ")}.`);
}

/**
 * The meaning of each rule of a settings file's `policy` for a program.
 *
 * @type {{ code: import("pulumi-email-security/policy").PolicyCode, description: string, problem: string, isInComment: boolean }[]}
 */
const RULES = [
  {
    code: "policy-comment",
    description: "Entries and VIPs require a comment that gives the reason",
    problem: "has no comment",
    isInComment: false,
  },
  {
    code: "policy-whole-domain",
    description: "An allow of a whole domain requires `acceptRisk` with a reason; allow a single mailbox instead",
    problem: "allows a whole domain",
    isInComment: false,
  },
  {
    code: "policy-ticket",
    description: `The comment must contain a ticket, for example "${EXAMPLE}"`,
    problem: "has no ticket",
    isInComment: true,
  },
  {
    code: "policy-owner",
    description: `The comment must contain an owner, for example "${EXAMPLE}"`,
    problem: "has no owner",
    isInComment: true,
  },
  {
    code: "policy-two-people",
    description: `The comment must contain an owner and a different approver, for example "${EXAMPLE}"`,
    problem: "has no approver other than its owner",
    isInComment: true,
  },
  {
    code: "policy-expiry",
    description: `The comment must contain an expiry date, for example "${EXAMPLE}"`,
    problem: "has no expiry date",
    isInComment: true,
  },
  {
    code: "policy-max-days",
    description: `The comment of an allow must contain an expiry date within the limit, for example "${EXAMPLE}"`,
    problem: "has no expiry date, or one beyond the limit",
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
 * @param {(one: Declared, isFromFiles: boolean) => string | undefined} findProblem returns the problem
 * @returns {ResourcePolicy}
 */
function policy(name, enforcementLevel, description, findProblem) {
  return {
    name,
    enforcementLevel,
    description,
    validateResource(resource, report) {
      const isFromFiles = isFromSettingsFiles(resource);
      const problems = listDeclaredItems(resource).flatMap((item) => {
        const problem = findProblem(item, isFromFiles);
        return problem === undefined ? [] : [`${item.key}: ${problem}`];
      });
      for (const text of problems.slice(0, SHOWN)) report(text);
      if (problems.length > SHOWN) report(`and ${problems.length - SHOWN} more`);
    },
  };
}

/**
 * Reads the people, the ticket and the expiry from a comment.
 *
 * @param {Declared} one
 * @param {Pick<Team, "ticket">} team
 * @returns {import("pulumi-email-security/policy").PolicyFields}
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
function formatRisks(codes) {
  return codes.length === 0 ? undefined : codes.map((code) => `${RISKS[code].title} (${code})`).join(", ");
}

module.exports = { createPolicies };

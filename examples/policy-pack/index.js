// @ts-check
const { PolicyPack } = require("@pulumi/policy");
const { createPolicies } = require("./policies.js");

/**
 * Your team's rules: write your own.
 *
 * @type {import("./policies.js").Team}
 */
const team = {
  // An entry for one of these, or for a look-alike, is risky, whatever the stack's configuration.
  ownDomains: ["acme.example"],
  // No `acceptRisk` accepts these.
  neverAccepted: ["allow-own-domain", "allow-public-suffix"],
  // The format of a ticket, anywhere in a comment.
  ticket: /\b(?:INC|CHG)-[0-9]+\b/,
  // The same keys as `policy` in a settings file.
  policy: {
    requireComment: ["allow", "deny", "vips"],
    requireTicket: ["allow"],
    requireTwoPeople: ["allow"],
    maxDays: 365,
    rejectWholeDomains: true,
  },
};

new PolicyPack("email-security", {
  policies: createPolicies(team, new Date().toISOString().slice(0, 10)),
});

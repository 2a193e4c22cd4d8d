// @ts-check
const { PolicyPack } = require("@pulumi/policy");
const { policiesOf } = require("./policies.js");

/**
 * The rules of your team: write your own.
 *
 * @type {import("./policies.js").Team}
 */
const team = {
  // An entry for one of these, or for what looks like one, is risky, whatever a stack's configuration says.
  ownDomains: ["acme.example"],
  // No `acceptRisk` makes these pass.
  neverAccepted: ["allow-own-domain", "allow-public-suffix"],
  // What a ticket looks like, wherever it stands in a comment.
  ticket: /\b(?:INC|CHG)-[0-9]+\b/,
  // As `policy` of a settings file.
  policy: {
    requireComment: ["allow", "deny", "vips"],
    requireTicket: ["allow"],
    requireTwoPeople: ["allow"],
    maxDays: 365,
    refuseWholeDomains: true,
  },
};

new PolicyPack("email-security", {
  policies: policiesOf(team, new Date().toISOString().slice(0, 10)),
});

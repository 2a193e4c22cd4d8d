import { globSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { ENVIRONMENT_VARIABLES } from "../../../provider/settings/variables";
import { DocsPage } from "../../support/docs-page";

const page = new DocsPage("reference/environment.md");

/** The tables of variables that the package itself reads or sets. */
const OWN = [
  "Tenant",
  "Enforced plan",
  "Permissions for a targets file",
  "Rollouts",
  "Variables of a health check",
  "Machine",
  "Internal variables",
];

const documentedNames = OWN.flatMap((heading) => page.rows(heading).map(([name = ""]) => name.replaceAll("`", "")));

/** Variables that Node.js reads, or whose names depend on the operating system. */
const IN_OTHER_WAYS = ["PATH", "TMPDIR"];

/** Names that occur in the sources for other reasons. */
const NOT_READ = new Set(["NODE_OPTIONS", "EMAIL_SECURITY_"]);

const sources = globSync("provider/**/*.ts", { exclude: ["provider/dist/**", "provider/node_modules/**"] })
  // Comments mention variables that other programs read.
  .map((file) => readFileSync(file, "utf8").replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, ""));

/** Patterns for reads by name, and for strings that look like variable names. */
const READ = [
  /(?<=\b(?:environment|env|process\.env)\[")[A-Z\d_]+(?="\])/g,
  /(?<=")(?:EMAIL_SECURITY|PULUMI)_[A-Z\d_]*[A-Z\d](?=")/g,
  /\bEMAIL_SECURITY_[A-Z\d_]*[A-Z\d](?=:)/g,
  // `const { NAME } = environment`, and a name that is read through a constant.
  /(?<=\{[^{}\n]*)\b[A-Z][A-Z\d_]+\b(?=[^{}\n]*\} = (?:environment|env|process\.env)\b)/g,
  /(?<=\bconst \w+ = ")[A-Z][A-Z\d]*_[A-Z\d_]+(?=";)/g,
  /(?<=")(?:HTTPS?|NO)_PROXY(?=")/g,
];

it("documents exactly the variables that the sources read or set", () => {
  const read = sources.flatMap((text) => READ.flatMap((pattern) => text.match(pattern) ?? []));
  const known = new Set([...read, ...IN_OTHER_WAYS].filter((name) => !NOT_READ.has(name)));
  expect(documentedNames.toSorted()).toEqual([...known].toSorted());
});

it("documents each EMAIL_SECURITY_ variable once", () => {
  const ours = ENVIRONMENT_VARIABLES.filter((name) => !name.startsWith("TEST_")).map(
    (name) => `EMAIL_SECURITY_${name}`,
  );
  const named = documentedNames.filter((name) => name.startsWith("EMAIL_SECURITY_"));
  expect(named.toSorted()).toEqual(ours.toSorted());
});

import type { Explanations } from "./explanation";

/** Errors of the sandbox, the service on this machine. */
export const SANDBOX_ERRORS = {
  ERR_SANDBOX_PORT: {
    means: "The sandbox can't listen on the port.",
    example: "70000 isn't a valid port: give a whole number from 0 to 65535.",
    causes: [
      "another program, or another sandbox, listens there",
      "an invalid port, or one that is reserved for the system",
    ],
    remedies: ["Give another port, or none: then any free one is taken."],
    next: "email-security sandbox",
  },
  ERR_SANDBOX_SCENARIO: {
    means: "The scenario is not known, or the data file was made with another.",
    example: 'There is no scenario "globex". The scenarios are: acme, empty.',
    causes: ["a slip in the name: it is `acme` or `empty`"],
    remedies: ["Fix the name; with an existing data file, leave it out or give another file."],
    next: "email-security sandbox --scenario acme",
  },
  ERR_SANDBOX_DATA_FILE: {
    means: "The file can't be the sandbox's data file. It was left as it is.",
    example:
      "The data file /home/ci/acme/sandbox.db is not a sandbox database; it was left untouched. Name a file that doesn't exist yet to have one made.",
    causes: [
      "its directory is missing, or can't be written",
      "the file isn't a database of a sandbox, or belongs to another release",
    ],
    remedies: ["Give another file: one that is not there is made."],
    next: "email-security sandbox --data sandbox.db",
  },
  ERR_SANDBOX_OPTION: {
    means: "An option of the sandbox can't be used.",
    example: "-1 isn't a valid number of threats: give a whole number from 0 to 1000000.",
    causes: ["a number that is out of range, or none"],
    remedies: ["Fix the option that the message names."],
    next: "email-security sandbox --help",
  },
  ERR_SANDBOX_TENANT: {
    means: "A program asked the sandbox for a tenant that it does not have.",
    example: "There is no tenant initech. The tenants are: acme, globex.",
    causes: ["a slip in the name, or another scenario than was meant"],
    remedies: ["Use one of the tenants that the message names."],
    next: "email-security sandbox",
  },
} as const satisfies Explanations;

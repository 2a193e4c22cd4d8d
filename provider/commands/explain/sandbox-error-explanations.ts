import type { Explanations } from "./explanation";

export const SANDBOX_ERRORS = {
  ERR_SANDBOX_PORT: {
    meaning: "The sandbox can't listen on the port.",
    example: "70000 isn't a valid port: specify a whole number from 0 to 65535.",
    causes: [
      "another program, or another sandbox, listens on it",
      "an invalid port, or one that is reserved for the system",
    ],
    remedies: ["Set another port, or none to use any free port."],
    nextCommand: "email-security sandbox",
  },
  ERR_SANDBOX_SCENARIO: {
    meaning: "The scenario is unknown, or differs from the data file's.",
    example: 'The scenario "globex" doesn\'t exist. The scenarios are: acme, empty.',
    causes: ["a typo in the name: it is `acme` or `empty`"],
    remedies: ["Fix the name. With an existing data file, leave it out or give another file."],
    nextCommand: "email-security sandbox --scenario acme",
  },
  ERR_SANDBOX_DATA_FILE: {
    meaning: "The file can't be used as the sandbox's data file. It is unchanged.",
    example:
      "The data file /home/ci/acme/sandbox.db isn't a sandbox database, and was not changed. To create a new one, specify a file that doesn't exist yet.",
    causes: [
      "its directory is missing or read-only",
      "the file isn't a sandbox database, or belongs to another release",
    ],
    remedies: ["Give another file; a missing file is created."],
    nextCommand: "email-security sandbox --data sandbox.db",
  },
  ERR_SANDBOX_OPTION: {
    meaning: "An option of the sandbox is invalid.",
    example: "-1 isn't a valid number of threats: specify a whole number from 0 to 1000000.",
    causes: ["a number that is out of range, or not a number"],
    remedies: ["Fix the option in the message."],
    nextCommand: "email-security sandbox --help",
  },
  ERR_SANDBOX_TENANT: {
    meaning: "A program requested a tenant that the sandbox doesn't have.",
    example: "The tenant initech doesn't exist. The tenants are: acme, globex.",
    causes: ["a typo in the name, or a different scenario than intended"],
    remedies: ["Use one of the tenants in the message."],
    nextCommand: "email-security sandbox",
  },
} as const satisfies Explanations;

import type { Explanations } from "./explanation";

/** Of what a resource does at its tenant. */
export const TENANT_ERRORS = {
  ERR_EXISTS: {
    means: "An entry is there already, with other arguments than declared. Nothing was changed.",
    example: "",
    causes: ["somebody made it in the console", "another stack or another resource declares the same value"],
    remedies: [
      "To take it over and change it: say `adopt: true`.",
      "To keep it as it is: declare it as the message shows it.",
      "To begin anew: remove it in the console.",
    ],
    next: "pulumi up --refresh",
  },
  ERR_IMPORT: {
    means: "What was to be imported is not there, is there several times, or can't be declared. Nothing was imported.",
    example: "",
    causes: [
      "an id or a value with a slip",
      "a value that stands on the list in several scopes",
      "the key is of another tenant",
    ],
    remedies: ["Name it as the message says: by its id, by its value with its scope, or a VIP by its mailbox.", "`email-security export` lists what is there."],
    next: "email-security export --to exported",
  },
  ERR_OTHER_TENANT: {
    means: "The key is of another tenant than the stack, or the files, are of, as it seems. Nothing was changed, at either.",
    example: "",
    causes: [
      "the key of another tenant is in the environment",
      "the stack is not the one that was meant",
      "the tenant was emptied on purpose, or its people have other domains now",
      "what is to be deleted belongs to another address or `Provider` than this run reaches",
    ],
    remedies: [
      "Check whose key it is, and which stack is selected.",
      "Where a new domain is the tenant's own, add it to `EMAIL_SECURITY_OWN_DOMAINS`.",
      "Where the tenant really was emptied, say so for one run: `EMAIL_SECURITY_ACCEPT_EMPTY_TENANT=true`.",
    ],
    next: "email-security doctor",
  },
  ERR_MOVED: {
    means: "An entry to delete is no longer where it was shown: somebody moved or changed it. It was left as it is.",
    example: "",
    causes: ["a colleague moved it to the other list since the last refresh"],
    remedies: ["Refresh, look at what is there now, and decide anew."],
    next: "pulumi up --refresh",
  },
  ERR_WRONG_LIST: {
    means: "The service put an entry on the other list than it was asked to. It was removed at once, or the message says that it could not be.",
    example: "",
    causes: ["a mistake of the service, or of something between"],
    remedies: ["Look at the entry in the service's console.", "Tell those who run the service what the message says."],
    next: "pulumi up --refresh",
  },
  ERR_NOT_APPLIED: {
    means: "The service answered success, and what it holds is not what it was asked for.",
    example: "",
    causes: ["a field that the service takes, and does not keep", "somebody else changes the same entry at the same time", "a mistake of the service"],
    remedies: ["Look at the entry in the service's console.", "Where it stays so, declare what the service keeps, or tell those who run it."],
    next: "pulumi up --refresh",
  },
  ERR_EXCLUDED: {
    means: "A mailbox was added, and is no VIP all the same: an exclusion of it still stands.",
    example: "",
    causes: ["the mailbox was removed from the VIPs before, in the console or by a run; the service writes an exclusion then"],
    remedies: ["Clear the exclusion in the service's console."],
    next: "pulumi up --refresh",
  },
  ERR_AUTO_DETECTED: {
    means: "The mailbox is a VIP by automatic detection, and the service stores no comment for it.",
    example: "",
    causes: ["a `comment` is declared for a VIP that the service found by itself"],
    remedies: ["Leave `comment` out of the declaration, and keep the reason in a comment of the program or file."],
    next: "pulumi up --refresh",
  },
  ERR_GUARD: {
    means: "A run would remove more of a list than it may. Nothing was removed.",
    example: "",
    causes: [
      "lines that went missing in a merge, or a file that is no longer included",
      "a large removal that is meant",
    ],
    remedies: [
      "Look at what would be removed.",
      "Where all of it is meant, say so for this one change: `confirmRemovals`, with the number that the message gives.",
    ],
    next: "pulumi preview --diff",
  },
  ERR_LIST_NOT_APPLIED: {
    means: "A part of a list could not be brought to what is declared. The rest was, and the state says which.",
    example: "",
    causes: ["one of the reasons below the message, each with a code of its own"],
    remedies: ["Look up the codes of the reasons, and mend them.", "Run again: a run does only what is left."],
    next: "pulumi up --refresh",
  },
  ERR_NOT_TRIED: {
    means: "A part of a list was left for the next run, since others had failed in a way that would go on.",
    example: "",
    causes: ["the service is down, refuses the key, or asks to wait; the failure that is quoted says which"],
    remedies: ["Look up the code of the failure that is quoted, and mend that."],
    next: "pulumi up --refresh",
  },
} as const satisfies Explanations;

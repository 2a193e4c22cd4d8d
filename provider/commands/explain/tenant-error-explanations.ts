import type { Explanations } from "./explanation";

export const TENANT_ERRORS = {
  ERR_EXISTS: {
    meaning: "An entry already exists with arguments that differ from the declaration. Nothing was changed.",
    example: [
      "evil.example can't be created on the deny list: an entry already exists, with a different comment.",
      '  there     evil.example on the deny list (id ade_7q2m, scope "global", comment "by hand", created by Dana Reyes (console) at 2026-11-21T08:00:00Z)',
      '  declared  evil.example on the deny list (scope "global", comment "INC-7")',
      "Nothing was changed. Set `adopt: true` to adopt it and change it as declared, or declare it with its existing values, or remove it in the console. If another resource of this stack declared it until now, refresh the stack first, so that it is changed in place.",
    ].join("\n"),
    causes: [
      "somebody created it in the console",
      "another stack or another resource declares the same value",
      "the value to deny is allowed at the tenant, in another verdict scope",
    ],
    remedies: [
      "To adopt and change it: set `adopt: true`.",
      "To keep it as it is: declare it as shown in the message.",
      "To start from scratch: remove it in the console.",
    ],
    nextCommand: "pulumi up --refresh",
  },
  ERR_IMPORT: {
    meaning: "The object to import is missing, exists several times, or can't be declared. Nothing was imported.",
    example:
      '"Lena Hartmann" doesn\'t identify a VIP: "Lena Hartmann" isn\'t a valid mailbox: it has no @. Import a VIP by its mailbox. Nothing was imported.',
    causes: [
      "a typo in an id or a value",
      "a value that is on the list in several scopes",
      "the `import` option of a resource refers to another entry or VIP than the resource declares",
      "the key belongs to another tenant",
    ],
    remedies: [
      "Specify it as the message says: by its id, by its value with its scope, or a VIP by its mailbox.",
      "`email-security export` lists what exists.",
    ],
    nextCommand: "email-security export --to exported",
  },
  ERR_OTHER_TENANT: {
    meaning:
      "The key seems to belong to a tenant other than that of the stack or the files. Neither tenant was changed.",
    example:
      "The API key seems to belong to a different tenant than intended: the tenant's own people have mailboxes of \"acme.example\", which aren't among the configured own domains (ownDomains). No file was written. Check which tenant the key belongs to. If it is the right tenant, add its domain to ownDomains.",
    causes: [
      "the environment contains the key of another tenant, for example because two tenants' keys were swapped",
      "the wrong stack is selected",
      "the tenant was emptied on purpose, or its people have other domains now",
      "an earlier rollout had a wrong key, so that the journal recorded another tenant",
      "the service gave all entries of the tenant new ids, for example after a restore",
      "a name in `tenants.yaml` now refers to another company, but still has the former one's stack",
      "the tenant to add is already in `tenants.yaml`, under another name",
      "the object to delete belongs to another address or `Provider` than this run uses",
    ],
    remedies: [
      "Check which tenant the key belongs to, and which stack is selected.",
      "If a name now refers to another tenant, give it a stack of its own: `stack` in `tenants.yaml`.",
      "If a new domain belongs to the tenant, add it to `EMAIL_SECURITY_OWN_DOMAINS`.",
      "If the tenant really was emptied, confirm it for one run: `EMAIL_SECURITY_ACCEPT_EMPTY_TENANT=true`.",
      "If the key is right and the journal recorded another tenant, list the tenants in the message for one rollout: `EMAIL_SECURITY_ACCEPT_EMPTY_TENANT=acme,globex`.",
    ],
    nextCommand: "email-security doctor",
  },
  ERR_SAME_TENANT: {
    meaning:
      "Several keys belong to the same tenant of the service, so what one tenant or `Provider` declares, another would remove. Nothing was changed.",
    example:
      'Different keys belong to the same tenant of the service: these tenants hold the same entries, with the same ids and creation dates, or the same people. Each would remove what the other declares. Nothing was changed. Check which tenant each key belongs to, and give each tenant its own key. If they are one tenant now, remove all but one from the targets file (`email-security tenant remove NAME`): "acme" (tenants.yaml:7; key from the environment variable ACME_KEY), "globex" (tenants.yaml:8; key from the environment variable GLOBEX_KEY)',
    causes: [
      "two companies merged, and their keys now belong to one tenant",
      "an old key, left over from a rotation, was stored for another tenant",
      "two `Provider`s of a program reach one tenant, and both declare whole lists or contradict each other",
    ],
    remedies: [
      "Check which tenant each key belongs to: run `email-security doctor` once with each key in EMAIL_SECURITY_API_KEY.",
      "Give each tenant its own key.",
      "If they are one tenant now, merge the settings files and remove the other tenant: `email-security tenant remove`.",
      "In a program, declare the settings of one tenant through one `Provider`.",
    ],
    nextCommand: "email-security doctor",
  },
  ERR_MOVED: {
    meaning: "An entry to delete has changed or moved since it was shown. It was not deleted.",
    example:
      'The entry to delete, evil.example on the allow list, was moved in the meantime: it is now evil.example on the deny list (id ade_7q2m, scope "global", comment "INC-7", created by Pulumi (ci) at 2026-11-21T08:00:00Z). The preview did not show its deletion, so nothing was deleted. Refresh, then run again.',
    causes: ["a colleague moved it to the other list since the last refresh"],
    remedies: ["Refresh, look at the current entries, and decide again."],
    nextCommand: "pulumi up --refresh",
  },
  ERR_WRONG_LIST: {
    meaning:
      "The service put an entry on the wrong list. It was removed immediately, unless the message says that this failed.",
    example:
      'The service was asked to create "evil.example" on the deny list and returned evil.example on the allow list (id ade_7q2m, scope "global", comment "INC-7", created by Pulumi (ci) at 2026-11-21T08:00:00Z). That entry was removed immediately; nothing is left behind.',
    causes: ["a bug in the service, or in a proxy"],
    remedies: ["Look at the entry in the service's console.", "Report the message to the operators of the service."],
    nextCommand: "pulumi up --refresh",
  },
  ERR_NOT_APPLIED: {
    meaning: "The service reported success, but its data doesn't match the request.",
    example:
      'The service reported success for the change of the comment of "evil.example", but its comment doesn\'t match the request: the entry is evil.example on the deny list (id ade_7q2m, scope "global", no comment, created by Pulumi (ci) at 2026-11-21T08:00:00Z). The service stores no comment. It does so on every run: declare the comment as the service stores it, or omit it, then run again with a refresh. If somebody else changed it in the meantime, running again is enough.',
    causes: [
      "a field that the service accepts, but doesn't keep, or keeps as a different text (white space and Unicode forms don't count)",
      "somebody else changes the same entry at the same time",
      "a bug in the service",
    ],
    remedies: [
      "Look at the entry in the service's console.",
      "If it persists, declare what the service keeps, or report it to the service's operators.",
    ],
    nextCommand: "pulumi up --refresh",
  },
  ERR_EXCLUDED: {
    meaning:
      "A mailbox was added, but the service's list didn't show it as a VIP: the list lags, or the mailbox is still excluded. The mailbox is in the stack's state.",
    example:
      "lena.hartmann@acme.example was added and the service reported success, but its list did not show it as a VIP for 3 s. Either the list lags behind (eventual consistency), or the mailbox is still excluded. The mailbox is in the stack's state. Run again in a minute; if it fails again, clear the exclusion in the service's console, then run again.",
    causes: [
      "the service's list lags behind its responses (eventual consistency)",
      "the mailbox was removed from the VIPs before, in the console or by a run, which creates an exclusion in the service",
    ],
    remedies: [
      "Run again in a minute: a run reads the list again, and adds nobody twice.",
      "If it fails again, clear the exclusion in the service's console.",
    ],
    nextCommand: "pulumi up --refresh",
  },
  ERR_NOT_LISTED: {
    meaning:
      "The service reports that a mailbox is already a VIP, but its list didn't show it. The mailbox is in the stack's state.",
    example:
      "The service reported that lena.hartmann@acme.example is already a VIP, but its list did not show it for 3 s. The list may lag behind (eventual consistency), or the address is an alias of another VIP. The mailbox is in the stack's state. Run again in a minute; if it fails again, check the mailbox in the service's console, and declare the address shown there.",
    causes: [
      "the service's list lags behind its responses (eventual consistency), for example after somebody else added the mailbox",
      "the address is an alias of a mailbox that is a VIP; a `VipList` then removes no VIP in the same run",
    ],
    remedies: [
      "Run again in a minute.",
      "If it fails again, look at the mailbox in the service's console, and declare the address that it shows.",
    ],
    nextCommand: "pulumi up --refresh",
  },
  ERR_VIP_ALIAS: {
    meaning:
      "A declared VIP is an alias: the service returned the primary mailbox. If the run made that mailbox a VIP, it is in the stack's state.",
    example:
      "ceo@acme.example can't be a VIP under this address: it is an alias, and the service made lena.hartmann@acme.example a VIP instead, which is now in the stack's state. Declare lena.hartmann@acme.example instead of ceo@acme.example, then run again.",
    causes: ["a declaration of a mailbox's alias; the service lists only the mailbox"],
    remedies: [
      "Declare the mailbox in the message instead of the alias, and run again: nothing is added twice.",
      "If the person shouldn't be a VIP, remove the alias from the program or file: the run then removes what it added.",
    ],
    nextCommand: "pulumi up",
  },
  ERR_AUTO_DETECTED: {
    meaning: "The mailbox is a VIP by automatic detection, and the service stores no comment for it.",
    example:
      "olivia.park@acme.example is a VIP by automatic detection, and the service stores no comment for it (it returned 404 for the comment, before and after the mailbox was added explicitly). It is still a VIP. Remove `comment` from the declaration, and keep the reason in a comment of the program.",
    causes: ["a `comment` is declared for an automatically detected VIP"],
    remedies: ["Leave `comment` out of the declaration, and keep the reason in a comment of the program or file."],
    nextCommand: "pulumi up --refresh",
  },
  ERR_GUARD: {
    meaning: "The removal guard stopped a run that would remove too much of a list. Nothing was removed.",
    example: [
      "entries would lose 59 of 59 entries (100 %), all of them. A list is never emptied without explicit confirmation.",
      "  - deny bad-0000.example",
      "  - deny bad-0001.example",
      "  - deny bad-0002.example",
      "  - deny bad-0003.example",
      "  - deny bad-0004.example",
      "  … and 54 more, among them 54 removed denies",
      "Nothing was changed. If this isn't intended, check the program's input: a truncated file, a filter, a wrong stack.",
      "If it is intended, set one of these for the list:",
      "  confirmRemovals: 59   allows it for this one run; remove it afterwards.",
      "  maxRemovalFraction: 1   allows every run to remove all of them.",
    ].join("\n"),
    causes: [
      "lines that were lost in a merge, or a file that is no longer included",
      "a large removal that is intended",
    ],
    remedies: [
      "Look at what would be removed.",
      "If all of it is intended, confirm this one change: `confirmRemovals`, with the number in the message.",
    ],
    nextCommand: "pulumi preview --diff",
  },
  ERR_LIST_NOT_APPLIED: {
    meaning: "Part of a list could not be changed as declared. The rest was changed, and the state records which.",
    example: [
      "1 of 3 entries could not be applied; the reasons are below. Everything else is applied, and the stack's state contains what the service reported. Fix the reported causes, then run again: a run does only the rest.",
      "deny bad-0001.example: POST /api/v1/settings/allow_deny_entries at https://mail-security.example returned 400: the value is on a list of ours. The service rejected the request as invalid; nothing was changed. [ERR_BAD_REQUEST]",
    ].join("\n"),
    causes: ["one of the reasons below the message, each with its own code"],
    remedies: ["Look up the codes of the causes, and fix them.", "Run again: a run does only the rest."],
    nextCommand: "pulumi up --refresh",
  },
  ERR_NOT_ATTEMPTED: {
    meaning: "Part of a list was left for the next run, because other changes had failed in a way that would persist.",
    example:
      "36 more (deny bad-0064.example, deny bad-0065.example, deny bad-0066.example, deny bad-0067.example, deny bad-0068.example, … and 31 more): not attempted, because others failed: POST /api/v1/settings/allow_deny_entries at https://mail-security.example returned 403: this key may only read. The service does not accept this API key; check the key, and that it belongs to this address and tenant.",
    causes: ["the service is down, rejects the key, or requests a wait; the quoted failure says which"],
    remedies: ["Look up the code of the quoted failure, and fix its cause."],
    nextCommand: "pulumi up --refresh",
  },
} as const satisfies Explanations;

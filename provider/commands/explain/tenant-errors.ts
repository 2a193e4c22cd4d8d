import type { Explanations } from "./explanation";

/** Errors of resource operations at the tenant. */
export const TENANT_ERRORS = {
  ERR_EXISTS: {
    means: "An entry is there already, with other arguments than declared. Nothing was changed.",
    example: [
      "evil.example can't be created on the deny list: there is an entry already, with another comment.",
      '  there     evil.example on the deny list (id ade_7q2m, scope "global", comment "by hand", made by Dana Reyes (console) at 2026-11-21T08:00:00Z)',
      '  declared  evil.example on the deny list (scope "global", comment "INC-7")',
      "Nothing was changed. Set `adopt: true` to adopt it and change it to what is declared, or declare it as it is, or remove it in the console. If another resource of this stack declared it until now, refresh the stack first: then it is changed in place.",
    ].join("\n"),
    causes: [
      "somebody made it in the console",
      "another stack or another resource declares the same value",
      "the tenant allows in another verdict scope what is to be denied",
    ],
    remedies: [
      "To adopt it and change it: set `adopt: true`.",
      "To keep it as it is: declare it as the message shows it.",
      "To start from scratch: remove it in the console.",
    ],
    next: "pulumi up --refresh",
  },
  ERR_IMPORT: {
    means: "The object to import is missing, exists several times, or can't be declared. Nothing was imported.",
    example:
      '"Lena Hartmann" names no VIP: "Lena Hartmann" is not a mailbox: it has no @. A VIP is imported by its mailbox. Nothing was imported.',
    causes: [
      "an id or a value with a slip",
      "a value that stands on the list in several scopes",
      "the `import` option of a resource names another entry or VIP than the resource declares",
      "the key is of another tenant",
    ],
    remedies: [
      "Name it as the message says: by its id, by its value with its scope, or a VIP by its mailbox.",
      "`email-security export` lists what is there.",
    ],
    next: "email-security export --to exported",
  },
  ERR_OTHER_TENANT: {
    means:
      "The key is of another tenant than the stack, or the files, are of, as it seems. Nothing was changed, at either.",
    example:
      'The key reaches another tenant than it is meant for, as it seems: its own people have mailboxes of "acme.example", and none of the own domains that are configured (ownDomains). No file was written. Check whose key it is. Where it is the right one, add its domain to ownDomains.',
    causes: [
      "the key of another tenant is in the environment, as where the keys of two tenants were swapped",
      "the stack is not the one that was meant",
      "the tenant was emptied on purpose, or its people have other domains now",
      "an earlier rollout had a wrong key, so that the journal remembers another tenant",
      "the service gave all entries of the tenant new ids, as after a restore",
      "a name in `tenants.yaml` means another company than before, and still has the stack of the former one",
      "a tenant that you add is in `tenants.yaml` already, under another name",
      "what is to be deleted belongs to another address or `Provider` than this run reaches",
    ],
    remedies: [
      "Check whose key it is, and which stack is selected.",
      "Where a name means another tenant than before, give it a stack of its own: `stack` in `tenants.yaml`.",
      "Where a new domain is the tenant's own, add it to `EMAIL_SECURITY_OWN_DOMAINS`.",
      "Where the tenant really was emptied, say so for one run: `EMAIL_SECURITY_ACCEPT_EMPTY_TENANT=true`.",
      "Where the key is right and the journal remembers another tenant, name the tenants of the message for one rollout: `EMAIL_SECURITY_ACCEPT_EMPTY_TENANT=acme,globex`.",
    ],
    next: "email-security doctor",
  },
  ERR_SAME_TENANT: {
    means:
      "Different keys open the same tenant of the service, so that what one tenant or `Provider` declares, another would remove. Nothing was changed.",
    example:
      'Different keys open the same tenant of the service: these tenants hold the same entries, with the same ids and creation dates, or the same people. Each would remove what the other declares. Nothing was changed. Check which tenant each key belongs to, and give each tenant its own key. If they are one tenant now, remove all but one from the targets file (`email-security tenant remove NAME`): "acme" (tenants.yaml:7; key from the environment variable ACME_KEY), "globex" (tenants.yaml:8; key from the environment variable GLOBEX_KEY)',
    causes: [
      "two companies merged, and their keys open one tenant now",
      "a second key that is left over from a rotation was stored for another tenant",
      "two `Provider`s of a program reach one tenant, and both declare whole lists or contradict each other",
    ],
    remedies: [
      "Check which tenant each key opens: `email-security doctor`.",
      "Give each tenant its own key.",
      "Where there is one tenant now, merge the settings files and remove the other tenant: `email-security tenant remove`.",
      "In a program, declare what one tenant holds through one `Provider`.",
    ],
    next: "email-security doctor",
  },
  ERR_MOVED: {
    means: "An entry to delete is no longer where it was shown: somebody moved or changed it. It was left as it is.",
    example:
      'The entry to delete, evil.example on the allow list, was moved in the meantime: there is evil.example on the deny list (id ade_7q2m, scope "global", comment "INC-7", made by Pulumi (ci) at 2026-11-21T08:00:00Z). Deleting it is not what was shown, so nothing was deleted. A refresh shows it; then run again.',
    causes: ["a colleague moved it to the other list since the last refresh"],
    remedies: ["Refresh, look at the current entries, and decide again."],
    next: "pulumi up --refresh",
  },
  ERR_WRONG_LIST: {
    means:
      "The service put an entry on the other list than it was asked to. It was removed at once, or the message says that it could not be.",
    example:
      'The service was asked to put "evil.example" on the deny list and answered with evil.example on the allow list (id ade_7q2m, scope "global", comment "INC-7", made by Pulumi (ci) at 2026-11-21T08:00:00Z). That entry was removed again at once; nothing is left behind.',
    causes: ["a mistake of the service, or of something between"],
    remedies: ["Look at the entry in the service's console.", "Tell those who run the service what the message says."],
    next: "pulumi up --refresh",
  },
  ERR_NOT_APPLIED: {
    means: "The service answered success, and what it holds is not what it was asked for.",
    example:
      'The service answered success to the change of comment of "evil.example", but comment is not as asked: there is evil.example on the deny list (id ade_7q2m, scope "global", no comment, made by Pulumi (ci) at 2026-11-21T08:00:00Z). The service keeps no comment. It does so on every run: declare the comment as the service keeps it, or none, then run again with a refresh. If somebody else changed it meanwhile, running again is enough.',
    causes: [
      "a field that the service takes, and does not keep, or keeps in another text (white space and Unicode forms don't count)",
      "somebody else changes the same entry at the same time",
      "a mistake of the service",
    ],
    remedies: [
      "Look at the entry in the service's console.",
      "Where it stays so, declare what the service keeps, or tell those who run it.",
    ],
    next: "pulumi up --refresh",
  },
  ERR_EXCLUDED: {
    means:
      "A mailbox was added, and the service's list did not show it as a VIP: the list lags, or an exclusion of the mailbox still stands. The mailbox is in the stack's state.",
    example:
      "lena.hartmann@acme.example was added and the service answered success, but its list did not show it as a VIP for 3 s. Either the list lags behind (eventual consistency), or an exclusion of the mailbox still stands. The mailbox is in the stack's state. Run again in a minute; if it fails again, clear the exclusion in the service's console, then run again.",
    causes: [
      "the service's list lags behind its answers (eventual consistency)",
      "the mailbox was removed from the VIPs before, in the console or by a run; the service writes an exclusion then",
    ],
    remedies: [
      "Run again in a minute: a run reads the list again, and adds nobody twice.",
      "If it fails again, clear the exclusion in the service's console.",
    ],
    next: "pulumi up --refresh",
  },
  ERR_NOT_LISTED: {
    means:
      "The service says that a mailbox is a VIP already, and its list did not show it. The mailbox is in the stack's state.",
    example:
      "The service answered that lena.hartmann@acme.example is a VIP already, but its list did not show it for 3 s. The list may lag behind (eventual consistency), or the address is an alias of another VIP. The mailbox is in the stack's state. Run again in a minute; if it fails again, look at the mailbox in the service's console, and declare the address that it shows.",
    causes: [
      "the service's list lags behind its answers (eventual consistency), as when somebody added the mailbox a moment ago",
      "the address is an alias, and its primary mailbox is a VIP; a `VipList` then removes no VIP in the same run",
    ],
    remedies: [
      "Run again in a minute.",
      "If it fails again, look at the mailbox in the service's console, and declare the address that it shows.",
    ],
    next: "pulumi up --refresh",
  },
  ERR_VIP_ALIAS: {
    means:
      "A declared VIP is an alias: the service answered with the primary mailbox. Where the run made that one a VIP, it is in the stack's state.",
    example:
      "ceo@acme.example can't be a VIP under this address: it is an alias, and the service made lena.hartmann@acme.example a VIP instead, which is now in the stack's state. Declare lena.hartmann@acme.example in place of ceo@acme.example, then run again.",
    causes: ["an alias of a mailbox is declared; the service lists the mailbox alone"],
    remedies: [
      "Declare the mailbox that the message names in place of the alias, and run again: nothing is added twice.",
      "If the person is not to be a VIP, take the alias out of the program or file: what this run added is removed then.",
    ],
    next: "pulumi up",
  },
  ERR_AUTO_DETECTED: {
    means: "The mailbox is a VIP by automatic detection, and the service stores no comment for it.",
    example:
      "olivia.park@acme.example is a VIP by automatic detection, and the service stores no comment for it (it answered 404 to the comment, before and after the mailbox was added explicitly). It is a VIP all the same. Leave `comment` out of the declaration, and keep the reason in a comment of the program.",
    causes: ["a `comment` is declared for a VIP that the service found by itself"],
    remedies: ["Leave `comment` out of the declaration, and keep the reason in a comment of the program or file."],
    next: "pulumi up --refresh",
  },
  ERR_GUARD: {
    means: "A run would remove more of a list than it may. Nothing was removed.",
    example: [
      "entries would lose 59 of 59 entries (100 %), all there are. A list is never emptied without being told so.",
      "  - deny bad-0000.example",
      "  - deny bad-0001.example",
      "  - deny bad-0002.example",
      "  - deny bad-0003.example",
      "  - deny bad-0004.example",
      "  … and 54 more, among them 54 removed denies",
      "Nothing was changed. If you did not mean this, look at what the program reads: a file cut short, a filter, a wrong stack.",
      "If you mean it, write one of these at the list:",
      "  confirmRemovals: 59   lets this one run do it; take it away afterwards.",
      "  maxRemovalFraction: 1   lets every run remove all there is.",
    ].join("\n"),
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
    example: [
      "1 of 3 entries could not be brought to what is declared; the reasons are below. Everything else is as declared, and the stack's state holds what the service said is there. Fix what the reasons name, then run again: a run does only what is left.",
      "deny bad-0001.example: POST /api/v1/settings/allow_deny_entries at https://mail-security.example answered 400: the value is on a list of ours. The service found the request invalid; nothing was changed. [ERR_BAD_REQUEST]",
    ].join("\n"),
    causes: ["one of the reasons below the message, each with a code of its own"],
    remedies: ["Look up the codes of the causes, and fix them.", "Run again: a run does only what is left."],
    next: "pulumi up --refresh",
  },
  ERR_NOT_ATTEMPTED: {
    means: "A part of a list was left for the next run, since others had failed in a way that would go on.",
    example:
      "36 more (deny bad-0064.example, deny bad-0065.example, deny bad-0066.example, deny bad-0067.example, deny bad-0068.example, … and 31 more): not tried, after others had failed: POST /api/v1/settings/allow_deny_entries at https://mail-security.example answered 403: this key may only read. The service does not accept this API key here; check the key, and that it belongs to this address and tenant.",
    causes: ["the service is down, refuses the key, or asks to wait; the failure that is quoted says which"],
    remedies: ["Look up the code of the failure that is quoted, and fix its cause."],
    next: "pulumi up --refresh",
  },
} as const satisfies Explanations;

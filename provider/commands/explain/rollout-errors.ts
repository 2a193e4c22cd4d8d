import type { Explanations } from "./explanation";

/** Errors of rollouts, which apply one change to many tenants. */
export const ROLLOUT_ERRORS = {
  ERR_ROLLOUT_TARGETS: {
    means: "The targets file has mistakes, each told at its line. Nothing was read or asked.",
    example: [
      "tenants.yaml can't be used: it has a mistake.",
      '  tenants.yaml:7:37 error: "stak" isn\'t a valid key here; did you mean stack? (unknown-key)',
    ].join("\n"),
    causes: ["a slip in a key or a value", "two tenants with the same stack"],
    remedies: ["Fix each line that is named; in an editor, the JSON schema shows the same."],
    next: "email-security rollout",
  },
  ERR_ROLLOUT_SELECTION: {
    means: "The selection is of nobody, or can't be read.",
    example: 'No tenant is called "amce"; did you mean "acme"?',
    causes: ["a slip in a tenant's name or a label", "conditions that no tenant meets at once"],
    remedies: ["Fix the value of `--only` or `--label`; the message names the tenants and labels that exist."],
    next: "email-security rollout --only NAME",
  },
  ERR_ROLLOUT_WAVES: {
    means: "A tenant is in no wave, so it would never be changed. Nothing was planned.",
    example: [
      "A tenant is in no wave. Fix the labels, or end `waves` with one that has neither `match` nor `take`, which takes all that are left:",
      '  tenants.yaml:8: "globex" (no labels)',
    ].join("\n"),
    causes: ["a new tenant whose labels no wave matches", "a wave that takes only some, and none that takes the rest"],
    remedies: [
      "Give the tenant a label that a wave matches; or add a last wave without `match`, which takes the rest.",
    ],
    next: "email-security rollout",
  },
  ERR_ROLLOUT_NOT_ALLOWED: {
    means:
      "The targets file, or the journal, asks for an address, a key's source or a command that this run's environment does not allow. Nothing was run, read or sent.",
    example: [
      'This run does not allow what "tenants.yaml" asks for. Nothing was run, and no key was read or sent.',
      '  the environment variable AWS_SECRET_ACCESS_KEY, for "acme" (tenants.yaml:7)',
      "A change of that file must not decide this. If all of this is intended, set it where the run starts:",
      "  EMAIL_SECURITY_KEY_VARIABLES=AWS_SECRET_ACCESS_KEY",
    ].join("\n"),
    causes: [
      "a new service, key file or command in the targets file",
      "a CI job or worker that lacks the setting",
      "somebody who may change the targets file, and is not to choose where keys are sent",
    ],
    remedies: [
      "Look at what is asked for. Where all of it is meant, set what the message names in the environment of the run, not in the repository.",
    ],
    next: "email-security rollout",
  },
  ERR_ROLLOUT_KEY: {
    means: "A tenant's key can't be had from where the targets file says that it is.",
    example:
      "tenants.yaml:1: the key of \"acme\" can't be used: the environment variable ACME_KEY is not set. Set it to the tenant's API key, or name another source under `key`.",
    causes: [
      "the variable is not set where this runs",
      "the file is not there, or is empty",
      "the command failed, or took too long",
    ],
    remedies: ["Make the key readable there, for the process that changes the tenants."],
    next: "email-security rollout resume",
  },
  ERR_ROLLOUT_SAME_KEY: {
    means:
      "Several tenants have the same key, so they would be one tenant of the service, changed several times. Nothing was planned.",
    example: [
      "The same key opens several tenants, so that they are one tenant of the service, also where the address is written otherwise, and what one declares the other would remove. Give each its own key:",
      '  "acme" (tenants.yaml:7), "globex" (tenants.yaml:8)',
    ].join("\n"),
    causes: ["a key that was copied from one tenant's secret to another's", "two names for one tenant"],
    remedies: ["Give each tenant the key of its own, or take one of the two out of the targets file."],
    next: "email-security rollout",
  },
  ERR_ROLLOUT_PLAN: {
    means: "More tenants can't be planned than are tolerated. Nothing was changed.",
    example: [
      "1 tenant can't be planned (t0): GET /api/v1/settings/vip_employees at https://mail-security.example answered 401: the X-Api-Key header is missing or holds no valid API key. The service does not accept this API key here; check the key, and that it belongs to this address and tenant.",
      "That is more than the tolerance of all allows, so the planning ended there: 2 of 3 tenants were not planned. Nothing was changed.",
      "Fix the cause, or leave these tenants out with --except; then plan again: `email-security rollout tenants.yaml`",
    ].join("\n"),
    causes: ["the reasons that are told above it, each of one tenant and with a code of its own"],
    remedies: ["Fix these causes; or leave the tenants out with `--only` or `--label`."],
    next: "email-security rollout",
  },
  ERR_ROLLOUT_DIGEST: {
    means: "The plan is not the one that was reviewed. Nothing was changed.",
    example:
      "this is not what was reviewed: the plan's digest is r2-5d3c0f6a now. The targets, the settings files or a tenant changed since. Nothing was changed.",
    causes: [
      "a settings file, the targets file or a tenant changed since",
      "another `--only`, `--except`, `--label` or `--max-concurrent` than at the review",
      "another day: an entry has expired",
    ],
    remedies: ["Give the same options as at the review; or look at the plan as it is now, and have that reviewed."],
    next: "email-security rollout",
  },
  ERR_ROLLOUT_BUSY: {
    means: "Another run is at the rollout, or another rollout of the same tenants is not through. Nothing was changed.",
    example:
      "Another run is at the rollout 20261121-0800-7f3a91; `email-security rollout status 20261121-0800-7f3a91` shows how far it is.",
    causes: [
      "a rollout that waits at a gate, was stopped or was interrupted",
      "a run in another terminal, CI job or clone",
      "another state backend than the rollout was planned with",
    ],
    remedies: ["Resume the one that is named, roll it back, or abandon it: the message has the commands."],
    next: "email-security rollout status",
  },
  ERR_ROLLOUT_NOT_FOUND: {
    means: "There is no such rollout, wave or revision, or none that the command is for.",
    example: 'There is no rollout "20261121" in .email-security/rollouts.db; the journal has none.',
    causes: [
      "a slip in the id",
      "another journal than the rollout's: another directory, or another `--database`",
      "the rollout is through, or was rolled back already",
    ],
    remedies: ["List what there is, and name the one that is meant."],
    next: "email-security rollout status --list",
  },
  ERR_ROLLOUT_JOURNAL: {
    means: "The rollout's journal, a file, can't be used, or not any more.",
    example:
      "\"rollouts.db\" can't be used as a rollout's journal: it is empty, and this program never leaves an empty one. If there were rollouts, the journal's records are lost with it, such as the gates that wait for a person. Restore a copy of it. Or, if there is no copy, remove the empty file, and a new journal is made.",
    causes: [
      "the disk is full, or the file is read-only",
      "the file isn't a journal, or it was replaced, emptied or damaged",
      "the file that is named is not there, and who only reads makes none",
      "another process holds it for minutes",
    ],
    remedies: [
      "Do what the message says about the file.",
      "Restore a copy where it is lost, together with the files next to it (`-wal`).",
    ],
    next: "email-security rollout resume",
  },
  ERR_ROLLOUT_DATABASE: {
    means: "The rollout's journal, a PostgreSQL database, can't be reached or used.",
    example:
      "PostgreSQL at mail-security.example/rollouts, as rollouts: connecting failed: connect ECONNREFUSED mail-security.example. See whether the server runs and can be reached from here.",
    causes: [
      "the database is down, or can't be reached from here",
      "a wrong user or password",
      "a certificate that does not verify",
    ],
    remedies: ["Fix what the message names, in `EMAIL_SECURITY_DATABASE`, `PGPASSWORD` or the network."],
    next: "email-security rollout status",
  },
  ERR_ROLLOUT_LOCKS: {
    means: "The locks of rollouts next to the stacks can't be read or written.",
    example: [
      'The locks of rollouts next to the stacks (the project email-security-rollouts in "file:///home/ci/acme/nowhere") can\'t be read:',
      'error: unable to open state directory "file:///home/ci/acme/nowhere": stat /home/ci/acme/nowhere: no such file or directory',
      "Mount or restore the directory, with its contents, or fix PULUMI_BACKEND_URL.",
    ].join("\n"),
    causes: [
      "a state backend that can't be reached, or may not be written",
      "a bucket for which the run has no credentials, or that is not there",
      "a passphrase that is not the one of the state",
    ],
    remedies: [
      "Fix what Pulumi's message names: `PULUMI_BACKEND_URL`, its credentials, or `PULUMI_CONFIG_PASSPHRASE`.",
    ],
    next: "pulumi stack ls --all",
  },
  ERR_ROLLOUT_JOURNAL_OLD: {
    means:
      "The journal is an older copy: according to the lock next to the stacks, the rollout has come further. Nothing was changed.",
    example:
      "The rollout 20261121-0800-7f3a91 has no lock next to the stacks: it is through or was abandoned, and this journal is an older copy; or an earlier release began it. Nothing was changed. Abandon it (`email-security rollout abandon 20261121-0800-7f3a91`) and begin a new one: `email-security rollout tenants.yaml`",
    causes: ["a journal that was restored from a backup", "a copy of the directory, or a cache of CI that is older"],
    remedies: [
      "Bring back the newer journal, which the message names, and go on there.",
      "Where it is lost, abandon the rollout and begin a new one.",
    ],
    next: "email-security rollout abandon ID",
  },
  ERR_ROLLOUT_SKIPPED: {
    means: "A tenant that is asked for is skipped: a person had all rollouts go on without it. Nothing was changed.",
    example:
      'The tenant is skipped: "t1", since 2026-11-21 03:12 UTC by dana@build-7 (its service is down, OPS-412). Nothing was changed. To unskip it: `email-security rollout unskip t1`',
    causes: [
      "a tenant that is named by `--only`, and was skipped by `rollout skip`",
      "a selection of which nothing is left without those that are skipped",
    ],
    remedies: ["See who skipped it and why: `email-security rollout skip`.", "Once the reason is gone, unskip it."],
    next: "email-security rollout unskip TENANT",
  },
  ERR_ROLLED_BACK: {
    means: "The plan would do again what a rollback undid. Nothing was changed.",
    example:
      "20261121-0800-7f3a91 rolled back what this plan would do again (deny wrong.example; see above). Nothing was changed. Take it out of the settings files; or, if it is meant after all, ask for it by name: --yes --plan-digest r2-5d3c0f6a",
    causes: ["the settings files still declare what was rolled back"],
    remedies: [
      "Take it out of the settings files: `git revert` of the commits that the rollback named.",
      "Where it is meant after all, ask for it by the plan's digest.",
    ],
    next: "email-security rollout --yes --plan-digest DIGEST",
  },
  ERR_ROLLOUT_NOT_KNOWN: {
    means: "The tenant's earlier settings are unknown, or can't be declared. Nothing was changed.",
    example:
      'The journal does not say what the rollout 20261121-0800-7f3a91 did to "acme". Nothing was changed. Name a revision of git to go back to (--to REVISION), or leave the tenant out (--except).',
    causes: [
      "a later rollout has changed the same tenants",
      "a tenant that failed before its change was written down",
      "a rollout that was pruned: what its files and plans said is gone",
      "what a tenant held can't be said in a settings file",
    ],
    remedies: [
      "Roll the later rollout back first; or name a revision to go back to (`--to`); or leave the tenant out (`--except`).",
    ],
    next: "email-security rollout rollback --to REVISION",
  },
  ERR_ROLLOUT_NOT_AS_DECLARED: {
    means: "Everything was written, and the tenant is not as declared all the same.",
    example: [
      'Everything was written, and "t0" is not as declared:',
      '  "evil0.example" is not there as declared',
      '  "evil1.example" is not there as declared',
      '  "evil2.example" is not there as declared',
      '  "only-t0.example" is not there as declared',
    ].join("\n"),
    causes: [
      "somebody else, or another program, changes the tenant at the same time",
      "the service does not keep what it is given",
      "the service's lists lag behind what was written (eventual consistency), by more than 3 s",
    ],
    remedies: ["See who else changes this tenant: the lines below the message name the entries."],
    next: "email-security rollout resume",
  },
  ERR_ROLLOUT_STOPPED: {
    means: "The run was stopped. Its completed changes stay.",
    example: "The planning was stopped. Nothing was changed.",
    causes: ["Ctrl-C, or the end of a CI job"],
    remedies: [
      "Nothing needs to be fixed: the next run does what is left. Tenants that were still being planned are planned again.",
    ],
    next: "email-security rollout resume",
  },
  ERR_TEMPORARY_DIRECTORY: {
    means: "The directory for temporary files can't be used.",
    example:
      "The directory for temporary files, \"/home/ci/acme/nowhere\", can't be used: it, or its directory, is missing. Give another place, or restore it. TMPDIR names another. (ENOENT: no such file or directory, mkdtemp '/home/ci/acme/nowhere/email-security-rollout')",
    causes: ["its disk is full", "`TMPDIR` names a directory that is missing, or can't be written"],
    remedies: ["Make room there, or name another directory by `TMPDIR`."],
    next: "email-security rollout resume",
  },
} as const satisfies Explanations;

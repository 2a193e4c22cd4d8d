import type { Explanations } from "./explanation";

export const ROLLOUT_ERRORS = {
  ERR_ROLLOUT_TARGETS: {
    meaning:
      "The targets file has errors; each is reported with its line. Nothing else was read, and no request was sent.",
    example: [
      "tenants.yaml is invalid: it has a mistake.",
      '  tenants.yaml:7:37 error: "stak" isn\'t a valid key here; did you mean stack? (unknown-key)',
    ].join("\n"),
    causes: ["a typo in a key or a value", "two tenants with the same stack"],
    remedies: ["Fix each reported line. In an editor, the JSON schema shows the same errors."],
    nextCommand: "email-security rollout",
  },
  ERR_ROLLOUT_SELECTION: {
    meaning: "The selection matches no tenant, or is invalid.",
    example: 'No tenant is called "amce"; did you mean "acme"?',
    causes: ["a typo in a tenant's name or in a label", "conditions that no tenant meets all of"],
    remedies: ["Fix the value of `--only` or `--label`; the message lists the existing tenants and labels."],
    nextCommand: "email-security rollout --only NAME",
  },
  ERR_ROLLOUT_WAVES: {
    meaning: "A tenant is in no wave, so it would never be changed. Nothing was planned.",
    example: [
      "A tenant is in no wave. Fix the labels, or end `waves` with a wave without `match` and `limit`, which includes all remaining tenants:",
      '  tenants.yaml:8: "globex" (no labels)',
    ].join("\n"),
    causes: [
      "a new tenant whose labels no wave matches",
      "a wave that takes only some tenants, and no wave that takes the rest",
    ],
    remedies: [
      "Give the tenant a label that a wave matches, or add a last wave without `match`, which takes the rest.",
    ],
    nextCommand: "email-security rollout",
  },
  ERR_ROLLOUT_NOT_ALLOWED: {
    meaning:
      "The targets file or the journal contains an address, a key source or a command that this run's environment doesn't allow. Nothing was run, read or sent.",
    example: [
      'This run does not allow the following, which "tenants.yaml" requires. Nothing was run, and no key was read or sent.',
      '  the environment variable AWS_SECRET_ACCESS_KEY, for "acme" (tenants.yaml:7)',
      "A change to that file must not decide this. If all of this is intended, set it where the run starts:",
      "  EMAIL_SECURITY_KEY_VARIABLES=AWS_SECRET_ACCESS_KEY",
    ].join("\n"),
    causes: [
      "a new service, key file or command in the targets file",
      "a CI job or worker without the setting",
      "a change to the targets file by somebody who must not decide where keys are sent",
    ],
    remedies: [
      "Look at what the file contains. If all of it is intended, set the variable of the message in the environment of the run, not in the repository.",
    ],
    nextCommand: "email-security rollout",
  },
  ERR_ROLLOUT_KEY: {
    meaning: "A tenant's key can't be read from the source that the targets file specifies.",
    example:
      "tenants.yaml:1: the key of \"acme\" can't be used: the environment variable ACME_KEY is not set. Set it to the tenant's API key, or specify another source under `key`.",
    causes: [
      "the variable is not set where the rollout runs",
      "the file is missing or empty",
      "the command failed, or took too long",
    ],
    remedies: ["Make the key readable there for the process that changes the tenants."],
    nextCommand: "email-security rollout resume",
  },
  ERR_ROLLOUT_SAME_KEY: {
    meaning:
      "Several tenants have the same key. So they are the same tenant of the service, and the rollout would change it several times. Nothing was planned.",
    example: [
      "Several tenants have the same key, so they are one tenant of the service, even if their addresses are written differently. Each would remove what the other declares. Give each its own key:",
      '  "acme" (tenants.yaml:7), "globex" (tenants.yaml:8)',
    ].join("\n"),
    causes: ["a key that was copied from one tenant's secret to another's", "two names for one tenant"],
    remedies: ["Give each tenant its own key, or remove one of the two from the targets file."],
    nextCommand: "email-security rollout",
  },
  ERR_ROLLOUT_PLAN: {
    meaning: "More tenants can't be planned than the tolerance allows. Nothing was changed.",
    example: [
      "1 tenant can't be planned (t0): GET /api/v1/settings/vip_employees at https://mail-security.example returned 401: the X-Api-Key header is missing or does not contain a valid API key. The service does not accept this API key; check the key, and that it belongs to this address and tenant.",
      "That is more than the tolerance of all allows, so planning ended: 2 of 3 tenants were not planned. Nothing was changed.",
      "Fix the cause, or leave these tenants out with --except, and plan again: `email-security rollout tenants.yaml`",
    ].join("\n"),
    causes: ["the reasons above the message, one for each tenant, each with its own code"],
    remedies: ["Fix these causes, or leave the tenants out with `--only` or `--label`."],
    nextCommand: "email-security rollout",
  },
  ERR_ROLLOUT_DIGEST: {
    meaning: "The plan differs from the reviewed one. Nothing was changed.",
    example:
      "the plan differs from the reviewed one: its digest is now r2-5d3c0f6a. The targets, the settings files or a tenant changed since the review. Nothing was changed.",
    causes: [
      "a settings file, the targets file or a tenant changed after the review",
      "other values of `--only`, `--except`, `--label` or `--max-concurrent` than for the review",
      "a different day: an entry has expired",
    ],
    remedies: ["Use the same options as for the review, or have the current plan reviewed."],
    nextCommand: "email-security rollout",
  },
  ERR_ROLLOUT_BUSY: {
    meaning:
      "Another run is working on the rollout, or another rollout of the same tenants isn't finished. Nothing was changed.",
    example:
      "Another run is executing the rollout 20261121-0800-7f3a91; `email-security rollout status 20261121-0800-7f3a91` shows its progress.",
    causes: [
      "a rollout that waits at a gate, was stopped or was interrupted",
      "a run in another terminal, CI job or clone",
      "a state backend other than the one that the rollout was planned with",
    ],
    remedies: ["Resume the rollout in the message, roll it back, or abandon it: the message has the commands."],
    nextCommand: "email-security rollout status",
  },
  ERR_ROLLOUT_NOT_FOUND: {
    meaning: "The rollout, wave or revision doesn't exist, or the command doesn't apply to it.",
    example: 'There is no rollout "20261121" in .email-security/rollouts.db; the journal is empty.',
    causes: [
      "a typo in the id",
      "a journal other than the rollout's: another directory, or another `--database`",
      "the rollout is finished, or has already been rolled back",
    ],
    remedies: ["List the existing rollouts, and give the right id."],
    nextCommand: "email-security rollout status --list",
  },
  ERR_ROLLOUT_JOURNAL: {
    meaning: "The rollout's journal file can't be used.",
    example:
      "\"rollouts.db\" can't be used as a rollout's journal: it is empty, and a valid journal never is. If there were rollouts, their records are lost, such as pending approvals. Restore a backup. If there is no backup, remove the empty file to create a new journal.",
    causes: [
      "the disk is full, or the file is read-only",
      "the file isn't a journal, or it was replaced, emptied or damaged",
      "the given file doesn't exist, and a command that only reads doesn't create one",
      "another process has locked it for minutes",
    ],
    remedies: [
      "Do what the message says about the file.",
      "If the file is lost, restore a copy, together with the files next to it (`-wal`).",
    ],
    nextCommand: "email-security rollout resume",
  },
  ERR_ROLLOUT_DATABASE: {
    meaning: "The rollout's journal, a PostgreSQL database, can't be reached or used.",
    example:
      "PostgreSQL at mail-security.example/rollouts, as rollouts: connecting failed: connect ECONNREFUSED mail-security.example. Check that the server is running and reachable from here.",
    causes: [
      "the database is down, or can't be reached from here",
      "a wrong user or password",
      "a certificate that can't be verified",
    ],
    remedies: ["Fix the problem in the message, in `EMAIL_SECURITY_DATABASE`, `PGPASSWORD` or the network."],
    nextCommand: "email-security rollout status",
  },
  ERR_ROLLOUT_LOCKS: {
    meaning: "The rollout locks, which are stored next to the stacks, can't be read or written.",
    example: [
      'The locks of rollouts next to the stacks (the project email-security-rollouts in "file:///home/ci/acme/nowhere") can\'t be read:',
      'error: unable to open state directory "file:///home/ci/acme/nowhere": stat /home/ci/acme/nowhere: no such file or directory',
      "Mount or restore the directory, with its contents, or fix PULUMI_BACKEND_URL.",
    ].join("\n"),
    causes: [
      "a state backend that can't be reached or is read-only for this run",
      "a bucket that doesn't exist, or for which the run has no credentials",
      "a passphrase that doesn't match the state",
    ],
    remedies: [
      "Fix the problem in Pulumi's message: `PULUMI_BACKEND_URL`, its credentials, or `PULUMI_CONFIG_PASSPHRASE`.",
    ],
    nextCommand: "pulumi stack ls --all",
  },
  ERR_ROLLOUT_JOURNAL_OLD: {
    meaning:
      "The journal is an older copy: according to the lock next to the stacks, the rollout has progressed further. Nothing was changed.",
    example:
      "The rollout 20261121-0800-7f3a91 has no lock next to the stacks: it is finished or was abandoned, and this journal is an older copy; or an earlier release started it. Nothing was changed. Abandon it (`email-security rollout abandon 20261121-0800-7f3a91`) and start a new one: `email-security rollout tenants.yaml`",
    causes: ["a journal that was restored from a backup", "an older copy of the directory or of a CI cache"],
    remedies: [
      "Restore the newer journal, which the message mentions, and resume there.",
      "If it is lost, abandon the rollout and start a new one.",
    ],
    nextCommand: "email-security rollout abandon ID",
  },
  ERR_ROLLOUT_SKIPPED: {
    meaning: "A requested tenant is skipped: somebody excluded it from all rollouts. Nothing was changed.",
    example:
      'The tenant is skipped: "t1", since 2026-11-21 03:12 UTC by dana@build-7 (its service is down, OPS-412). Nothing was changed. To unskip it: `email-security rollout unskip t1`',
    causes: [
      "a tenant in `--only` that was skipped by `rollout skip`",
      "a selection that contains only skipped tenants",
    ],
    remedies: [
      "Find out who skipped it and why: `email-security rollout skip`.",
      "Once the reason no longer applies, unskip it.",
    ],
    nextCommand: "email-security rollout unskip TENANT",
  },
  ERR_ROLLED_BACK: {
    meaning: "The plan would repeat changes that a rollback undid. Nothing was changed.",
    example:
      "20261121-0800-7f3a91 rolled back changes that this plan would repeat (deny wrong.example; see above). Nothing was changed. Remove them from the settings files. If they are intended after all, confirm them: --yes --plan-digest r2-5d3c0f6a",
    causes: ["the settings files still declare what was rolled back"],
    remedies: [
      "Remove it from the settings files: `git revert` the commits that the rollback listed.",
      "If it is intended after all, confirm it with the plan's digest.",
    ],
    nextCommand: "email-security rollout --yes --plan-digest DIGEST",
  },
  ERR_ROLLBACK_UNAVAILABLE: {
    meaning: "The tenant's earlier settings are unknown, or can't be declared. Nothing was changed.",
    example:
      'The journal doesn\'t record what the rollout 20261121-0800-7f3a91 did to "acme". Nothing was changed. Specify a git revision to return to (--to REVISION), or leave the tenant out (--except).',
    causes: [
      "a later rollout has changed the same tenants",
      "a tenant that failed before its change was recorded",
      "a rollout that was pruned, so that its files and plans are gone",
      "settings of a tenant that a settings file can't declare",
    ],
    remedies: [
      "Roll back the later rollout first, give a revision to return to (`--to`), or leave the tenant out (`--except`).",
    ],
    nextCommand: "email-security rollout rollback --to REVISION",
  },
  ERR_ROLLOUT_PRUNED: {
    meaning: "The rollout was pruned, so the journal no longer has its files and plans. Nothing was changed.",
    example:
      "The rollout 20261121-0800-7f3a91 was pruned, and its files with the declarations were removed. To see what it changed: `email-security rollout show 20261121-0800-7f3a91`",
    causes: ["`rollout prune` removed the files and plans of old rollouts"],
    remedies: [
      "See the changes of the rollout with `rollout show`; they stay in the journal. To change tenants, start a new rollout.",
    ],
    nextCommand: "email-security rollout show ID",
  },
  ERR_ROLLOUT_NOT_CONVERGED: {
    meaning: "Everything was written, but the tenant doesn't match its files.",
    example: [
      'Everything was written, but "t0" doesn\'t match its files:',
      '  "evil0.example" is missing',
      '  "evil1.example" is missing',
      '  "evil2.example" is missing',
      '  "only-t0.example" is missing',
    ].join("\n"),
    causes: [
      "somebody else, or another program, changes the tenant at the same time",
      "the service doesn't keep the values that it receives",
      "the service's lists lag behind writes (eventual consistency) by more than 3 s",
    ],
    remedies: ["Find out who else changes this tenant: the lines below the message list the entries."],
    nextCommand: "email-security rollout resume",
  },
  ERR_ROLLOUT_STOPPED: {
    meaning: "The run was stopped. Its completed changes stay.",
    example: "Planning was stopped. Nothing was changed.",
    causes: ["Ctrl-C, or a cancelled CI job"],
    remedies: [
      "You don't need to fix anything: the next run does the rest. Tenants that weren't planned yet are planned again.",
    ],
    nextCommand: "email-security rollout resume",
  },
  ERR_TEMPORARY_DIRECTORY: {
    meaning: "The directory for temporary files can't be used.",
    example:
      "The directory for temporary files, \"/home/ci/acme/nowhere\", can't be used: it, or its directory, is missing. Restore it, or use another path. To use another, set TMPDIR. (ENOENT: no such file or directory, mkdtemp '/home/ci/acme/nowhere/email-security-rollout')",
    causes: ["its disk is full", "`TMPDIR` is set to a directory that is missing or read-only"],
    remedies: ["Free space there, or set `TMPDIR` to another directory."],
    nextCommand: "email-security rollout resume",
  },
} as const satisfies Explanations;

import type { Explanations } from "./explanation";

/** Errors of settings files, tables, plans and exports. */
export const FILE_ERRORS = {
  ERR_SETTINGS_FILE: {
    means: "A settings file has mistakes, each told at its line. Nothing was asked of the service.",
    example: [
      "settings.yaml can't be used: it has 2 mistakes.",
      '  settings.yaml:3:5 error: value "https://evil.example/login" is a URL, not a domain, an IP address or a mailbox; write "evil.example" (invalid-value)',
      '  settings.yaml:4:1 error: "vip" isn\'t a valid key here; did you mean vips? (unknown-key)',
    ].join("\n"),
    causes: [
      "a slip in a key or a value",
      "a value that is declared twice, differently",
      "a file that is to be included and is not there",
    ],
    remedies: ["Fix each line that is named; `lint` shows the same, and in an editor the JSON schema does."],
    next: "email-security lint",
  },
  ERR_SETTINGS_EDIT: {
    means: "A settings file, or tenants.yaml, can't be edited piece by piece, so nothing was written.",
    example:
      "The settings file can't be edited, and nothing was written: its deny is written in a way that can't be changed line by line.",
    causes: [
      "YAML that a line can't be added to or removed from: another style of keys, a section that isn't a list",
      "a mistake in the file, which has to be fixed first",
    ],
    remedies: ["Change by hand what the message names."],
    next: "email-security lint",
  },
  ERR_CHANGE_REFUSED: {
    means:
      "The change that `add`, `remove`, `move` or `extend` requested is refused, for all values together. Nothing was written.",
    example: [
      "Nothing was written:",
      '  settings.yaml:5:14 error: "evil.example" names no ticket; write `ticket: …`. The team\'s policy asks for it (policy-ticket)',
      "    Give --ticket.",
    ].join("\n"),
    causes: [
      "a rule of the team's policy, or a risky entry, which wants a reason",
      "a value that is on the other list, in an included file, or in several scopes",
      "a value that is to be changed and is nowhere",
    ],
    remedies: ["Give the option that the message names, or the file in which the value stands."],
    next: "email-security lint",
  },
  ERR_GIT: {
    means:
      "Git could not do what `--commit`, `--pr` or the `--base` of `lint` need. Unless the message says otherwise, files and branch are as they were.",
    example:
      '"settings.yaml" is in no git repository, so nothing can be committed. Leave --commit and --pr away to write the file alone.',
    causes: [
      "the file has uncommitted changes, or a rebase or merge is under way",
      "a hook refuses the commit, or it can't be signed",
      "there is no remote, or it refuses the push",
      "the clone is shallow, or lacks the branch that a change is compared with",
    ],
    remedies: [
      "Fix what git says, and run it again.",
      "If the commit was made and only the push failed, run the `git push` command that the message shows.",
    ],
    next: "email-security lint",
  },
  ERR_APPROVALS: {
    means: "`lint --approvals` can't read who approved a change. Nothing was judged, and nothing counts as approved.",
    example:
      '"reviews.json" is neither GitHub\'s answer of a pull request\'s reviews nor GitLab\'s of a merge request\'s approvals at "approved_by"; what came is an error, "Not Found". The pipeline writes it: `gh api --paginate --slurp repos/OWNER/REPO/pulls/NUMBER/reviews > FILE`, or `glab api projects/ID/merge_requests/IID/approvals > FILE`',
    causes: [
      "the job's token may not read pull requests, and the host answered with an error",
      "the file is of another address of the host, or was cut off",
    ],
    remedies: ["Give the job the right `pull-requests: read`, and write the host's answer as it comes."],
    next: "email-security lint --no-approvals",
  },
  ERR_SETTINGS_WRITE: {
    means: "A file could not be written, and is as it was.",
    example:
      "\"file/settings.yaml\" can't be written, and is as it was: ENOTDIR: not a directory, lstat '/home/ci/acme/file/settings.yaml'",
    causes: [
      "the directory or the file is read-only, or another user's",
      "another program changed the file meanwhile",
      "the disk is full",
      "a directory has the name of the file",
    ],
    remedies: ["Fix the cause that the system's message names."],
    next: "ls -ld settings",
  },
  ERR_SETTINGS_LOCKED: {
    means: "Another process is changing the same files or the same git repository. Nothing was written.",
    example:
      '"settings.yaml" is being changed by process 4711, which did not finish within 60 s; nothing was written. Wait until that process has ended, or end it, and run this again.',
    causes: [
      "a commit whose hooks take long, or wait for somebody",
      "a command that was suspended, as by Ctrl-Z",
      "a holder on another machine that shares the directory and was killed less than a minute ago",
    ],
    remedies: [
      "Wait until the process that the message names has ended, and run the command again.",
      "If that process hangs, end it. Its lock needs no cleaning up: the next command takes it over.",
    ],
    next: "email-security lint",
  },
  ERR_NO_SETTINGS: {
    means: "There is no settings file in the expected place: `settings.yaml`, or the directory `settings`.",
    example: "There is no directory settings here, and no settings.yaml. Name the settings files.",
    causes: ["the command runs in another directory than the repository's", "the files have other names"],
    remedies: [
      "Go to the repository's directory, or name the file.",
      "If there is no file yet, `init` writes a repository, and `export` writes a tenant's files.",
    ],
    next: "email-security init DIRECTORY",
  },
  ERR_CSV: {
    means: "A table has mistakes, each told at its row. Nothing was written.",
    example: [
      "The table can't be used: it has a mistake, and nothing was written.",
      '  row 2, column "value": "evil example" is not a domain: it holds a space (one entry holds one value)',
    ].join("\n"),
    causes: [
      "a column whose name means nothing here",
      "a value that isn't a domain, address or mailbox",
      "a quote without its partner",
      "a row that puts a value on one list while the other list has it",
    ],
    remedies: [
      "Fix the rows that are named, or leave them out.",
      "Where rows do not say which list they are for, say `--list`.",
    ],
    next: "email-security csv import TABLE --to settings.yaml --dry-run",
  },
  ERR_INIT: {
    means: "The repository can't be written; nothing was.",
    example: [
      'Nothing was written: a file is in the way in "acme". Move it away, or choose another directory or another name (--name).',
      "  README.md",
    ].join("\n"),
    causes: [
      "the directory, or the top of the git repository that it is part of, holds files of the same names",
      "a name that can't be a tenant's",
      "a directory of a larger repository whose path has characters that pipelines expand, such as `$` or `*`",
    ],
    remedies: [
      "Choose another directory, or move away what is in the way.",
      "Give a name of lower-case letters, digits and dashes: `--name`.",
    ],
    next: "email-security init DIRECTORY --name NAME",
  },
  ERR_EXPORT: {
    means: "The files would not read back as what the tenant holds, so nothing was written.",
    example: [
      "The export does not read back as what the tenant holds, so nothing was written. This is a mistake of email-security; please report it: settings.yaml can't be used: it has a mistake.",
      '  settings.yaml:6:5 error: "no domain" is not a domain: it holds a space (one entry holds one value) (invalid-value)',
    ].join("\n"),
    causes: ["a mistake of this package"],
    remedies: [
      "Report it with the message; leave out of it what is confidential.",
      "Remove the entry that it names in the console, or declare the tenant by hand.",
    ],
    next: "email-security --version",
  },
  ERR_EXPORT_EXISTS: {
    means: "The files of an export are there already. Nothing was written.",
    example:
      '"settings" has settings.yaml, vips.yaml, allow.yaml, deny.yaml already, and nothing was written. Give another directory, or --force to write over them.',
    causes: [
      "an earlier export into the same directory",
      "with `--force`: tickets, ends or a policy that people wrote into those files, and nobody at a terminal to ask",
    ],
    remedies: ["Give another directory, and compare the two; or write over the files: `--force`."],
    next: "email-security export --to ANOTHER",
  },
  ERR_EXPORT_OPTION: {
    means: "The options of `export` do not say what is to be written, or contradict each other. Nothing was read.",
    example:
      "Say what to write: --to <directory> for settings files, --pulumi-import <file> for the file that `pulumi import` takes, or both.",
    causes: ["neither `--to` nor `--pulumi-import` is given", "a domain in `--own-domains` with a slip"],
    remedies: ["Say where to write."],
    next: "email-security export --to settings",
  },
  ERR_PLAN_STALE: {
    means: "The run would do something else than what was reviewed. It changed nothing.",
    example: [
      "The declared settings differ from the reviewed ones: the files changed since, or an entry in them has expired.",
      '  deny worse.example: is not there, and would be deny: "INC-8"; the review did not show it',
      "Nothing was changed. Make a plan of it as it is now, and have that reviewed.",
    ].join("\n"),
    causes: [
      "somebody changed the tenant or the files since the review",
      "an entry has expired since, or the plan was made for another day",
      "the plan is of another stack or tenant",
    ],
    remedies: ["Make the plan again, look at the differences, and have it reviewed."],
    next: "email-security plan --stack STACK --output plan.json",
  },
  ERR_PLAN_DIGEST: {
    means:
      "The given digest isn't a plan's digest, or it belongs to another plan than the given file. Nothing was changed.",
    example: [
      "\"5d3c0f6a\" isn't a plan's digest; a digest begins with v2- and is at the end of the plan.",
      "Nothing was changed.",
    ].join("\n"),
    causes: [
      "a digest that was cut off when it was copied",
      "a digest and a `--plan` file of two different plans",
      "a digest of an earlier release",
    ],
    remedies: [
      "Copy the digest whole: it is the last line of the plan.",
      "Or give the plan's JSON alone: `--plan plan.json`.",
    ],
    next: "email-security plan --stack STACK --output plan.json",
  },
} as const satisfies Explanations;

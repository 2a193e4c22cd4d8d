import type { Explanations } from "./explanation";

export const FILE_ERRORS = {
  ERR_SETTINGS_FILE: {
    meaning: "A settings file has errors; each is reported with its line. No request was sent to the service.",
    example: [
      "settings.yaml is invalid: it has 2 mistakes.",
      '  settings.yaml:3:5 error: value "https://evil.example/login" is a URL, not a domain, an IP address or a mailbox; write "evil.example" (invalid-value)',
      '  settings.yaml:4:1 error: "vip" isn\'t a valid key here; did you mean vips? (unknown-key)',
    ].join("\n"),
    causes: [
      "a typo in a key or a value",
      "a value that is declared twice, with different settings",
      "an included file that doesn't exist",
    ],
    remedies: ["Fix each reported line. `lint` shows the same errors, and so does the JSON schema in an editor."],
    nextCommand: "email-security lint",
  },
  ERR_SETTINGS_EDIT: {
    meaning: "A settings file, or tenants.yaml, can't be edited line by line, so nothing was written.",
    example:
      "The settings file can't be edited: its deny section is written in a form that can't be edited line by line. Nothing was written.",
    causes: [
      "YAML in which lines can't be added or removed: another style of keys, a section that isn't a list",
      "an error in the file, which has to be fixed first",
    ],
    remedies: ["Edit the file by hand where the message says."],
    nextCommand: "email-security lint",
  },
  ERR_CHANGE_REJECTED: {
    meaning:
      "A change by `add`, `remove`, `move` or `extend` was rejected as a whole, with all its values. Nothing was written.",
    example: [
      "Nothing was written:",
      '  settings.yaml:5:14 error: "evil.example" has no ticket; write `ticket: …`. The team\'s policy requires it (policy-ticket)',
      "    Give --ticket.",
    ].join("\n"),
    causes: [
      "a rule of the team's policy, or a risky entry that needs a reason",
      "a value that is on the other list, in an included file, or in several scopes",
      "a value to change that isn't declared anywhere",
    ],
    remedies: ["Set the option that the message mentions, or give the file that declares the value."],
    nextCommand: "email-security lint",
  },
  ERR_SOURCE: {
    meaning:
      "A directory or feed can't be read, or its content can't be trusted, so the generated file of this source is unchanged. Other sources are synced.",
    example: `This run isn't allowed to read "https://feeds.example/domains.txt" for the source phish-feed. If the address is correct, allow it where the run is started: EMAIL_SECURITY_SOURCES=phish-feed=https://feeds.example/`,
    causes: [
      "the run doesn't allow the address: `EMAIL_SECURITY_SOURCES` doesn't list it for this source",
      "missing or expired credentials, a redirect to a login, or a wrong address",
      "a response that is empty, truncated, older than the last one, or larger than `max`",
      "more removals than one sync may propose",
    ],
    remedies: [
      "Fix the source or its credentials, and run the command again.",
      "If a large removal is intended, write `confirmRemovals` in the source, with the exact number.",
      "If the source has grown as expected, set `max`.",
    ],
    nextCommand: "email-security sync --check",
  },
  ERR_GIT: {
    meaning:
      "Git failed to do what `--commit`, `--pr` or the `--base` of `lint` needs. Unless the message says otherwise, files and branch are unchanged.",
    example:
      '"settings.yaml" isn\'t in a git repository, so nothing can be committed. Omit --commit and --pr to only write the file.',
    causes: [
      "the file has uncommitted changes, or a rebase or merge is in progress",
      "a hook rejects the commit, or it can't be signed",
      "there is no remote, or it rejects the push",
      "the clone is shallow, or the branch to compare with is missing",
    ],
    remedies: [
      "Fix the problem that Git reports, and run the command again.",
      "If the commit was made and only the push failed, run the `git push` command that the message shows.",
    ],
    nextCommand: "email-security lint",
  },
  ERR_APPROVALS: {
    meaning: "`lint --approvals` can't read who approved a change. It checked nothing, and nothing counts as approved.",
    example:
      '"reviews.json" is neither GitHub\'s response with a pull request\'s reviews nor GitLab\'s with a merge request\'s approvals at "approved_by"; it contains an error, "Not Found". The pipeline writes it: `gh api --paginate --slurp repos/OWNER/REPO/pulls/NUMBER/reviews > FILE`, or `glab api projects/ID/merge_requests/IID/approvals > FILE`',
    causes: [
      "the job's token isn't allowed to read pull requests, and the host returned an error",
      "the file contains the response of another endpoint of the host, or is truncated",
    ],
    remedies: [
      "Grant the job the permission `pull-requests: read`, and write the host's response to the file unchanged.",
    ],
    nextCommand: "email-security lint --no-approvals",
  },
  ERR_SETTINGS_WRITE: {
    meaning: "A file could not be written and is unchanged.",
    example:
      "\"file/settings.yaml\" can't be written: ENOTDIR: not a directory, lstat '/home/ci/acme/file/settings.yaml'. It is unchanged",
    causes: [
      "the directory or the file is read-only, or belongs to another user",
      "the file has another name (hard link), which would keep the former content",
      "another program changed the file in the meantime",
      "the disk is full",
      "a directory has the same name as the file",
    ],
    remedies: ["Fix the cause that the system error describes."],
    nextCommand: "ls -ld settings",
  },
  ERR_SETTINGS_LOCKED: {
    meaning: "Another process is changing the same files or the same git repository. Nothing was written.",
    example:
      '"settings.yaml" is locked by process 4711, which did not release it within 60 s. Nothing was written. Wait until that process has ended, or stop it, and run the command again.',
    causes: [
      "a commit with hooks that take long or wait for input",
      "a command that was suspended, for example with Ctrl-Z",
      "a lock of another machine that shares the directory, whose process was killed less than a minute ago",
    ],
    remedies: [
      "Wait until the process in the message has ended, and run the command again.",
      "If that process hangs, end it. You don't need to clean up its lock: the next command replaces it.",
    ],
    nextCommand: "email-security lint",
  },
  ERR_NO_SETTINGS: {
    meaning: "There is no settings file in the default location: `settings.yaml`, or the directory `settings`.",
    example:
      "Found no settings files: the directory settings and the file settings.yaml don't exist here. Specify the settings files.",
    causes: ["the command runs outside the repository's directory", "the files have different names"],
    remedies: [
      "Go to the repository's directory, or give the file's name.",
      "If there is no file yet, `init` creates a repository, and `export` writes the files of a tenant.",
    ],
    nextCommand: "email-security init DIRECTORY",
  },
  ERR_CSV: {
    meaning: "A table has errors; each is reported with its row. Nothing was written.",
    example: [
      "The table can't be imported: it has a mistake. Nothing was written.",
      '  row 2, column "value": "evil example" isn\'t a valid domain: it contains a space (an entry has only one value)',
    ].join("\n"),
    causes: [
      "an unknown column name",
      "a value that isn't a domain, an IP address or a mailbox",
      "an unclosed quote",
      "a row that puts a value on one list while it is on the other",
    ],
    remedies: ["Fix the reported rows, or remove them.", "If rows don't specify their list, set `--list`."],
    nextCommand: "email-security csv import TABLE --to settings.yaml --dry-run",
  },
  ERR_INIT: {
    meaning: "The repository can't be created. Nothing was written.",
    example: [
      'Nothing was written: a file is in the way in "acme". Move it away, or choose another directory or another name (--name).',
      "  README.md",
    ].join("\n"),
    causes: [
      "the directory, or the top of the git repository that contains it, has files with the same names",
      "a name that isn't valid for a tenant",
      "a directory of a larger repository whose path has characters that pipelines expand, such as `$` or `*`",
    ],
    remedies: [
      "Choose another directory, or move the conflicting files away.",
      "Set a name of lower-case letters, digits and dashes: `--name`.",
    ],
    nextCommand: "email-security init DIRECTORY --name NAME",
  },
  ERR_EXPORT: {
    meaning: "The files would not match the tenant's settings when read again, so nothing was written.",
    example: [
      "The export doesn't match the tenant's content when read back. Nothing was written. This is a bug in email-security; please report it: settings.yaml is invalid: it has a mistake.",
      '  settings.yaml:6:5 error: "no domain" isn\'t a valid domain: it contains a space (an entry has only one value) (invalid-value)',
    ].join("\n"),
    causes: ["a bug in this package"],
    remedies: [
      "Report it with the message, without confidential data.",
      "Remove the entry in the message in the service's console, or declare the tenant by hand.",
    ],
    nextCommand: "email-security --version",
  },
  ERR_EXPORT_EXISTS: {
    meaning: "The files of an export already exist. Nothing was written.",
    example:
      '"settings" already contains settings.yaml, vips.yaml, allow.yaml, deny.yaml. Nothing was written. Choose another directory, or overwrite them with --force.',
    causes: [
      "an earlier export into the same directory",
      "with `--force`: tickets, expiries or a policy that people added to those files, without a terminal for confirmation",
    ],
    remedies: ["Choose another directory and compare the two, or overwrite the files: `--force`."],
    nextCommand: "email-security export --to ANOTHER",
  },
  ERR_EXPORT_OPTION: {
    meaning: "The options of `export` don't specify what to write, or contradict each other. Nothing was read.",
    example:
      "Specify what to write: --to <directory> for settings files, --pulumi-import <file> for the file of `pulumi import`, or both.",
    causes: ["neither `--to` nor `--pulumi-import` is set", "a typo in a domain of `--own-domains`"],
    remedies: ["Set where to write."],
    nextCommand: "email-security export --to settings",
  },
  ERR_PLAN_STALE: {
    meaning: "The run would do something other than the reviewed plan. It changed nothing.",
    example: [
      "The declared settings differ from the reviewed ones: the files changed since, or an entry in them has expired.",
      "  deny worse.example: doesn't exist, and would be deny: \"INC-8\"; the review didn't show it",
      "Nothing was changed. Create a new plan, and have it reviewed.",
    ].join("\n"),
    causes: [
      "somebody changed the tenant or the files after the review",
      "an entry has expired since, or the plan was made for another day",
      "the plan belongs to another stack or tenant",
    ],
    remedies: ["Create the plan again, look at the differences, and have it reviewed."],
    nextCommand: "email-security plan --stack STACK --output plan.json",
  },
  ERR_PLAN_DIGEST: {
    meaning: "The plan digest is invalid, or belongs to a plan other than the given file. Nothing was changed.",
    example: [
      '"5d3c0f6a" isn\'t a valid plan digest; a digest begins with v2- and is at the end of the plan.',
      "Nothing was changed.",
    ].join("\n"),
    causes: [
      "a digest that was truncated when it was copied",
      "a digest and a `--plan` file of two different plans",
      "a digest of an earlier release",
    ],
    remedies: [
      "Copy the whole digest: it is the last line of the plan.",
      "Or give only the plan's JSON: `--plan plan.json`.",
    ],
    nextCommand: "email-security plan --stack STACK --output plan.json",
  },
} as const satisfies Explanations;

import type { Explanations } from "./explanation";

export const PULUMI_ERRORS = {
  ERR_PULUMI: {
    meaning: "The Pulumi CLI failed, or its output can't be used. The message quotes its output.",
    example: 'The preview isn\'t valid JSON; it begins with "error: no stack selected".',
    causes: [
      "the stack doesn't exist, or nobody is logged in to its backend",
      "`PULUMI_CONFIG_PASSPHRASE` is not set, or is wrong",
      "an error in the program",
    ],
    remedies: ["Fix the cause that Pulumi reports."],
    nextCommand: "email-security doctor",
  },
  ERR_STACK_LOCKED: {
    meaning: "Another Pulumi run has locked the tenant's stack. Nothing was changed at this tenant.",
    example:
      'The stack "t2" of "t2" is locked by ci@build-3 (pid 4711), since 2026-11-21T08:00:00Z; this run waited for 600 s. This tenant was not changed. If that run is still in progress, wait until it ends. If that run is gone, and only then, remove its lock, with the same PULUMI_BACKEND_URL: `pulumi cancel --yes --stack organization/fleet/t2`',
    causes: ["a run in progress in another terminal or CI job", "a run that was killed and left its lock behind"],
    remedies: [
      "Wait until the other run ends.",
      "If no run is in progress any more, remove its lock with `pulumi cancel`, and resume.",
    ],
    nextCommand: "email-security rollout resume",
  },
  ERR_STACK_FOREIGN: {
    meaning:
      "The tenant's stack has resources that no settings file declares; a rollout would delete them. Nothing was changed.",
    example: [
      'The stack "t2" contains resources that don\'t come from the settings file of "t2"; a rollout would delete them. Nothing was changed.',
      '  "urn:pulumi:t2::fleet::pulumi-nodejs:dynamic/email-security:AllowDenyEntry::single"',
    ].join("\n"),
    causes: [
      "the stack belongs to another program and has the same name",
      "a program that declares more than its `TenantSettings`",
    ],
    remedies: [
      "Set another stack for this tenant in the targets file (`stack`), or move the other resources to a stack of their own.",
    ],
    nextCommand: "email-security rollout",
  },
  ERR_ENGINE_UNAVAILABLE: {
    meaning: "No usable Pulumi CLI is installed. Nothing was started.",
    example:
      "No Pulumi CLI 3.200.0 or later was found on PATH, in /home/ci/acme/.pulumi/bin, in /home/ci/acme/.cache/pulumi-email-security/engine. Install Pulumi 3.200.0 or later (https://www.pulumi.com/docs/iac/download-install/) and put it on PATH.",
    causes: [
      "Pulumi isn't installed, or its directory isn't on PATH",
      "the installed version is too old, or lacks its Node.js language host, as the message says",
    ],
    remedies: ["Install Pulumi from pulumi.com/docs/iac/download-install, and put it on PATH."],
    nextCommand: "email-security doctor",
  },
  ERR_PROTOCOL: {
    meaning: "Pulumi's engine requested something from the native plugin that it doesn't have.",
    example: 'The function "email-security:index:getThreat" doesn\'t exist.',
    causes: [
      "a program that was written for another release of the plugin",
      "a typo in the name of a type or function, in Pulumi YAML",
    ],
    remedies: ["Fix the name, or install the release of the SDK that matches the plugin."],
    nextCommand: "email-security doctor",
  },
} as const satisfies Explanations;

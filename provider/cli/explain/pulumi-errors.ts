import type { Explanations } from "./explanation";

/** Of Pulumi, its stacks and its engine. */
export const PULUMI_ERRORS = {
  ERR_PULUMI: {
    means: "The Pulumi CLI failed, or what it printed can't be used; its own words stand in the message.",
    example: 'The preview is no JSON; it begins with "error: no stack selected".',
    causes: [
      "no such stack, or nobody is logged in to its backend",
      "`PULUMI_CONFIG_PASSPHRASE` is not set, or another one",
      "a mistake in the program",
    ],
    remedies: ["Mend what Pulumi's words name."],
    next: "email-security doctor",
  },
  ERR_STACK_LOCKED: {
    means: "Another run of Pulumi holds the tenant's stack. Nothing of this tenant was changed.",
    example:
      'The stack "t2" of "t2" is locked by ci@build-3 (pid 4711), since 2026-11-21T08:00:00Z; it was waited for 600 s. Nothing of this tenant was changed. Where that run still goes on, wait for its end. Where that run is gone, and only then, take its lock away, with the same PULUMI_BACKEND_URL: `pulumi cancel --yes --stack organization/fleet/t2`',
    causes: [
      "a run that is under way, in another terminal or CI job",
      "a run that was killed, and left its lock",
    ],
    remedies: [
      "Wait for the other run's end.",
      "Where nothing is under way any more, take its lock away with `pulumi cancel`, and go on.",
    ],
    next: "email-security rollout resume",
  },
  ERR_STACK_FOREIGN: {
    means:
      "The tenant's stack holds resources that no settings file makes; a rollout would delete them. Nothing was changed.",
    example: [
      'The stack "t2" holds what the settings file of "t2" does not make; a rollout would delete it. Nothing was changed.',
      '  "urn:pulumi:t2::fleet::pulumi-nodejs:dynamic/email-security:AllowDenyEntry::single"',
    ].join("\n"),
    causes: [
      "the stack is another program's, of the same name",
      "a program that declares more than its `TenantSettings`",
    ],
    remedies: [
      "Name another stack for this tenant in the targets file (`stack`), or move the other resources to a stack of their own.",
    ],
    next: "email-security rollout",
  },
  ERR_ENGINE_UNAVAILABLE: {
    means: "There is no Pulumi CLI here, and none could be built.",
    example: [
      "No Pulumi engine could be found or made. Tried:",
      "  - pulumi on PATH: there is none",
      "Any one of these helps:",
      "  - install Pulumi 3.200.0 or later (https://www.pulumi.com/docs/iac/download-install/) and put it on PATH",
    ].join("\n"),
    causes: [
      "Pulumi is not installed, and there is no Go to build it, or Go's proxy can't be reached from here",
      "the one on PATH is too old",
    ],
    remedies: [
      "Install Pulumi, from pulumi.com/docs/install; or do one of the other things that the message lists.",
    ],
    next: "email-security doctor",
  },
  ERR_ENGINE_OPTION: {
    means: "`EMAIL_SECURITY_ENGINE` names no way to get a Pulumi CLI.",
    example: 'EMAIL_SECURITY_ENGINE is "brew": give one of path, build, or leave it unset to try all',
    causes: ["a slip: it is `path` or `build`"],
    remedies: ["Mend the variable, or unset it: then both ways are tried."],
    next: "email-security doctor",
  },
  ERR_PROTOCOL: {
    means: "Pulumi's engine asked the native plugin for something that it does not have.",
    example: 'There is no function "email-security:index:getThreat".',
    causes: [
      "a program made for another release of the plugin",
      "a type or a function with a slip in its name, in Pulumi YAML",
    ],
    remedies: ["Mend the name; or install the release of the SDK that goes with the plugin."],
    next: "email-security doctor",
  },
} as const satisfies Explanations;

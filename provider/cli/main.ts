#!/usr/bin/env node
import "../settings/program-node-version";
import { Command } from "commander";
import { harmless } from "../settings/text";
import { applyCommand } from "./apply-command";
import { csvCommand } from "./csv-command";
import { doctorCommand } from "./doctor-command";
import { driftCommand } from "./drift-command";
import { explainCommand } from "./explain-command";
import { exportCommand } from "./export-command";
import { initCommand } from "./init-command";
import { lintCommand } from "./lint-command";
import { packageVersion } from "./package-version";
import { planCommand } from "./plan-command";
import { rolloutCommand } from "./rollout-command";
import { sandboxCommand } from "./sandbox-command";
import { suggestCommand } from "./suggest-command";
import { workerCommand } from "./worker-command";

/** The `email-security` command: thin, every verb calls a room above. */
async function main(): Promise<void> {
  await new Command("email-security")
    .description("VIP employees and the allow/deny list of an email-security tenant, in code")
    .version(packageVersion())
    // What stands after a verb is the verb's, however deep: `rollout status --json` is not the `--json` of `rollout`.
    .enablePositionalOptions()
    .configureOutput({ outputError: (text, write) => write(harmless(text)) })
    .addCommand(lintCommand())
    .addCommand(planCommand())
    .addCommand(applyCommand())
    .addCommand(driftCommand())
    .addCommand(exportCommand())
    .addCommand(suggestCommand())
    .addCommand(csvCommand())
    .addCommand(initCommand())
    .addCommand(rolloutCommand())
    .addCommand(workerCommand())
    .addCommand(doctorCommand())
    .addCommand(explainCommand())
    .addCommand(sandboxCommand())
    .parseAsync();
}

void main();

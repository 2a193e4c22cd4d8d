#!/usr/bin/env node
import "../settings/node-version";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { harmless } from "../settings/text";
import { exportCommand } from "./export-command";
import { sandboxCommand } from "./sandbox-command";

/** The `email-security` command: thin, every verb calls a room above. */
async function main(): Promise<void> {
  await new Command("email-security")
    .description("VIP employees and the allow/deny list of an email-security tenant, in code")
    .version(version())
    .configureOutput({ outputError: (text, write) => write(harmless(text)) })
    .addCommand(exportCommand())
    .addCommand(sandboxCommand())
    .parseAsync();
}

/** The package's version; this file runs as built, two folders below the package's own. */
function version(): string {
  const manifest = JSON.parse(readFileSync(join(__dirname, "..", "..", "package.json"), "utf8")) as {
    version: string;
  };
  return manifest.version;
}

void main();

import { existsSync } from "node:fs";
import { join } from "node:path";
import { Command } from "commander";
import { EmailSecurityError } from "../settings/email-security-error";
import { parseOwnDomains } from "../settings/own-domains";
import { harmless, printable, quote } from "../settings/text";
import { connect, EXIT, type ExitCode, verb } from "./command-line";

/** `email-security export`: a tenant into settings files that declare what is there, so that a first run changes nothing. */
export function exportCommand(): Command {
  return new Command("export")
    .configureOutput({ outputError: (text, write) => write(harmless(text)) })
    .description(
      "write what the tenant holds into settings files; a first `pulumi up` with them changes nothing",
    )
    .requiredOption("--to <folder>", "the folder for the files; it is made where it is missing")
    .option(
      "--own-domains <domains>",
      "the tenant's own domains, with commas between (default: EMAIL_SECURITY_OWN_DOMAINS)",
    )
    .option("--include-automatic", "declare VIPs by automatic detection too, which keeps them anyway", false)
    .option("--force", "write over files of an earlier export", false)
    .action(verb(run));
}

interface CommandOptions {
  readonly to: string;
  readonly ownDomains?: string;
  readonly includeAutomatic: boolean;
  readonly force: boolean;
}

/** How many lines of what can't be declared are shown; all of them stand in the files. */
const SHOWN = 200;

async function run({ to, ownDomains, includeAutomatic, force }: CommandOptions): Promise<ExitCode> {
  const own = parseOwnDomains(ownDomains ?? process.env["EMAIL_SECURITY_OWN_DOMAINS"] ?? "");
  if (!own.ok) {
    const from = ownDomains === undefined ? "EMAIL_SECURITY_OWN_DOMAINS" : "--own-domains";
    throw new EmailSecurityError("ERR_EXPORT_OPTION", `${from} ${own.reason}.`);
  }
  const { EXPORTED_FILES, exportSettings, SETTINGS_FILE } = await import("../gitops/export.js");
  const { observe } = await import("../gitops/plan/observed.js");
  const { writeFolder } = await import("../gitops/files/write-settings.js");
  const there = EXPORTED_FILES.filter((name) => existsSync(join(to, name)));
  if (there.length > 0 && !force) {
    throw new EmailSecurityError(
      "ERR_EXPORT_EXISTS",
      `${quote(to, 300)} has ${there.join(", ")} already, and nothing was written. Give another folder, or --force to write over them.`,
    );
  }
  const client = connect();
  const { host } = new URL(client.baseUrl);
  const exported = exportSettings(await observe(client), { host, ownDomains: own.value, includeAutomatic });
  writeFolder(to, exported.files);

  const { files, entries, vips, risky, automatic, left } = exported;
  const stale = there.filter((name) => !files.has(name));
  console.log(
    `Wrote ${count(entries, "allow/deny entry", "allow/deny entries")} and ${count(vips, "VIP", "VIPs")} to ${printable(to)}: ${[...files.keys()].join(", ")}.`,
  );
  if (risky > 0) {
    console.log(
      `${count(risky, "entry is", "entries are")} risky, and declared as to be reviewed: look for acceptRisk.`,
    );
  }
  if (automatic > 0) {
    console.log(
      `${count(automatic, "VIP", "VIPs")} by automatic detection ${automatic === 1 ? "is" : "are"} left to it, and named in vips.yaml.`,
    );
  }
  console.log(
    `Next: new TenantSettings("…", { file: ${quote(join(to, SETTINGS_FILE), 300)} }) in a Pulumi program; its first \`pulumi up\` changes nothing.`,
  );
  for (const text of left.slice(0, SHOWN)) console.error(harmless(`note: ${printable(text)}`));
  if (left.length > SHOWN) console.error(`note: and ${left.length - SHOWN} more, all in the files`);
  if (stale.length > 0) {
    console.error(
      `note: ${stale.join(", ")} of an earlier export ${stale.length === 1 ? "is" : "are"} included no more; remove ${stale.length === 1 ? "it" : "them"}`,
    );
  }
  return EXIT.clean;
}

function count(number: number, one: string, many: string): string {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

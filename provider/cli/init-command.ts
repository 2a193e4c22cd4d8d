import { basename, join, resolve } from "node:path";
import { Command, Option } from "commander";
import type { Exported } from "../gitops/export";
import type { Pipelines } from "../gitops/init";
import { NO_STACK, readOwnDomainNames } from "../resources/configuration";
import { harmless, printable } from "../settings/text";
import { connect, EXIT, type ExitCode, verb } from "./command-line";
import { withHelp } from "./verb-help";
import { lockFiles } from "./write-options";

/**
 * `email-security init FOLDER`: writes a repository in which a team keeps a tenant's settings, and says what comes next.
 * It overwrites nothing: exit code 1, with the files that are in the way.
 */
export function initCommand(): Command {
  return withHelp(
    new Command("init")
      .description("write a repository for a tenant's settings: files, program, pipelines, README")
      .argument("<folder>", "where; it may be there already, and nothing in it is overwritten")
      .option("--name <name>", "what the tenant is called (default: the folder's name)")
      .addOption(
        new Option("--ci <pipelines>", "whose pipelines")
          .choices(["github", "gitlab", "both", "none"])
          .default("both"),
      )
      .option("--from-tenant", "declare what the tenant holds now, so that a first plan is empty")
      .action(verb(run)),
    {
      examples: [
        { does: "a new repository, with pipelines for GitHub", line: "init acme --ci github" },
        { does: "of a tenant that exists: a first plan is empty", line: "init acme --from-tenant" },
      ],
      exits: {
        0: "it is written",
        1: "an error; nothing is written",
      },
    },
  );
}

interface CommandOptions {
  readonly name?: string;
  readonly ci: Pipelines;
  readonly fromTenant?: boolean;
}

async function run(folder: string, options: CommandOptions): Promise<ExitCode> {
  const { ci, fromTenant = false, name = basename(resolve(folder)) } = options;
  const { initRepository } = await import("../gitops/init.js");
  const exported = fromTenant ? await exportTenant() : undefined;
  using locks = await lockFiles([join(folder, "README.md")]);
  const files = await initRepository({ folder, name, ci, ...(exported && { exported: exported.files }) });
  locks.release();
  console.log(harmless(farewell(folder, name, files, fromTenant)));
  if (!fromTenant && process.env["EMAIL_SECURITY_BASE_URL"] && process.env["EMAIL_SECURITY_API_KEY"]) {
    console.error(
      "note: a tenant is configured here, and was not asked. Where it has VIPs or entries already, begin with these: `init --from-tenant`, in another folder.",
    );
  }
  for (const text of exported?.left ?? []) console.error(harmless(`note: ${printable(text)}`));
  return EXIT.clean;
}

async function exportTenant(): Promise<Exported> {
  const { exportSettings } = await import("../gitops/export.js");
  const { observe } = await import("../plan/observed.js");
  const { hostOf } = await import("../gitops/plan-tenant.js");
  const ownDomains = readOwnDomainNames(NO_STACK, process.env);
  const client = connect();
  try {
    return exportSettings(await observe(client), { host: hostOf(client), ownDomains });
  } finally {
    await client.close();
  }
}

function farewell(folder: string, name: string, files: readonly string[], fromTenant: boolean): string {
  const file = `settings/${name}.yaml`;
  const steps: readonly (readonly [command: string, why?: string])[] = [
    [
      `${resolve(folder) === process.cwd() ? "" : `cd ${folder} && `}git init --initial-branch main && npm install`,
    ],
    ...(fromTenant ? [] : [["export EMAIL_SECURITY_BASE_URL=… EMAIL_SECURITY_API_KEY=…"] as const]),
    ["npx email-security doctor", "is all there? Says how `pulumi` comes on PATH"],
    fromTenant
      ? [`# look through ${file} and what it includes: its ownDomains, and each acceptRisk`]
      : [`# write your own into ${file}`],
    ["npx email-security lint", "all below settings/"],
    ["pulumi login --local", "where the state goes; for a try, your home folder"],
    ["pulumi stack init try", "asks for a passphrase; export it as PULUMI_CONFIG_PASSPHRASE"],
    [`npx email-security plan ${file} --stack try`, "what it would do; reads only"],
    [`npx email-security apply ${file} --stack try --yes`, "does it; --plan-digest holds it to a plan"],
  ];
  return [
    `Wrote ${files.length} files into ${folder}:`,
    ...files.map((path) => `  ${path}`),
    "",
    "What comes next:",
    ...steps.map(([command, why]) => `  ${why === undefined ? command : `${command.padEnd(40)}  # ${why}`}`),
    "",
    "README.md says the same in more words, how the pipeline gets its key, and how changes are proposed and read.",
  ].join("\n");
}

import { basename, join, relative, resolve } from "node:path";
import { Command, Option } from "commander";
import { addHelp } from "../../cli/command-help";
import { connectToTenant } from "../../cli/connect-to-tenant";
import { EXIT, type ExitCode } from "../../cli/exit-codes";
import { wrapAction } from "../../cli/wrap-action";
import { lockFiles } from "../../cli/write-file-changes";
import type { SettingsExport } from "../../gitops/export-settings";
import { quoteShellWord } from "../../model/shell-word";
import { sanitizeLine, sanitizeMultiline } from "../../model/text";
import { NO_STACK_CONFIG, readOwnDomainNames } from "../../resources/configuration";
import type { InitResult, Pipelines } from "./init-repository";

/**
 * `email-security init DIRECTORY`: writes a repository for one tenant's settings, or a directory of a larger repository, and prints the next
 * steps.
 * Never overwrites a file: exits with code 1 and lists the files that are in the way.
 */
export function createInitCommand(): Command {
  return addHelp(
    new Command("init")
      .description("Create a repository for a tenant's settings: files, program, pipelines, README")
      .argument("<directory>", "Directory of the repository; existing files are not overwritten")
      .option("--name <name>", "Set the tenant's name (default: the directory's name)")
      .addOption(
        new Option("--ci <pipelines>", "Select the pipelines")
          .choices(["github", "gitlab", "both", "none"])
          .default("both"),
      )
      .option("--from-tenant", "Declare the tenant's current settings, so that the first plan is empty")
      .action(wrapAction(runInitCommand)),
    {
      examples: [
        { purpose: "Create a repository with pipelines for GitHub", line: "init acme --ci github" },
        {
          purpose: "Use a directory of a larger git repository, with the pipelines at its top",
          line: "init infra/mail --name acme",
        },
        { purpose: "Start from an existing tenant, so that the first plan is empty", line: "init acme --from-tenant" },
      ],
      exits: {
        0: "The files are written",
        1: "An error occurred; nothing is written",
      },
    },
  );
}

interface InitCommandOptions {
  readonly name?: string;
  readonly ci: Pipelines;
  readonly fromTenant?: boolean;
}

async function runInitCommand(directory: string, options: InitCommandOptions): Promise<ExitCode> {
  const { ci, fromTenant = false, name = basename(resolve(directory)) } = options;
  const { initRepository } = await import("./init-repository.js");
  const tenantExport = fromTenant ? await exportTenant() : undefined;
  using locks = await lockFiles([join(directory, "README.md")]);
  const result = await initRepository({
    directory,
    name,
    ci,
    ...(tenantExport && { exported: tenantExport.files }),
  });
  locks.release();
  console.log(sanitizeMultiline(formatNextSteps(directory, name, result, fromTenant)));
  if (!fromTenant && process.env["EMAIL_SECURITY_BASE_URL"] && process.env["EMAIL_SECURITY_API_KEY"]) {
    console.error(
      "note: a tenant is configured here, but was not read. If it already has VIPs or entries, start with these: `init --from-tenant`, in another directory.",
    );
  }
  for (const text of tenantExport?.undeclarable ?? []) console.error(sanitizeMultiline(`note: ${sanitizeLine(text)}`));
  return EXIT.clean;
}

async function exportTenant(): Promise<SettingsExport> {
  const { exportSettings } = await import("../../gitops/export-settings.js");
  const { readObservedState } = await import("../../plan/observed-state.js");
  const { getHost } = await import("../../gitops/plan-tenant.js");
  const ownDomains = readOwnDomainNames(NO_STACK_CONFIG, process.env);
  const client = connectToTenant();
  try {
    return exportSettings(await readObservedState(client), { host: getHost(client), ownDomains });
  } finally {
    await client.close();
  }
}

function formatNextSteps(targetDirectory: string, name: string, result: InitResult, fromTenant: boolean): string {
  const { top, directory, files, additions, isInRepository, ignoringRepository } = result;
  const file = `settings/${name}.yaml`;
  const topPath = relative(process.cwd(), top) || ".";
  const ownFiles = files.filter((path) => directory === "" || path.startsWith(`${directory}/`));
  const topFiles = files.filter((path) => !ownFiles.includes(path));
  const enterCommand = resolve(targetDirectory) === process.cwd() ? [] : [`cd ${quoteShellWord(targetDirectory)}`];
  const gitInitCommand = isInRepository ? [] : ["git init --initial-branch main"];
  const changedTopFiles = directory === "" ? [] : [...topFiles, ...additions.map((addition) => addition.file)];
  const pathsToStage = [".", ...listTopPathspecs(changedTopFiles, name)];
  const steps: readonly (readonly [command: string, purpose?: string])[] = [
    [[...enterCommand, ...gitInitCommand, "npm install"].join(" && ")],
    ...(fromTenant ? [] : [["export EMAIL_SECURITY_BASE_URL=… EMAIL_SECURITY_API_KEY=…"] as const]),
    ["npx email-security doctor", "check the setup, and how to put `pulumi` on PATH"],
    fromTenant
      ? [`# review ${file} and the files it includes: its ownDomains, and each acceptRisk`]
      : [`# add your own settings to ${file}`],
    ["npx email-security lint", "check all files in settings/"],
    [`git add ${pathsToStage.map(quoteShellWord).join(" ")}`, "stage the files, then commit"],
    ["pulumi login --local", "store the state; for a trial, in your home directory"],
    ["pulumi stack init try", "set a passphrase; export it as PULUMI_CONFIG_PASSPHRASE"],
    [`npx email-security plan ${file} --stack try`, "show the changes; read-only"],
    [`npx email-security apply ${file} --stack try --yes`, "apply them; --plan-digest enforces a reviewed plan"],
  ];
  return [
    `Wrote ${ownFiles.length} files into ${targetDirectory}:`,
    ...ownFiles.map((path) => `  ${directory === "" ? path : path.slice(directory.length + 1)}`),
    ...(topFiles.length === 0
      ? []
      : [
          "",
          `Wrote ${topFiles.length} files at the top of the git repository (${topPath}), where the tools read them:`,
        ]),
    ...topFiles.map((path) => `  ${path}`),
    ...additions.flatMap(({ file: existingFile, lines }) => [
      "",
      `${join(topPath, existingFile)} already exists and was not changed. Add to it:`,
      ...lines.map((line) => `  ${line}`),
    ]),
    ...(ignoringRepository === undefined
      ? []
      : [
          "",
          `The git repository ${relative(process.cwd(), ignoringRepository) || "."} ignores this directory, so the directory becomes its own repository.`,
        ]),
    "",
    "Next steps:",
    ...steps.flatMap(([command, note]) => [...(note === undefined ? [] : [`  # ${note}`]), `  ${command}`]),
    "",
    "README.md explains these steps in detail, how the pipeline gets its key,",
    "and how changes are proposed and reviewed.",
  ].join("\n");
}

/** Lists what `git add` needs at the top of a repository: only the tenant's own files. */
function listTopPathspecs(paths: readonly string[], name: string): string[] {
  const isWorkflow = (path: string): boolean => path.startsWith(".github/workflows/");
  return [
    ...(paths.some(isWorkflow) ? [`:/.github/workflows/email-security-${name}-*`] : []),
    ...paths.filter((path) => !isWorkflow(path)).map((path) => `:/${path}`),
  ];
}

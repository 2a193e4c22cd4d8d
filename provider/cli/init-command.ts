import { basename, resolve } from "node:path";
import { Command, Option } from "commander";
import type { Pipelines } from "../gitops/init";
import { harmless } from "../settings/text";
import { EXIT, type ExitCode, verb } from "./command-line";

/**
 * `email-security init FOLDER`: writes a repository in which a team keeps a tenant's settings, and says what comes next.
 * It overwrites nothing: exit code 1, with the files that are in the way.
 */
export function initCommand(): Command {
  return new Command("init")
    .description("write a repository for a tenant's settings: files, program, pipelines, README")
    .argument("<folder>", "where; it may be there already, and nothing in it is overwritten")
    .option("--name <name>", "what the tenant is called (default: the folder's name)")
    .addOption(
      new Option("--ci <pipelines>", "whose pipelines")
        .choices(["github", "gitlab", "both", "none"])
        .default("both"),
    )
    .action(verb(run));
}

interface CommandOptions {
  readonly name?: string;
  readonly ci: Pipelines;
}

async function run(
  folder: string,
  { ci, name = basename(resolve(folder)) }: CommandOptions,
): Promise<ExitCode> {
  const { initRepository } = await import("../gitops/init.js");
  const files = await initRepository({ folder, name, ci });
  console.log(harmless(farewell(folder, name, files)));
  return EXIT.clean;
}

function farewell(folder: string, name: string, files: readonly string[]): string {
  return [
    `Wrote ${files.length} files into ${folder}:`,
    ...files.map((file) => `  ${file}`),
    "",
    "What comes next:",
    `  cd ${folder} && git init --initial-branch main && npm install`,
    "  export EMAIL_SECURITY_BASE_URL=… EMAIL_SECURITY_API_KEY=…",
    "  npx email-security doctor                        # is all there that is needed?",
    `  # write your own into settings/${name}.yaml`,
    "  npx email-security lint settings/*.yaml",
    `  npx email-security plan settings/${name}.yaml    # what it would do; reads only`,
    "",
    "README.md says how the pipeline gets its key, and how changes are proposed and read.",
  ].join("\n");
}

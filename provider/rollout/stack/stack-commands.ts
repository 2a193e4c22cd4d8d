import { findEngine } from "../../engine";
import { quoteShellWord } from "../../model/shell-word";

export interface StackProject {
  readonly project: string;
  readonly environment: NodeJS.ProcessEnv;
}

/** Stack names and commands that work in any directory: a rollout's repository may lack a project, and the CLI may not be on PATH. */
export interface StackCommands {
  /** Returns the full name of a stack. @param project Default: that of the context. */
  formatStackName(stack: string, project?: string): string;
  formatCommand(subcommand: string, stack: string, project?: string): string;
  formatMove(stack: string, formerProject: string, newStack: string): string;
}

export async function createStackCommands(context: StackProject): Promise<StackCommands> {
  const engine = await findEngine();
  const pulumi = engine === undefined || engine.source === "path" ? "pulumi" : quoteShellWord(engine.command);
  const formatStackName = (stack: string, project = context.project): string => {
    // The Pulumi service has its own organizations, and finds the project by the directory.
    return quoteShellWord(isSelfManaged(context) ? `organization/${project}/${stack}` : stack);
  };
  const formatCommand: StackCommands["formatCommand"] = (subcommand, stack, project) =>
    `${formatBackendVariable(context)}${pulumi} ${subcommand} --stack ${formatStackName(stack, project)}`;
  return {
    formatStackName,
    formatCommand,
    // Unlike other commands, `stack rename` needs a project file.
    formatMove: (stack, formerProject, newStack) =>
      `(cd "$(mktemp -d)" && printf 'name: %s\\nruntime: nodejs\\n' ${quoteShellWord(formerProject)} > Pulumi.yaml && ${formatCommand(`stack rename ${formatStackName(newStack)}`, stack, formerProject)})`,
  };
}

function isSelfManaged({ environment }: StackProject): boolean {
  const backend = environment["PULUMI_BACKEND_URL"] ?? "";
  return backend !== "" && !/^https?:/i.test(backend);
}

/** Sets the backend if the user's shell lacks it: a directory from the project file, or a relative path. */
function formatBackendVariable({ environment }: StackProject): string {
  const backend = environment["PULUMI_BACKEND_URL"] ?? "";
  const isSame = !backend.startsWith("file:") || process.env["PULUMI_BACKEND_URL"] === backend;
  return isSame ? "" : `PULUMI_BACKEND_URL=${quoteShellWord(backend)} `;
}

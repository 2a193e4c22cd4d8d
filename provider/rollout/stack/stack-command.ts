import { findEngine } from "../../engine";
import { shellWord } from "../../settings/shell-word";

/** The project of stacks, and their state backend. */
export interface StacksPlace {
  readonly project: string;
  /** The environment of the CLI, including the state backend. */
  readonly environment: NodeJS.ProcessEnv;
}

/** Stack names and commands that work in any directory: a rollout's repository may lack a project, and the CLI may not be on PATH. */
export interface StackCommands {
  /** Returns the full name of a stack. @param project Default: that of the place. */
  nameOf(stack: string, project?: string): string;
  /** Builds a shell command of Pulumi for a stack. */
  command(subcommand: string, stack: string, project?: string): string;
}

export async function stackCommands(context: StacksPlace): Promise<StackCommands> {
  const engine = await findEngine();
  const pulumi = engine === undefined || engine.source === "path" ? "pulumi" : shellWord(engine.command);
  const formatStackName = (stack: string, project = context.project): string => {
    // The Pulumi service has its own organizations, and finds the project by the directory.
    return shellWord(isSelfManaged(context) ? `organization/${project}/${stack}` : stack);
  };
  return {
    nameOf: formatStackName,
    command: (subcommand, stack, project) =>
      `${formatBackendVariable(context)}${pulumi} ${subcommand} --stack ${formatStackName(stack, project)}`,
  };
}

function isSelfManaged({ environment }: StacksPlace): boolean {
  const backend = environment["PULUMI_BACKEND_URL"] ?? "";
  return backend !== "" && !/^https?:/i.test(backend);
}

/** Sets the backend if the user's shell lacks it: a directory from the project file, or a relative path. */
function formatBackendVariable({ environment }: StacksPlace): string {
  const backend = environment["PULUMI_BACKEND_URL"] ?? "";
  const isSame = !backend.startsWith("file:") || process.env["PULUMI_BACKEND_URL"] === backend;
  return isSame ? "" : `PULUMI_BACKEND_URL=${shellWord(backend)} `;
}

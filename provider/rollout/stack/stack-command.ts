import { findEngine } from "../../engine";
import { shellWord } from "../../settings/shell-word";

/** The project of stacks, and where their state is. */
export interface StacksPlace {
  readonly project: string;
  /** The environment of the CLI, with the state backend. */
  readonly environment: NodeJS.ProcessEnv;
}

/** How a person addresses stacks in any directory: a rollout's repository need hold no project, and the CLI need not be on PATH. */
export interface StackCommands {
  /** What a stack is called. @param project Default: that of the place. */
  nameOf(stack: string, project?: string): string;
  /** A command of Pulumi on a stack, as a shell takes it. */
  command(words: string, stack: string, project?: string): string;
}

export async function stackCommands(place: StacksPlace): Promise<StackCommands> {
  const engine = await findEngine();
  const pulumi = engine === undefined || engine.source === "path" ? "pulumi" : shellWord(engine.command);
  const nameOf = (stack: string, project = place.project): string => {
    // The Pulumi service has organizations of its own, and finds the project by the folder.
    return shellWord(isDiy(place) ? `organization/${project}/${stack}` : stack);
  };
  return {
    nameOf,
    command: (words, stack, project) =>
      `${backendWords(place)}${pulumi} ${words} --stack ${nameOf(stack, project)}`,
  };
}

function isDiy({ environment }: StacksPlace): boolean {
  const backend = environment["PULUMI_BACKEND_URL"] ?? "";
  return backend !== "" && !/^https?:/i.test(backend);
}

/** A folder that the project's file names, or a relative path, is not what the shell of the person has. */
function backendWords({ environment }: StacksPlace): string {
  const backend = environment["PULUMI_BACKEND_URL"] ?? "";
  const isSame = !backend.startsWith("file:") || process.env["PULUMI_BACKEND_URL"] === backend;
  return isSame ? "" : `PULUMI_BACKEND_URL=${shellWord(backend)} `;
}

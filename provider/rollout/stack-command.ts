import { readyPulumi } from "../plan/pulumi";
import { shellWord } from "../settings/shell-word";

/** The stack of a tenant, and where its state is. */
export interface StackPlace {
  readonly project: string;
  readonly stack: string;
  /** The environment of the CLI, with the state backend. */
  readonly environment: NodeJS.ProcessEnv;
}

/**
 * A command of Pulumi on a stack, as it can be typed in any directory: a rollout's repository need hold no project, and the CLI need
 * not be on PATH.
 */
export async function stackCommand(words: string, place: StackPlace): Promise<string> {
  const { source, command } = await readyPulumi();
  return `${backendWords(place)}${source === "path" ? "pulumi" : command} ${words} --stack ${stackNamed(place)}`;
}

/** What a tenant's stack is called, from whichever folder. */
export function stackNamed({ project, stack, environment }: StackPlace): string {
  const backend = environment["PULUMI_BACKEND_URL"] ?? "";
  // The Pulumi service has organizations of its own, and finds the project by the folder.
  const isDiy = backend !== "" && !/^https?:/i.test(backend);
  return isDiy ? `organization/${project}/${stack}` : stack;
}

/** A folder that the project's file names, or a relative path, is not what the shell of the person has. */
function backendWords({ environment }: StackPlace): string {
  const backend = environment["PULUMI_BACKEND_URL"] ?? "";
  const isSame = !backend.startsWith("file:") || process.env["PULUMI_BACKEND_URL"] === backend;
  return isSame ? "" : `PULUMI_BACKEND_URL=${shellWord(backend)} `;
}

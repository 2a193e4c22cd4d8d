import { readyPulumi } from "../plan/pulumi";

/** The stack of a tenant, and where its state is. */
export interface StackPlace {
  readonly project: string;
  readonly stack: string;
  /** The environment of the CLI, with the state backend. */
  readonly environment: NodeJS.ProcessEnv;
}

/**
 * A command of Pulumi on a tenant's stack, as it can be typed: a rollout's repository need hold no project, and the CLI need
 * not be on PATH.
 */
export async function stackCommand(words: string, place: StackPlace): Promise<string> {
  const { source, command } = await readyPulumi();
  return `${source === "path" ? "pulumi" : command} ${words} --stack ${stackNamed(place)}`;
}

/** What a tenant's stack is called, from whichever folder. */
export function stackNamed({ project, stack, environment }: StackPlace): string {
  const backend = environment["PULUMI_BACKEND_URL"] ?? "";
  // The Pulumi service has organizations of its own, and finds the project by the folder.
  const isDiy = backend !== "" && !/^https?:/i.test(backend);
  return isDiy ? `organization/${project}/${stack}` : stack;
}

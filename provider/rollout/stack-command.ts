import { ensureEngine } from "../engine";

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
export async function stackCommand(
  words: string,
  { project, stack, environment }: StackPlace,
): Promise<string> {
  const { source, command } = await ensureEngine();
  const backend = environment["PULUMI_BACKEND_URL"] ?? "";
  // The Pulumi service has organizations of its own, and finds the project by the folder.
  const isDiy = backend !== "" && !/^https?:/i.test(backend);
  const name = isDiy ? `organization/${project}/${stack}` : stack;
  return `${source === "path" ? "pulumi" : command} ${words} --stack ${name}`;
}

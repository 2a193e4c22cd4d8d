import { z } from "zod";

/**
 * The marker that a rollout leaves in the state of each stack that it changes, as an output of the stack. A run with another journal can
 * then detect it, even after the rollout is done. A rollout keeps the existing marker if it changes nothing, only prunes expired entries,
 * or reverts drift.
 */
export interface StackMarker {
  readonly rollout: string;
  /** Its position in the order in which rollouts started. */
  readonly seq: number;
  /** When it changed the stack: ISO 8601, UTC. */
  readonly at: string;
}

export const MARKER_OUTPUT = "emailSecurityRollout";

const state = z.object({
  deployment: z.object({
    resources: z.array(
      z.looseObject({ type: z.string(), outputs: z.record(z.string(), z.unknown()).nullish() }),
    ),
  }),
});

const marker = z.object({
  rollout: z.string().regex(/^\d{8}-\d{4}-[0-9a-f]{6}$/),
  seq: z.int().min(1),
  at: z.iso.datetime(),
});

/**
 * Reads a stack's marker. Undefined if it has none, for example after a run of the user's own program.
 *
 * @param exported the state as `pulumi stack export` prints it.
 */
export function readStackMarker(exported: unknown): StackMarker | undefined {
  const { data } = state.safeParse(exported);
  const root = data?.deployment.resources.find(({ type }) => type === "pulumi:pulumi:Stack");
  return marker.safeParse(root?.outputs?.[MARKER_OUTPUT]).data;
}

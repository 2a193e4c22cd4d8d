import { z } from "zod";
import { omitUndefined } from "../../settings/omit-undefined";
import type { TenantIdentity } from "../../settings/tenant-identity";

/**
 * What a rollout leaves in the state of each stack that it changes, as an output of the stack: so that a run with another journal knows of
 * it, also once the rollout is done. A rollout that changes nothing, only removes what has expired, or reverts drift, leaves the marker as it
 * was. It adds the identity where the marker has none, and replaces it where a person says that it is wrong. A rollout that changes nothing
 * leaves a marker in a stack that has none.
 */
export interface StackMarker {
  readonly rollout: string;
  /** Its position in the order in which rollouts started. */
  readonly seq: number;
  /** When it changed the stack: ISO 8601, UTC. */
  readonly at: string;
  /** What identified the tenant then, so that a run without the journal knows it by its key. Absent in what an earlier release left. */
  readonly identity?: TenantIdentity;
}

export const MARKER_OUTPUT = "emailSecurityRollout";

const stackStateSchema = z.object({
  deployment: z.object({
    resources: z.array(z.looseObject({ type: z.string(), outputs: z.record(z.string(), z.unknown()).nullish() })),
  }),
});

const hashes = z.array(z.string());

const identity = z.object({
  address: z.string(),
  entries: z.int().min(0),
  unique: hashes,
  counted: hashes,
  numbers: hashes,
  dates: z.int().min(0),
  people: hashes.exactOptional(),
  history: z
    .object({
      at: z.iso.datetime(),
      rows: z.string(),
      oldest: hashes,
      smallest: z.string().exactOptional(),
    })
    .exactOptional(),
});

const markerSchema = z.object({
  rollout: z.string().regex(/^\d{8}-\d{4}-[0-9a-f]{6}$/),
  seq: z.int().min(1),
  at: z.iso.datetime(),
  identity: z.unknown(),
});

/**
 * Reads a stack's marker. Undefined if it has none, for example after a run of the user's own program.
 *
 * @param exportedState the state as `pulumi stack export` prints it.
 */
export function readStackMarker(exportedState: unknown): StackMarker | undefined {
  const { data } = stackStateSchema.safeParse(exportedState);
  const root = data?.deployment.resources.find(({ type }) => type === "pulumi:pulumi:Stack");
  const { data: found } = markerSchema.safeParse(root?.outputs?.[MARKER_OUTPUT]);
  if (found === undefined) return undefined;
  const { rollout, seq, at } = found;
  return { rollout, seq, at, ...omitUndefined({ identity: identity.safeParse(found.identity).data }) };
}

import { z } from "zod";
import { jsonArray } from "../../model/json-schema-builders";
import { omitUndefined } from "../../model/omit-undefined";

export const MARKER_OUTPUT = "emailSecurityRollout";

const stackStateSchema = z.object({
  deployment: z.object({
    resources: z.array(z.looseObject({ type: z.string(), outputs: z.record(z.string(), z.unknown()).nullish() })),
  }),
});

const hashes = jsonArray(z.string());

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

const rolloutSchema = z.object({
  rollout: z.string().regex(/^\d{8}-\d{4}-[0-9a-f]{6}$/),
  /** Its position in the order in which rollouts started. */
  seq: z.int().min(1),
});

const markerSchema = rolloutSchema.extend({
  /** When it changed the stack: ISO 8601, UTC. */
  at: z.iso.datetime(),
  /**
   * The tenant's identity at that time, by which a run without the journal recognizes the tenant of a key. Absent in
   * markers of an earlier release.
   */
  identity: identity.optional().catch(undefined),
  /** The rollout that read the identity. Default: the one that the marker names. */
  identitySource: rolloutSchema.optional().catch(undefined),
  /** The last rollout for which a person said that what was remembered of the tenant is wrong, as a sequence number. Default: none. */
  acceptedSeq: z.int().min(1).optional().catch(undefined),
  /** Whether the rollout adopted the stack without a change of the tenant. Default: false. */
  isUnchanged: z.boolean().optional().catch(undefined),
});

/**
 * The marker that a rollout leaves in the state of each stack that it changes, as an output of the stack. A run with another journal learns
 * from it about the rollout, also after its end. A rollout that changes nothing, only prunes expired entries, or reverts drift doesn't name
 * itself as the last one. It renews the identity if it changes the tenant, if the marker has none, or if a person rejects the old one. A
 * rollout that changes nothing leaves a marker in a stack without one.
 */
export type StackMarker = Readonly<ReturnType<typeof omitUndefined<z.infer<typeof markerSchema>>>>;

/**
 * Reads a stack's marker. Undefined if it has none, for example after a run of the user's own program.
 *
 * @param exportedState the state as `pulumi stack export` prints it.
 */
export function readStackMarker(exportedState: unknown): StackMarker | undefined {
  const { data } = stackStateSchema.safeParse(exportedState);
  const root = data?.deployment.resources.find(({ type }) => type === "pulumi:pulumi:Stack");
  const { data: storedMarker } = markerSchema.safeParse(root?.outputs?.[MARKER_OUTPUT]);
  return storedMarker && omitUndefined(storedMarker);
}

/** The highest sequence number in a marker. Each later rollout of the stack gets a higher one. */
export function getMarkerSequence({ seq, identitySource }: StackMarker): number {
  return Math.max(seq, identitySource?.seq ?? 0);
}

import { z } from "zod";
import { jsonArray } from "../../model/json-schema-builders";
import { ROLLOUT_MODES } from "../model/rollout-mode";

const LOCK_FORMAT = 1;

const rolledBackSchema = z.object({ rollout: z.string(), changes: jsonArray(z.string()) });

export type RolledBackChanges = Readonly<z.infer<typeof rolledBackSchema>>;

const lockSchema = z.object({
  format: z.literal(LOCK_FORMAT),
  rollout: z.string(),
  project: z.string(),
  /** `open`: the rollout isn't finished, and no other may overtake it. `closed`: finished or abandoned, but with changes to review. */
  state: z.enum(["open", "closed"]),
  /**
   * Its state and what it waits for: `waits for approval. The wave canary is done, and its gate requires approval.`
   */
  status: z.string(),
  /** The location and machine of its journal, without a password. */
  journal: z.string(),
  /** Its position in the order in which rollouts started. Absent in locks that an earlier release wrote. */
  seq: z.int().min(0).exactOptional(),
  /** The number of events in the journal at that time. A journal with fewer is an older copy. */
  events: z.number(),
  /** When the lock was written: ISO 8601, UTC. */
  at: z.string(),
  /** The stacks that it has not reached yet. */
  pending: jsonArray(z.string()),
  /** The stacks whose change was not reviewed as their wave requires. `name` is the stack's. */
  unreviewed: jsonArray(z.object({ name: z.string(), sinceMs: z.number() })),
  /** The mode of an unattended rollout. Absent: the rollout applies the files. */
  mode: z.enum(ROLLOUT_MODES).exactOptional(),
  /** The changes that this rollout rolled back, which must not return unless requested. */
  rolledBack: rolledBackSchema.exactOptional(),
});

/**
 * The lock that a rollout stores next to the stacks. Every run on the same state backend sees it, whatever its journal. It lists the
 * stacks still to change and the unreviewed ones. It is plain data, all of which the journal has as well.
 */
export type RolloutLock = Readonly<Omit<z.infer<typeof lockSchema>, "format">>;

export function serializeLock(lock: RolloutLock): unknown {
  return { format: LOCK_FORMAT, ...lock };
}

/**
 * Parses a stored lock.
 *
 * @param rollout the id of its rollout, from the stack's name. An invalid lock, for example of a run killed while writing it, counts as
 * open
 * and as covering every stack.
 */
export function parseLock(rollout: string, stored: unknown): RolloutLock | UnreadableLock {
  const parsed = lockSchema.safeParse(stored);
  if (!parsed.success) return { rollout, state: "unreadable" };
  const { format: _format, ...lock } = parsed.data;
  return lock;
}

/** A lock that can't be read except for its name. */
export interface UnreadableLock {
  readonly rollout: string;
  readonly state: "unreadable";
}

export function isObsoleteLock({ state, unreviewed, rolledBack }: RolloutLock): boolean {
  return state === "closed" && unreviewed.length === 0 && (rolledBack?.changes ?? []).length === 0;
}

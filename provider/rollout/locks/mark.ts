import { z } from "zod";
import { withoutUndefined } from "../../settings/without-undefined";
import { TASKS, type Task } from "../model/task";
import type { UnseenTenant } from "../model/wave";

/** The version of the format of a mark. */
const MARK_FORMAT = 1;

/**
 * What a rollout leaves beside the stacks, so that every run over the same state backend knows of it, whatever journal it has:
 * which stacks it has not come to yet, and what nobody has looked at. Plain data; a journal has all of it and more.
 */
export interface Mark {
  /** The rollout's id. */
  readonly rollout: string;
  /** The Pulumi project of its stacks. */
  readonly project: string;
  /** `open`: not through, so that no other rollout may go past it. `closed`: through or abandoned, and still to be minded. */
  readonly state: "open" | "closed";
  /** What it does or waits for: `waits for a person. The wave canary is through, and its gate waits for a person.` */
  readonly told: string;
  /** Where its journal is, and on which machine: without a password. */
  readonly journal: string;
  /** Its place in the order in which rollouts started. Absent in what an earlier release wrote. */
  readonly seq?: number;
  /** How many events the journal had then: one with fewer is an older copy. */
  readonly events: number;
  /** When this was written; ISO 8601, UTC. */
  readonly at: string;
  /** The stacks that it has not come to yet. */
  readonly pending: readonly string[];
  /** The stacks that it changed, and whose change nobody has looked at as their wave asks for; `name` is the stack's. */
  readonly unseen: readonly UnseenTenant[];
  /** The task of an unattended rollout. Absent: the rollout brings what the files say. */
  readonly task?: Task;
  /** What this rollout rolled back, and is not to come again unasked. */
  readonly takenBack?: TakenBack;
}

/** What a rollback undid: the rollout, and the signatures of what it had done. */
export interface TakenBack {
  readonly rollout: string;
  readonly changes: readonly string[];
}

const schema = z.object({
  format: z.literal(MARK_FORMAT),
  rollout: z.string(),
  project: z.string(),
  state: z.enum(["open", "closed"]),
  told: z.string(),
  journal: z.string(),
  seq: z.int().min(0).optional(),
  events: z.number(),
  at: z.string(),
  pending: z.array(z.string()),
  unseen: z.array(z.object({ name: z.string(), sinceMs: z.number() })),
  task: z.enum(TASKS).optional(),
  takenBack: z.object({ rollout: z.string(), changes: z.array(z.string()) }).optional(),
});

/** A mark as it is kept. */
export function keptMark(mark: Mark): unknown {
  return { format: MARK_FORMAT, ...mark };
}

/**
 * Reads a mark back.
 *
 * @param rollout whose it is, by its name. One of which nothing more can be read, as of a run that was killed while it wrote it, is
 * open, and of every stack.
 */
export function readMark(rollout: string, kept: unknown): Mark | UnreadableMark {
  const parsed = schema.safeParse(kept);
  if (!parsed.success) return { rollout, state: "unreadable" };
  const { format: _format, takenBack, task, seq, ...mark } = parsed.data;
  return { ...mark, ...withoutUndefined({ takenBack, task, seq }) };
}

/** A mark of which only the name is known. */
export interface UnreadableMark {
  readonly rollout: string;
  readonly state: "unreadable";
}

/** Whether nothing of a mark has to be minded any more. */
export function isSpent({ state, unseen, takenBack }: Mark): boolean {
  return state === "closed" && unseen.length === 0 && (takenBack?.changes ?? []).length === 0;
}

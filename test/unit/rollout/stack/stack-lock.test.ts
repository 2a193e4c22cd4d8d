import { hostname } from "node:os";
import { expect, it } from "vitest";
import {
  isOrphanedLock,
  type LockOwner,
  type Processes,
  parseStackLocks,
} from "../../../../provider/rollout/stack/parse-stack-lock";

const SINCE = "2026-11-21T09:30:00Z";
const sinceMs = Date.parse(SINCE);
const buildLockError = (...owners: string[]): string =>
  [
    `error: the stack is currently locked by ${owners.length} lock(s). Either wait for the other process(es) to end or delete the lock file with \`pulumi cancel\`.`,
    ...owners.map(
      (owner, number) =>
        `  s3://states/.pulumi/locks/organization/p/t0/${number}.json: created by ${owner} at ${SINCE}`,
    ),
  ].join("\n");

it("parses all lock owners", () => {
  const two = parseStackLocks(buildLockError("ci@runner-7 (pid 4711)", "ana@laptop (pid 12)"));
  expect(two.owners).toEqual([
    { host: "runner-7", pid: 4711, sinceMs, description: `ci@runner-7 (pid 4711), since ${SINCE}` },
    { host: "laptop", pid: 12, sinceMs, description: `ana@laptop (pid 12), since ${SINCE}` },
  ]);
  expect(two.description).toBe(`ci@runner-7 (pid 4711), since ${SINCE} and ana@laptop (pid 12), since ${SINCE}`);
  const cutOff = buildLockError("ci@runner-7 (pid 4711)", "ana@laptop (pid 12)").split("\n").slice(0, 2).join("\n");
  expect(parseStackLocks(cutOff).owners).toBeUndefined();
  expect(parseStackLocks("error: [409] Conflict: Another update is currently in progress.")).toEqual({
    description: "another run",
    owners: undefined,
  });
});

/** The process that now has the lock's process id, and its start time relative to the lock's creation. */
const CASES: readonly {
  readonly case: string;
  readonly host?: string;
  readonly now?: { readonly name?: string; readonly afterMs?: number };
  readonly isOrphaned: boolean;
}[] = [
  { case: "no process", isOrphaned: true },
  { case: "a process on another machine", host: "elsewhere", isOrphaned: false },
  { case: "the CLI that made it", now: { name: "/opt/pulumi", afterMs: -900 }, isOrphaned: false },
  { case: "the CLI that made it, by a rounded clock", now: { name: "pulumi", afterMs: 900 }, isOrphaned: false },
  { case: "the CLI, whose clock was adjusted", now: { name: "pulumi", afterMs: 20_000 }, isOrphaned: false },
  { case: "a CLI with another name", now: { name: "/opt/iac", afterMs: -900 }, isOrphaned: false },
  { case: "another program", now: { name: "/usr/bin/node", afterMs: 20_000 }, isOrphaned: true },
  { case: "another CLI, much later", now: { name: "pulumi", afterMs: 3_600_000 }, isOrphaned: true },
  { case: "a process that can't be inspected", now: {}, isOrphaned: false },
  { case: "another program with an unknown start time", now: { name: "node" }, isOrphaned: false },
];

it.each(CASES)("considers a lock orphaned: $isOrphaned, when its pid now belongs to $case", (item) => {
  const { host = "here", now, isOrphaned } = item;
  const processes: Processes = {
    host: "here",
    isRunning: () => now !== undefined,
    getName: () => now?.name,
    getStartedAtMs: () => (now?.afterMs === undefined ? undefined : sinceMs + now.afterMs),
  };
  expect(isOrphanedLock({ host, pid: 7, sinceMs }, processes)).toBe(isOrphaned);
});

it.runIf(process.platform === "linux")("detects locks older than the local process with their pid", () => {
  const buildOwnLock = (sinceMs: number): LockOwner => ({
    description: "",
    host: hostname(),
    pid: process.pid,
    sinceMs,
  });
  // Not `Date.now()`, because the clock may have been set since the start of this process.
  expect(isOrphanedLock(buildOwnLock(performance.timeOrigin + 1_000))).toBe(false);
  expect(isOrphanedLock(buildOwnLock(performance.timeOrigin - 86_400_000))).toBe(true);
});

import { spawnSync } from "node:child_process";

/** The reason why a directory's disk can't be written to. */
export type UnwritableDisk = "full" | "read-only";

const MOUNTS: Readonly<Record<UnwritableDisk, string>> = {
  // A separate, full disk with a copy of the directory.
  full: 'copy=$(mktemp -d) && cp -a . "$copy" && mount -t tmpfs -o size=4m none "$PWD" && cd "$PWD" && cp -a "$copy/." . && rm -r "$copy" && { dd if=/dev/zero of=filling bs=1k 2>/dev/null || true; }',
  "read-only": 'mount --bind "$PWD" "$PWD" && mount -o remount,ro,bind "$PWD" && cd "$PWD"',
};

/** Whether this machine lets a process create a private mount. */
export const canMount = spawnSync("unshare", ["--map-root-user", "--mount", "true"]).status === 0;

/**
 * Returns the command and arguments that run a program with its working directory on such a disk. Only that program
 * sees the disk.
 */
export function buildDiskCommand(disk: UnwritableDisk, program: readonly string[]): readonly [string, string[]] {
  return ["unshare", ["--map-root-user", "--mount", "sh", "-c", `${MOUNTS[disk]} && exec "$0" "$@"`, ...program]];
}

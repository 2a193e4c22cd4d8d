/** The exit codes of all commands; `docs/reference/exit-codes.md` documents them. */
export const EXIT = {
  /** Nothing to do, or no findings. */
  clean: 0,
  /** Invalid input, no connection, or a failure. */
  error: 1,
  /** Changes, drift or findings. */
  changes: 2,
  /** Refused because of a blocker. */
  refused: 3,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Why Pulumi failed, if its output reveals the cause. */
export interface EngineCause {
  /** The cause as a sentence. Absent if the message already states it. */
  readonly summary?: string;
  /** The fix before the next run: the beginning of a sentence. */
  readonly advice: string;
}

const BACKEND_UNREACHABLE =
  /unable to open state (?:database|bucket|store)|failed to ping PostgreSQL|(?:read "\.pulumi\/meta\.yaml"|could not list bucket|failed to load checkpoint|IO error occurred).*(?:dial tcp|lookup|connection|timeout|no such host|credentials|StatusCode)/s;

const BUCKET_ERROR = String.raw`blob \((?:key|code)[\s\S]*`;
const BUCKET_ACCESS_DENIED = new RegExp(
  `${BUCKET_ERROR}(?:credential|AccessDenied|InvalidAccessKeyId|SignatureDoesNotMatch|ExpiredToken|AuthenticationFailed|AuthorizationFailure|StatusCode: 40[13]\\b)`,
  "i",
);
const BUCKET_MISSING = new RegExp(`${BUCKET_ERROR}(?:NoSuchBucket|ContainerNotFound|bucket does not exist)`, "i");

/** A process was killed from outside, which need not happen again. */
const PROCESS_DIED = /^The (?:Pulumi CLI|process that runs Pulumi) .*in the middle of/;
const PROVIDER_DIED = /error reading from server: EOF|transport is closing|plugin .* exited/;

const CAUSES: readonly (readonly [words: RegExp, cause: EngineCause])[] = [
  [
    /no space left on device|disk quota exceeded/i,
    {
      summary: "The disk of the stacks' state or of the temporary files is full.",
      advice: "Free space on it",
    },
  ],
  [
    PROCESS_DIED,
    {
      advice:
        "Check whether the machine ran out of memory (`dmesg`, or the limits of the job); if so, add memory, or add `--max-concurrent 1` to the next command",
    },
  ],
  [
    /out of memory|cannot allocate memory|ENOMEM/i,
    {
      summary: "The machine ran out of memory.",
      advice: "Add memory, or add `--max-concurrent 1` to the next command",
    },
  ],
  [
    /^The Pulumi CLI can't be started/,
    {
      advice:
        "Check that the program in the message exists and is executable; `email-security doctor` finds or installs one",
    },
  ],
  [
    PROVIDER_DIED,
    {
      summary: "The provider's process ended unexpectedly. The next run verifies which of its changes took effect.",
      advice: "Check whether it was killed, or the machine ran out of memory",
    },
  ],
  [
    /incorrect passphrase/,
    {
      summary: "PULUMI_CONFIG_PASSPHRASE isn't the passphrase of the stack. This tenant was not changed.",
      advice: "Set the correct passphrase, or PULUMI_CONFIG_PASSPHRASE_FILE",
    },
  ],
  [
    /passphrase must be set/,
    {
      summary: "The stack is encrypted with a passphrase, and none is set. This tenant was not changed.",
      advice: "Set PULUMI_CONFIG_PASSPHRASE, or PULUMI_CONFIG_PASSPHRASE_FILE",
    },
  ],
  [
    /unable to open state directory.*no such file or directory/s,
    {
      summary: "The directory of the state backend is missing. This tenant was not changed.",
      advice: "Mount or restore the directory, with its contents, or fix PULUMI_BACKEND_URL",
    },
  ],
  [
    /unable to open state directory.*|\.pulumi\/.*permission denied/s,
    {
      summary: "This user isn't allowed to read or write the state backend's files.",
      advice: "Grant this user the permission",
    },
  ],
  [
    BUCKET_MISSING,
    {
      summary: "The bucket of the state backend doesn't exist. This tenant was not changed.",
      advice:
        "Fix PULUMI_BACKEND_URL; create the bucket only if it never existed, because with an empty one all stacks count as new",
    },
  ],
  [
    BUCKET_ACCESS_DENIED,
    {
      summary: "This run can't access the state backend's bucket: the credentials are missing or rejected.",
      advice:
        "Give the run credentials for the bucket (for S3: `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, `AWS_PROFILE`, or the machine's role)",
    },
  ],
  [
    BACKEND_UNREACHABLE,
    {
      summary: "The state backend can't be reached.",
      advice: "Check that it is up and reachable from here, and accepts this machine's credentials",
    },
  ],
  [/is truncated: the machine lost power/, { advice: "Follow the message" }],
];

/** Finds the cause of a Pulumi failure by its message. Undefined if the message is clear enough or the cause is unknown. */
export function findEngineCause(message: string): EngineCause | undefined {
  return CAUSES.find(([words]) => words.test(message))?.[1];
}

/** Whether a process died during a run of Pulumi. The next run recovers from that. */
export function isProcessDeath(message: string): boolean {
  return PROCESS_DIED.test(message) || PROVIDER_DIED.test(message);
}

/** Why Pulumi failed, if its output reveals the cause. */
export interface EngineCause {
  /** The cause as a sentence. Absent if the message already states it. */
  readonly summary?: string;
  /** The fix before the next run: the beginning of a sentence. */
  readonly advice: string;
}

const BACKEND_UNREACHABLE =
  /unable to open state (?:database|bucket|store)|failed to ping PostgreSQL|(?:read "\.pulumi\/meta\.yaml"|could not list bucket|failed to load checkpoint|IO error occurred).*(?:dial tcp|lookup|connection|timeout|no such host|credentials|StatusCode)/s;

/** Matches errors of the bucket clients of all clouds. */
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
      summary: "The disk is full, where the state of the stacks is or the temporary files are.",
      advice: "Make room there",
    },
  ],
  [
    PROCESS_DIED,
    {
      advice:
        "See whether the machine was short of memory (`dmesg`, or the limits of the job); if so, give it more, or add `--max-concurrent 1` to what follows",
    },
  ],
  [
    /out of memory|cannot allocate memory|ENOMEM/i,
    {
      summary: "The machine was short of memory.",
      advice: "Give it more, or add `--max-concurrent 1` to what follows",
    },
  ],
  [
    /^The Pulumi CLI can't be started/,
    {
      advice:
        "See whether the program that is named is still there and may be run; `email-security doctor` finds or installs one",
    },
  ],
  [
    PROVIDER_DIED,
    {
      summary: "The provider's process ended too early. The next run verifies which of its changes took effect.",
      advice: "See whether somebody killed it, or the machine was short of memory",
    },
  ],
  [
    /incorrect passphrase/,
    {
      summary:
        "PULUMI_CONFIG_PASSPHRASE is not the passphrase that the stack is encrypted with. Nothing of this tenant was changed.",
      advice: "Set the right one, or PULUMI_CONFIG_PASSPHRASE_FILE",
    },
  ],
  [
    /passphrase must be set/,
    {
      summary: "There is no passphrase, and the stack is encrypted with one. Nothing of this tenant was changed.",
      advice: "Set PULUMI_CONFIG_PASSPHRASE, or PULUMI_CONFIG_PASSPHRASE_FILE",
    },
  ],
  [
    /unable to open state directory.*no such file or directory/s,
    {
      summary: "The directory of the state backend is missing. Nothing of this tenant was changed.",
      advice: "Mount or restore the directory, with its contents, or fix PULUMI_BACKEND_URL",
    },
  ],
  [
    /unable to open state directory.*|\.pulumi\/.*permission denied/s,
    {
      summary: "The state backend's files may not be read or written.",
      advice: "Give this user the right to them",
    },
  ],
  [
    BUCKET_MISSING,
    {
      summary: "The bucket of the state backend is not there. Nothing of this tenant was changed.",
      advice:
        "Fix PULUMI_BACKEND_URL; make the bucket only if it never existed, since with an empty one all stacks count as new",
    },
  ],
  [
    BUCKET_ACCESS_DENIED,
    {
      summary:
        "The state backend's bucket does not open for this run: it has no credentials for it, or they are not taken.",
      advice:
        "Give the run what opens the bucket (of S3: `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, `AWS_PROFILE`, or the machine's role)",
    },
  ],
  [
    BACKEND_UNREACHABLE,
    {
      summary: "The state backend can't be reached.",
      advice: "See whether it is up, can be reached from here, and takes what this machine signs in with",
    },
  ],
  [/is cut off: the machine lost its power/, { advice: "Do what the message says" }],
];

/** Finds the cause of a Pulumi failure by its message. Undefined if the message is clear enough or the cause is unknown. */
export function findEngineCause(message: string): EngineCause | undefined {
  return CAUSES.find(([words]) => words.test(message))?.[1];
}

/** Whether a process died during a run of Pulumi. The next run recovers from that. */
export function isProcessDeath(message: string): boolean {
  return PROCESS_DIED.test(message) || PROVIDER_DIED.test(message);
}

import { type Deadline, runInDeadlineContext } from "../client/deadline-context";
import { EmailSecurityError } from "../model/email-security-error";
import type { TenantCache } from "./tenant-cache";

/** The maximum duration of a timer, in milliseconds. A longer one would fire immediately. */
const MAX_MS = 2 ** 31 - 1;

/** The methods that send no request and need no time limit. In `runExclusive`, the work itself is limited. */
const UNBOUNDED_METHODS: ReadonlySet<string | symbol> = new Set<keyof TenantCache>([
  "getCachedEntry",
  "getCachedMailDomains",
  "hasDeleted",
  "runExclusive",
]);

/** An operation exceeded its time limit. The message says what may have been done. `ERR_CUSTOM_TIMEOUT` */
export class OperationTimeoutError extends EmailSecurityError {
  constructor(message: string) {
    super("ERR_CUSTOM_TIMEOUT", message);
  }
}

/**
 * The time limit of one operation, from construction on. When it expires, whatever the operation waits for fails with
 * an {@link OperationTimeoutError}. Shared work, such as a read, continues for other callers.
 */
export class TimeLimit {
  readonly #description: string;
  readonly #timeoutCallbacks = new Set<() => void>();
  readonly #timer: NodeJS.Timeout;
  #isExpired = false;

  /** @param limit the seconds, and the option that sets them with its resource, for the middle of a sentence. */
  constructor({ seconds, option }: { readonly seconds: number; readonly option: string }) {
    this.#description = `the timeout of ${seconds} s of ${option} was exceeded`;
    this.#timer = setTimeout(
      () => {
        this.#isExpired = true;
        for (const onTimeout of this.#timeoutCallbacks) onTimeout();
      },
      Math.min(seconds * 1_000, MAX_MS),
    );
  }

  /**
   * Wraps the tenant so that its methods respect the time limit. Reads and batches are still shared with other
   * operations.
   */
  wrapTenant(limitTenant: TenantCache): TenantCache {
    return new Proxy(limitTenant, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        if (UNBOUNDED_METHODS.has(name)) return member.bind(target);
        return (...args: unknown[]) =>
          this.run((deadline) => runInDeadlineContext(deadline, () => member.apply(target, args)));
      },
    });
  }

  async run<T>(work: (deadline: Deadline) => Promise<T>): Promise<T> {
    const sentRequests = new Set<string>();
    if (this.#isExpired) throw this.#buildError(sentRequests);
    const timeout = Promise.withResolvers<never>();
    const onTimeout = () => timeout.reject(this.#buildError(sentRequests));
    this.#timeoutCallbacks.add(onTimeout);
    try {
      return await Promise.race([
        work({
          isExpired: () => this.#isExpired,
          recordRequest: (statusText) => sentRequests.add(statusText),
        }),
        timeout.promise,
      ]);
    } finally {
      this.#timeoutCallbacks.delete(onTimeout);
    }
  }

  clear(): void {
    clearTimeout(this.#timer);
  }

  #buildError(sentRequests: ReadonlySet<string>): OperationTimeoutError {
    const [first] = sentRequests;
    const statusText =
      first === undefined
        ? `before anything was changed: ${this.#description}, and no write was sent.`
        : `before the service responded: ${this.#description} during ${[...sentRequests].join(" and ")}, which may have taken effect.`;
    return new OperationTimeoutError(
      `The operation timed out ${statusText} Nothing more is sent. You can safely run again: a run checks the current state and does the rest. If the service needs longer, increase the timeout.`,
    );
  }
}

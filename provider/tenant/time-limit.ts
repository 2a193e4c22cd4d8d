import { type Bound, bounded } from "../client/bound";
import { EmailSecurityError } from "../settings/email-security-error";
import type { Tenant } from "./tenant";

/** The maximum of a timer, in milliseconds; a longer one would fire immediately. */
const MAX_MS = 2 ** 31 - 1;

/** Methods that send no request and need no deadline; work in turn sets its own. */
const UNBOUNDED: ReadonlySet<string | symbol> = new Set<keyof Tenant>([
  "knownEntry",
  "knownPeople",
  "hasDeleted",
  "inTurn",
]);

/** An operation exceeded its time limit; the message says what may have been done. `ERR_CUSTOM_TIMEOUT` */
export class TimeIsOverError extends EmailSecurityError {
  constructor(message: string) {
    super("ERR_CUSTOM_TIMEOUT", message);
  }
}

/**
 * The time limit of one operation, from construction on. When it expires, whatever the operation waits for fails with a
 * {@link TimeIsOverError}. Shared work, such as a reading, continues for other callers.
 */
export class TimeLimit {
  readonly #told: string;
  readonly #waiting = new Set<() => void>();
  readonly #timer: NodeJS.Timeout;
  #isOver = false;

  /** @param of the option that sets the time and the resource, as it reads in the middle of a sentence. */
  constructor({ seconds, of }: { readonly seconds: number; readonly of: string }) {
    this.#told = `the ${seconds} s of ${of} were over`;
    this.#timer = setTimeout(
      () => {
        this.#isOver = true;
        for (const tell of this.#waiting) tell();
      },
      Math.min(seconds * 1_000, MAX_MS),
    );
  }

  /** Returns the tenant as the operation sees it, with the same snapshots and batches as all others. */
  tenant(tenant: Tenant): Tenant {
    return new Proxy(tenant, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        if (UNBOUNDED.has(name)) return member.bind(target);
        return (...args: unknown[]) => this.wait((bound) => bounded(bound, () => member.apply(target, args)));
      },
    });
  }

  /** Waits for the work, at most until the time limit. */
  async wait<T>(work: (bound: Bound) => Promise<T>): Promise<T> {
    const sent = new Set<string>();
    if (this.#isOver) throw this.#error(sent);
    const over = Promise.withResolvers<never>();
    const tell = () => over.reject(this.#error(sent));
    this.#waiting.add(tell);
    try {
      return await Promise.race([
        work({ isOver: () => this.#isOver, sends: (what) => sent.add(what) }),
        over.promise,
      ]);
    } finally {
      this.#waiting.delete(tell);
    }
  }

  /** Ends the time limit when the operation is done. */
  end(): void {
    clearTimeout(this.#timer);
  }

  #error(sent: ReadonlySet<string>): TimeIsOverError {
    const [first] = sent;
    const what =
      first === undefined
        ? `before this was done: ${this.#told}, and nothing was sent to change it.`
        : `before the service had answered: ${this.#told} when ${[...sent].join(" and ")} was under way, so it may have been done.`;
    return new TimeIsOverError(
      `The time was up ${what} Nothing more is sent. Running again is safe: it looks at what is there and does what is left. Where the service needs longer, allow more.`,
    );
  }
}

import { ServiceError } from "../../client";
import { CircuitBreaker } from "../../client/circuit-breaker";
import { SCOPES, scopeOfCode } from "../../client/response-classification";
import { EmailSecurityError } from "../../settings/email-security-error";
import { quote } from "../../settings/text";
import type { Target } from "../model/target";

/** How a tenant is asked something. */
export interface Asking {
  /** Whether its address is known to answer; where it is not, this may take as long as a request may. */
  readonly isKnown: boolean;
  /**
   * How often a request is made again: by the `whole` policy; `short`, no longer than one request may take, so that only what
   * fails quickly is; `none`, never.
   */
  readonly patience: "whole" | "short" | "none";
  /** Tells that the service has answered, where more is asked after it. */
  readonly answered: () => void;
}

/**
 * Makes one small request of a tenant, once.
 *
 * @param about the failure of another tenant that it is to be compared with.
 * @throws what it failed with.
 */
export type Look = (target: Target, about: string, signal: AbortSignal) => Promise<void>;

export interface AddressHealthOptions {
  readonly look: Look;
  /** The tenants that may be asked whether an address answers. Default: those of whom something was asked before. */
  readonly targets?: readonly Target[];
  /** Milliseconds. Default: the machine's clock. */
  readonly now?: () => number;
}

/** So many other tenants are asked, at once, whether an address that failed one answers them. */
const WITNESSES = 3;

/**
 * What the tenants of one service address share of it while many are asked, so that none pays again for what another has
 * found out: where an address is silent, all of its tenants together cost two time-outs.
 *
 * While it is not known whether an address answers, one tenant asks for all. When a tenant fails for reasons that may be its
 * address's, a few others are looked at, one that was answered before among them. Where any of them is answered, the address is well, and
 * the tenant gets all the tries of the retry policy; else it is down, and its other tenants fail at once, without a request.
 * After a while it is looked at anew.
 */
export class AddressHealth {
  readonly #options: Required<AddressHealthOptions>;
  readonly #addresses = new Map<string, Address>();

  constructor({ look, targets = [], now = Date.now }: AddressHealthOptions) {
    this.#options = { look, targets, now };
    for (const target of targets) this.#of(target);
  }

  /**
   * Asks something of a tenant, and again with more patience where only this tenant is in trouble.
   *
   * @throws {EmailSecurityError} with the code of the failure that its address is known by, when it is down.
   * @throws what asking failed with.
   */
  async ask<T>(target: Target, attempt: (asking: Asking) => Promise<T>): Promise<T> {
    const address = this.#of(target);
    while (address.asking !== undefined) await address.asking;
    this.#refuseDown(target);
    if (address.witness !== undefined) return await this.#attempt(target, attempt, true);
    const { promise, resolve } = Promise.withResolvers<void>();
    address.asking = promise;
    address.endAsking = () => {
      address.asking = undefined;
      resolve();
    };
    const { endAsking } = address;
    try {
      return await this.#attempt(target, attempt, false);
    } finally {
      if (address.asking === promise) endAsking();
    }
  }

  /**
   * Looks whether a tenant's address answers, where the last thing that was {@link learned} of it speaks against it.
   *
   * @throws {EmailSecurityError} as {@link ask}, when it is down.
   */
  async ensureAnswers(target: Target): Promise<void> {
    const address = this.#of(target);
    this.#refuseDown(target);
    if (address.trouble === undefined) return;
    await this.#answersOthers(address);
    this.#refuseDown(target);
  }

  /** Takes what became of a tenant that was asked by others, as by the engine. @param error undefined where all went well. */
  learned(target: Target, error: unknown): void {
    const address = this.#of(target);
    if (error === undefined) this.#answered(target, address);
    else if (isOfAddress(error) && !(error instanceof NotAskedError)) address.trouble = { target, error };
  }

  /** Whether the address of a tenant is known to be down, so that asking fails at once. */
  isDown(target: Target): boolean {
    return this.#of(target).breaker.state === "open";
  }

  async #attempt<T>(target: Target, attempt: (asking: Asking) => Promise<T>, isKnown: boolean): Promise<T> {
    const address = this.#of(target);
    // That a part of it answers, as one list of several, does not make one well that is known to be down.
    const answered = (): void => {
      if (address.breaker.state === "closed") this.#witnessed(target, address);
    };
    try {
      const found = await attempt({ isKnown, patience: "short", answered });
      this.#answered(target, address);
      return found;
    } catch (error) {
      if (isAnswer(error)) answered();
      if (!isOfAddress(error)) throw error;
      address.trouble = { target, error };
      if (!this.isDown(target)) await this.#answersOthers(address);
      if (this.isDown(target)) throw error;
    }
    return await attempt({ isKnown: false, patience: "whole", answered });
  }

  /** Looks whether an address answers other tenants than the one in trouble; where it answers none, it is down. */
  async #answersOthers(address: Address): Promise<void> {
    address.looking ??= this.#look(address).finally(() => {
      address.looking = undefined;
    });
    await address.looking;
  }

  async #look(address: Address): Promise<void> {
    const { trouble } = address;
    if (trouble === undefined) return;
    const { look } = this.#options;
    const enough = new AbortController();
    const looks = witnessesIn(address, trouble.target).map(async (witness) => {
      try {
        await look(witness, messageOf(trouble.error), enough.signal);
      } catch (error) {
        if (!isAnswer(error)) throw error;
      }
      return witness;
    });
    try {
      this.#answered(await Promise.any(looks), address);
    } catch (error) {
      const { errors } = error as AggregateError;
      // What kept the requests from being made says nothing of the address.
      const failure: unknown = errors.find(isOfAddress);
      if (failure instanceof Error) address.breaker.failed(failure);
    } finally {
      enough.abort(new Error("another tenant was answered"));
    }
  }

  #answered(target: Target, address: Address): void {
    address.breaker.close();
    address.trouble = undefined;
    this.#witnessed(target, address);
  }

  #witnessed(target: Target, address: Address): void {
    address.witness = target;
    if (address.asking !== undefined) address.endAsking();
  }

  #refuseDown(target: Target): void {
    const address = this.#of(target);
    const { trouble, breaker } = address;
    if (trouble === undefined || breaker.state === "closed") return;
    if (breaker.state === "open") throw new NotAskedError(trouble);
    // It may have come back: the next tenant probes it for all.
    breaker.close();
    address.witness = undefined;
  }

  #of(target: Target): Address {
    const known = this.#addresses.get(target.baseUrl) ?? newAddress(this.#options.now);
    this.#addresses.set(target.baseUrl, known);
    known.tenants.set(target.name, target);
    return known;
  }
}

/** A tenant was not asked, since its address is down; the code is that of what its address is known by. */
export class NotAskedError extends EmailSecurityError {
  constructor({ target, error }: Trouble) {
    const code = error instanceof EmailSecurityError ? error.code : "ERR_NETWORK";
    // The engine tells more below it.
    const [why = ""] = messageOf(error).split("\n");
    super(
      code,
      `It was not asked, and nothing of it was changed: its service was found to be down for ${quote(target.name)} and others just before. ${why}`,
      { cause: error },
    );
  }
}

interface Trouble {
  readonly target: Target;
  readonly error: unknown;
}

interface Address {
  /** Those who can be asked, by name. */
  readonly tenants: Map<string, Target>;
  /** Settled once it is known whether it answers; undefined while nobody asks for all. */
  asking: Promise<void> | undefined;
  endAsking: () => void;
  looking: Promise<void> | undefined;
  /** Who was answered last. */
  witness: Target | undefined;
  /** The last failure that may be the address's, since somebody was answered. */
  trouble: Trouble | undefined;
  /** Open once it was found to answer nobody. */
  readonly breaker: CircuitBreaker;
}

function newAddress(now: () => number): Address {
  return {
    tenants: new Map(),
    asking: undefined,
    endAsking: () => {},
    looking: undefined,
    witness: undefined,
    trouble: undefined,
    breaker: new CircuitBreaker({ now, bursts: 1 }),
  };
}

/** Who was answered before, and some from all over the list, since neighbours may have the same trouble. */
function witnessesIn({ tenants, witness }: Address, inTrouble: Target): readonly Target[] {
  const others = [...tenants.values()].filter(({ name }) => name !== inTrouble.name);
  if (others.length === 0) return [inTrouble];
  const spread = Array.from(
    { length: WITNESSES },
    (_, at) => others[Math.floor(((at + 0.5) * others.length) / WITNESSES)],
  );
  const known = witness?.name === inTrouble.name ? undefined : witness;
  const all = [known, ...spread].filter((one) => one !== undefined);
  return [...new Map(all.map((one) => [one.name, one])).values()].slice(0, WITNESSES);
}

/** Whether a failure of one tenant may be that of all tenants of its address. */
export function isOfAddress(error: unknown): boolean {
  if (!(error instanceof EmailSecurityError)) return false;
  const scope = error instanceof ServiceError ? error.scope : scopeOfCode(error.code);
  return scope !== undefined && SCOPES[scope].isSharedByAddress === true;
}

/** Whether a failure is an answer of a service that works: a refusal of this tenant alone, say. */
function isAnswer(error: unknown): boolean {
  return error instanceof ServiceError && error.status !== undefined && !isOfAddress(error);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

import { ServiceError } from "../../client";
import { CircuitBreaker } from "../../client/circuit-breaker";
import { SCOPES, scopeOfCode } from "../../client/response-classification";
import { EmailSecurityError } from "../../settings/email-security-error";
import { quote } from "../../settings/text";
import type { Target } from "../model/target";

/** The request policy for a tenant. */
export interface Asking {
  /** Whether its address is known to respond. If not, the request may take up to the whole timeout. */
  readonly isKnown: boolean;
  /**
   * The retry policy. `whole`: the normal policy. `short`: retries within the timeout of one request, so only fast failures are
   * retried. `none`: no retries.
   */
  readonly patience: "whole" | "short" | "none";
  /** Reports that the service has responded, before further requests follow. */
  readonly answered: () => void;
}

/**
 * Sends one small request to a tenant, without retries.
 *
 * @param about the failure of another tenant, which selects a comparable request.
 * @throws the error of the request.
 */
export type Look = (target: Target, failureText: string, signal: AbortSignal) => Promise<void>;

export interface AddressHealthOptions {
  readonly look: Look;
  /** The tenants that may be used to probe an address. Default: those asked before. */
  readonly targets?: readonly Target[];
  /** The clock in milliseconds. Default: the machine's. */
  readonly now?: () => number;
}

/** How many other tenants to probe at once after a failure. */
const PROBE_COUNT = 3;

/**
 * Tracks the health of service addresses, which many tenants share. One tenant's timeout is a result for all tenants of the address: if the
 * address is silent, they cost two timeouts together.
 *
 * While the health of an address is unknown, one tenant probes it for all. If a tenant fails for reasons that may affect the whole address,
 * a few others are probed, including the one that last got a response. If any of them gets a response, the address is healthy, and the
 * tenant gets all the attempts of the retry policy. Otherwise the address is down, and its other tenants fail at once, without a request.
 * After a while, it is probed again.
 */
export class AddressHealth {
  readonly #options: Required<AddressHealthOptions>;
  readonly #addresses = new Map<string, AddressState>();

  constructor({ look, targets = [], now = Date.now }: AddressHealthOptions) {
    this.#options = { look, targets, now };
    for (const target of targets) this.#getAddress(target);
  }

  /**
   * Sends requests to a tenant, and retries with the whole policy if only this tenant is in trouble.
   *
   * @throws {EmailSecurityError} if the address is down, with the code of the failure that showed it.
   * @throws the error of the attempt.
   */
  async ask<T>(target: Target, attempt: (requestPolicy: Asking) => Promise<T>): Promise<T> {
    const address = this.#getAddress(target);
    while (address.asking !== undefined) await address.asking;
    this.#assertNotDown(target);
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
   * Probes a tenant's address if the last {@link learned} outcome suggests that it is down.
   *
   * @throws {EmailSecurityError} if it is down, as {@link ask} does.
   */
  async ensureAnswers(target: Target): Promise<void> {
    const address = this.#getAddress(target);
    this.#assertNotDown(target);
    if (address.trouble === undefined) return;
    await this.#probeOthers(address);
    this.#assertNotDown(target);
  }

  /** Records the outcome of requests made elsewhere, for example by the engine. @param error undefined on success. */
  learned(target: Target, error: unknown): void {
    const address = this.#getAddress(target);
    if (error === undefined) this.#recordAnswer(target, address);
    else if (isOfAddress(error) && !(error instanceof NotAskedError)) address.trouble = { target, error };
  }

  /** Whether a tenant's address is known to be down, so that requests fail at once. */
  isDown(target: Target): boolean {
    return this.#getAddress(target).breaker.state === "open";
  }

  async #attempt<T>(
    target: Target,
    attempt: (requestPolicy: Asking) => Promise<T>,
    isKnownHealthy: boolean,
  ): Promise<T> {
    const address = this.#getAddress(target);
    // A partial response, such as one list of several, doesn't make an address healthy that is known to be down.
    const onAnswered = (): void => {
      if (address.breaker.state === "closed") this.#setLastAnswered(target, address);
    };
    try {
      const result = await attempt({ isKnown: isKnownHealthy, patience: "short", answered: onAnswered });
      this.#recordAnswer(target, address);
      return result;
    } catch (error) {
      if (isServiceAnswer(error)) onAnswered();
      if (!isOfAddress(error)) throw error;
      address.trouble = { target, error };
      if (!this.isDown(target)) await this.#probeOthers(address);
      if (this.isDown(target)) throw error;
    }
    return await attempt({ isKnown: false, patience: "whole", answered: onAnswered });
  }

  /** Probes an address with other tenants. If none gets a response, it is down. */
  async #probeOthers(address: AddressState): Promise<void> {
    address.looking ??= this.#probeAddress(address).finally(() => {
      address.looking = undefined;
    });
    await address.looking;
  }

  async #probeAddress(address: AddressState): Promise<void> {
    const { trouble } = address;
    if (trouble === undefined) return;
    const { look } = this.#options;
    const abortController = new AbortController();
    const probes = selectProbeTargets(address, trouble.target).map(async (witness) => {
      try {
        await look(witness, getErrorMessage(trouble.error), abortController.signal);
      } catch (error) {
        if (!isServiceAnswer(error)) throw error;
      }
      return witness;
    });
    try {
      this.#recordAnswer(await Promise.any(probes), address);
    } catch (error) {
      const { errors } = error as AggregateError;
      // An error before the request says nothing about the address.
      const failure: unknown = errors.find(isOfAddress);
      if (failure instanceof Error) address.breaker.failed(failure);
    } finally {
      abortController.abort(new Error("another tenant was answered"));
    }
  }

  #recordAnswer(target: Target, address: AddressState): void {
    address.breaker.close();
    address.trouble = undefined;
    this.#setLastAnswered(target, address);
  }

  #setLastAnswered(target: Target, address: AddressState): void {
    address.witness = target;
    if (address.asking !== undefined) address.endAsking();
  }

  #assertNotDown(target: Target): void {
    const address = this.#getAddress(target);
    const { trouble, breaker } = address;
    if (trouble === undefined || breaker.state === "closed") return;
    if (breaker.state === "open") throw new NotAskedError(trouble);
    // The address may have recovered. The next tenant probes it for all.
    breaker.close();
    address.witness = undefined;
  }

  #getAddress(target: Target): AddressState {
    const state = this.#addresses.get(target.baseUrl) ?? createAddressState(this.#options.now);
    this.#addresses.set(target.baseUrl, state);
    state.tenants.set(target.name, target);
    return state;
  }
}

/** A tenant was not asked because its address is down. The code is that of the failure that showed it. */
export class NotAskedError extends EmailSecurityError {
  constructor({ target, error }: AddressFailure) {
    const code = error instanceof EmailSecurityError ? error.code : "ERR_NETWORK";
    // The engine adds further lines.
    const [firstLine = ""] = getErrorMessage(error).split("\n");
    super(
      code,
      `It was not asked, and nothing of it was changed: its service was found to be down for ${quote(target.name)} and others just before. ${firstLine}`,
      { cause: error },
    );
  }
}

interface AddressFailure {
  readonly target: Target;
  readonly error: unknown;
}

interface AddressState {
  /** The tenants that can be asked, by name. */
  readonly tenants: Map<string, Target>;
  /** Resolves when the health of the address is known. Undefined while no tenant probes for all. */
  asking: Promise<void> | undefined;
  endAsking: () => void;
  looking: Promise<void> | undefined;
  /** The last tenant that got a response. */
  witness: Target | undefined;
  /** The last failure that may affect the whole address, since the last response. */
  trouble: AddressFailure | undefined;
  /** Open after the address responded to no tenant. */
  readonly breaker: CircuitBreaker;
}

function createAddressState(now: () => number): AddressState {
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

/** Selects the last tenant that got a response, and some spread over the list, because neighbours may share a problem. */
function selectProbeTargets({ tenants, witness }: AddressState, failedTarget: Target): readonly Target[] {
  const others = [...tenants.values()].filter(({ name }) => name !== failedTarget.name);
  if (others.length === 0) return [failedTarget];
  const spread = Array.from(
    { length: PROBE_COUNT },
    (_, index) => others[Math.floor(((index + 0.5) * others.length) / PROBE_COUNT)],
  );
  const lastAnsweredOther = witness?.name === failedTarget.name ? undefined : witness;
  const all = [lastAnsweredOther, ...spread].filter((one) => one !== undefined);
  return [...new Map(all.map((one) => [one.name, one])).values()].slice(0, PROBE_COUNT);
}

/** Whether one tenant's failure may affect all tenants of its address. */
export function isOfAddress(error: unknown): boolean {
  if (!(error instanceof EmailSecurityError)) return false;
  const scope = error instanceof ServiceError ? error.scope : scopeOfCode(error.code);
  return scope !== undefined && SCOPES[scope].isSharedByAddress === true;
}

/** Whether a failure is a response of a working service, such as the rejection of one tenant. */
function isServiceAnswer(error: unknown): boolean {
  return error instanceof ServiceError && error.status !== undefined && !isOfAddress(error);
}

function getErrorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

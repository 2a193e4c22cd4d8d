import { ServiceError } from "../../client";
import { CircuitBreaker } from "../../client/circuit-breaker";
import { FAILURE_SCOPES, getScopeByCode } from "../../client/response-classification";
import { EmailSecurityError, getErrorMessage } from "../../model/email-security-error";
import { quote } from "../../model/text";
import type { Target } from "../model/target";

export interface RequestPolicy {
  /** Whether its address is known to respond. If not, the request may take up to the whole timeout. */
  readonly isKnownHealthy: boolean;
  /**
   * The retry policy. `whole`: the normal policy. `short`: retries within the timeout of one request, so only fast failures are
   * retried. `none`: no retries.
   */
  readonly retryMode: "whole" | "short" | "none";
  /** Reports that the service has responded, before further requests follow. */
  readonly onAnswer: () => void;
}

/**
 * Sends one small request to a tenant, without retries.
 *
 * @param failureText the failure of another tenant, which selects a comparable request.
 * @throws the error of the request.
 */
export type Probe = (target: Target, failureText: string, signal: AbortSignal) => Promise<void>;

export interface AddressHealthOptions {
  readonly probe: Probe;
  /** The tenants that may be used to probe an address. Default: those contacted before. */
  readonly targets?: readonly Target[];
  /** The clock in milliseconds. Default: the machine's. */
  readonly now?: () => number;
}

/** How many other tenants to probe at once after a failure. */
const PROBE_COUNT = 3;

/**
 * Tracks the health of service addresses, which many tenants share. One tenant's timeout is a result for all tenants of
 * the address: if the address doesn't respond, they cost two timeouts together.
 *
 * While the health of an address is unknown, one tenant probes it for all. If a tenant fails for reasons that may
 * affect the whole address, a few others are probed, including the one that last got a response. If any of them gets a
 * response, the address is healthy, and the tenant gets all the attempts of the retry policy. Otherwise the address is
 * down, and its other tenants fail at once, without a request. After a while, it is probed again.
 */
export class AddressHealth {
  readonly #options: Required<AddressHealthOptions>;
  readonly #addresses = new Map<string, AddressState>();

  constructor({ probe, targets = [], now = Date.now }: AddressHealthOptions) {
    this.#options = { probe, targets, now };
    for (const target of targets) this.#getAddress(target);
  }

  /**
   * Sends requests to a tenant, and retries with the whole policy if only this tenant has a problem.
   *
   * @throws {EmailSecurityError} if the address is down, with the code of the failure that showed it.
   * @throws the error of the attempt.
   */
  async run<T>(target: Target, attempt: (requestPolicy: RequestPolicy) => Promise<T>): Promise<T> {
    const address = this.#getAddress(target);
    while (address.leadRequest !== undefined) await address.leadRequest;
    this.#assertNotDown(target);
    if (address.lastAnswered !== undefined) return await this.#attempt(target, attempt, true);
    const { promise, resolve } = Promise.withResolvers<void>();
    address.leadRequest = promise;
    address.endLeadRequest = () => {
      address.leadRequest = undefined;
      resolve();
    };
    const { endLeadRequest } = address;
    try {
      return await this.#attempt(target, attempt, false);
    } finally {
      if (address.leadRequest === promise) endLeadRequest();
    }
  }

  /**
   * Probes a tenant's address if the last outcome from {@link recordOutcome} suggests that it is down.
   *
   * @throws {EmailSecurityError} if it is down, as {@link run} does.
   */
  async assertReachable(target: Target): Promise<void> {
    const address = this.#getAddress(target);
    this.#assertNotDown(target);
    if (address.lastFailure === undefined) return;
    await this.#probeOthers(address);
    this.#assertNotDown(target);
  }

  /** Records the outcome of requests made elsewhere, for example by the engine. @param error undefined on success. */
  recordOutcome(target: Target, error: unknown): void {
    const address = this.#getAddress(target);
    if (error === undefined) this.#recordAnswer(target, address);
    else if (isAddressWideFailure(error) && !(error instanceof AddressDownError))
      address.lastFailure = { target, error };
  }

  /** Whether a tenant's address is known to be down, so that requests fail at once. */
  isDown(target: Target): boolean {
    return this.#getAddress(target).breaker.state === "open";
  }

  async #attempt<T>(
    target: Target,
    attempt: (requestPolicy: RequestPolicy) => Promise<T>,
    isKnownHealthy: boolean,
  ): Promise<T> {
    const address = this.#getAddress(target);
    // A partial response, such as one list of several, doesn't make an address healthy that is known to be down.
    const onAnswered = (): void => {
      if (address.breaker.state === "closed") this.#setLastAnswered(target, address);
    };
    try {
      const result = await attempt({ isKnownHealthy, retryMode: "short", onAnswer: onAnswered });
      this.#recordAnswer(target, address);
      return result;
    } catch (error) {
      if (isServiceAnswer(error)) onAnswered();
      if (!isAddressWideFailure(error)) throw error;
      address.lastFailure = { target, error };
      if (!this.isDown(target)) await this.#probeOthers(address);
      if (this.isDown(target)) throw error;
    }
    return await attempt({ isKnownHealthy: false, retryMode: "whole", onAnswer: onAnswered });
  }

  /** Probes an address with other tenants. If none gets a response, it is down. */
  async #probeOthers(address: AddressState): Promise<void> {
    address.runningProbes ??= this.#probeAddress(address).finally(() => {
      address.runningProbes = undefined;
    });
    await address.runningProbes;
  }

  async #probeAddress(address: AddressState): Promise<void> {
    const { lastFailure } = address;
    if (lastFailure === undefined) return;
    const { probe } = this.#options;
    const abortController = new AbortController();
    const probes = selectProbeTargets(address, lastFailure.target).map(async (witness) => {
      try {
        await probe(witness, getErrorMessage(lastFailure.error), abortController.signal);
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
      const failure: unknown = errors.find(isAddressWideFailure);
      if (failure instanceof Error) address.breaker.recordFailure(failure);
    } finally {
      abortController.abort(new Error("another tenant got a response"));
    }
  }

  #recordAnswer(target: Target, address: AddressState): void {
    address.breaker.close();
    address.lastFailure = undefined;
    this.#setLastAnswered(target, address);
  }

  #setLastAnswered(target: Target, address: AddressState): void {
    address.lastAnswered = target;
    if (address.leadRequest !== undefined) address.endLeadRequest();
  }

  #assertNotDown(target: Target): void {
    const address = this.#getAddress(target);
    const { lastFailure, breaker } = address;
    if (lastFailure === undefined || breaker.state === "closed") return;
    if (breaker.state === "open") throw new AddressDownError(lastFailure);
    // The address may have recovered. The next tenant probes it for all.
    breaker.close();
    address.lastAnswered = undefined;
  }

  #getAddress(target: Target): AddressState {
    const state = this.#addresses.get(target.baseUrl) ?? createAddressState(this.#options.now);
    this.#addresses.set(target.baseUrl, state);
    state.tenants.set(target.name, target);
    return state;
  }
}

/** A tenant got no request because its address is down. The code is that of the failure that showed it. */
export class AddressDownError extends EmailSecurityError {
  constructor({ target, error }: AddressFailure) {
    const code = error instanceof EmailSecurityError ? error.code : "ERR_NETWORK";
    // The engine adds further lines.
    const [firstLine = ""] = getErrorMessage(error).split("\n");
    super(
      code,
      `No request was sent for this tenant, and it was not changed: its service was just found to be down for ${quote(target.name)} and others. ${firstLine}`,
      { cause: error },
    );
  }
}

interface AddressFailure {
  readonly target: Target;
  readonly error: unknown;
}

interface AddressState {
  readonly tenants: Map<string, Target>;
  /** Resolves when the health of the address is known. Undefined while no tenant probes it. */
  leadRequest: Promise<void> | undefined;
  endLeadRequest: () => void;
  runningProbes: Promise<void> | undefined;
  lastAnswered: Target | undefined;
  /** The last failure that may affect the whole address, since the last response. */
  lastFailure: AddressFailure | undefined;
  /** Open after the address responded to no tenant. */
  readonly breaker: CircuitBreaker;
}

function createAddressState(now: () => number): AddressState {
  return {
    tenants: new Map(),
    leadRequest: undefined,
    endLeadRequest: () => {},
    runningProbes: undefined,
    lastAnswered: undefined,
    lastFailure: undefined,
    breaker: new CircuitBreaker({ now, threshold: 1 }),
  };
}

/** Selects the last tenant that got a response, and some spread over the list, because neighbours may share a problem. */
function selectProbeTargets({ tenants, lastAnswered }: AddressState, failedTarget: Target): readonly Target[] {
  const others = [...tenants.values()].filter(({ name }) => name !== failedTarget.name);
  if (others.length === 0) return [failedTarget];
  const spread = Array.from(
    { length: PROBE_COUNT },
    (_, index) => others[Math.floor(((index + 0.5) * others.length) / PROBE_COUNT)],
  );
  const lastAnsweredOther = lastAnswered?.name === failedTarget.name ? undefined : lastAnswered;
  const all = [lastAnsweredOther, ...spread].filter((target) => target !== undefined);
  return [...new Map(all.map((target) => [target.name, target])).values()].slice(0, PROBE_COUNT);
}

/** Whether one tenant's failure may affect all tenants of its address. */
export function isAddressWideFailure(error: unknown): boolean {
  if (!(error instanceof EmailSecurityError)) return false;
  const scope = error instanceof ServiceError ? error.scope : getScopeByCode(error.code);
  return scope !== undefined && FAILURE_SCOPES[scope].isSharedByAddress === true;
}

/** Whether a failure is a response of a working service, such as the rejection of one tenant. */
function isServiceAnswer(error: unknown): boolean {
  return error instanceof ServiceError && error.status !== undefined && !isAddressWideFailure(error);
}

import { SettingsClient } from "../../client";
import type { ConnectionPool } from "../../client/connection-pool";
import { assertValidProxies } from "../../client/dispatcher";
import type { RequestLimiter } from "../../client/rate-limiter";
import { createAbortableTime } from "../../client/time";
import { DEFAULT_TIMEOUT_MS, type TransportOptions } from "../../client/transport";
import { NO_STACK_CONFIG, readTimeoutMs } from "../../resources/configuration";
import type { Target } from "../model/target";
import { readKey } from "../targets/read-key";
import type { Probe, RequestPolicy } from "./address-health";

export interface RequestContext {
  readonly environment: NodeJS.ProcessEnv;
  readonly getTokens: (target: Target, isAllowed?: () => boolean) => RequestLimiter;
  /** Aborts requests with its reason. Default: never. */
  readonly signal?: AbortSignal | undefined;
  /** The connections that all tenants share. Default: each client has its own. */
  readonly connections?: ConnectionPool;
}

/**
 * Sends requests to a tenant's service, with its own key and within the rate limit of its address. Afterwards it closes the connections and
 * aborts any request in progress.
 *
 * @param requestPolicy the retry policy. Default: the whole policy.
 */
export async function useTargetClient<T>(
  target: Target,
  apiKey: string,
  { environment, getTokens, signal, connections }: RequestContext,
  request: (client: SettingsClient) => Promise<T>,
  requestPolicy: Pick<RequestPolicy, "retryMode"> = { retryMode: "whole" },
): Promise<T> {
  const { baseUrl, allowInsecureHttp } = target;
  const timeoutMs = readTimeout(environment);
  const finished = new AbortController();
  const endSignal = signal === undefined ? finished.signal : AbortSignal.any([signal, finished.signal]);
  const options: TransportOptions = {
    baseUrl,
    apiKey,
    allowInsecureHttp,
    timeoutMs,
    retries: requestPolicy.retryMode !== "none",
    retryForMs: requestPolicy.retryMode === "whole" ? undefined : timeoutMs,
    limiter: getTokens(target, () => !endSignal.aborted),
    signal: endSignal,
    time: createAbortableTime(endSignal),
    connections: connections?.getAddress(baseUrl),
  };
  const client = new SettingsClient(options);
  try {
    return await request(client);
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  } finally {
    finished.abort(new Error("the response is no longer needed"));
    await client.close();
  }
}

/**
 * Builds a probe: one small request without retries, of the same kind as the failed request of another tenant. It has its own connection, so
 * it never waits for requests that got no response.
 */
export function createProbe(
  { connections: _shared, ...requestContext }: RequestContext,
  getKey: (target: Target) => Promise<string> = (target) => readKey(target, requestContext),
): Probe {
  return async (target, failureText, signal) => {
    const probeSignal = requestContext.signal === undefined ? signal : AbortSignal.any([requestContext.signal, signal]);
    const request = (client: SettingsClient): Promise<unknown> => {
      if (failureText.includes("/threats")) return client.threats.list({ minutes_ago: 1, page_size: 1 });
      if (failureText.includes("/vip_employees")) return client.vipEmployees.list({ page_size: 1 });
      return client.allowDenyEntries.list({ list: "deny", page_size: 1 });
    };
    const key = await getKey(target);
    await useTargetClient(target, key, { ...requestContext, signal: probeSignal }, request, {
      retryMode: "none",
    });
  };
}

/**
 * Validates the environment's settings for all requests, before the first one.
 *
 * @throws {ConfigurationError} that names the variable.
 */
export function assertRequestEnvironment(
  environment: NodeJS.ProcessEnv,
  targets: readonly Pick<Target, "baseUrl">[],
): void {
  readTimeout(environment);
  for (const { baseUrl } of targets) assertValidProxies(baseUrl, environment);
}

function readTimeout(environment: NodeJS.ProcessEnv): number {
  return readTimeoutMs(NO_STACK_CONFIG, environment) ?? DEFAULT_TIMEOUT_MS;
}

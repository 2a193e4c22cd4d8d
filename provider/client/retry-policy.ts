import type { ServiceError } from "./errors";

/*
 * What is tried again, when, and how often: the whole policy, in one place. docs/explanation/retries.md tells it;
 * `Pacer` carries it out.
 *
 * | failure                                              | GET, PATCH, DELETE | POST                               |
 * | ---------------------------------------------------- | ------------------ | ---------------------------------- |
 * | never sent (refused, no such host, no route)         | tried again        | tried again                        |
 * | 429                                                  | tried again        | tried again                        |
 * | 408, 500, 502, 503, 504, a reset, a time-out,        | tried again        | not by the client: the tenant reads |
 * | a body that breaks off                               |                    | its list, and asks for what is not there |
 * | a certificate that does not verify, a redirect, any  | fails              | fails; what may have been done is  |
 * | other status, an answer of another type or shape     |                    | looked for in the list             |
 *
 * PATCH and DELETE set what is declared, whatever was there, so that a second one does no harm.
 */

/** How often a call is tried in all, when it fails. */
export const MAX_TRIES = 4;
/** How often a call is tried in all, when it is refused for too many requests, which is no failure. */
export const MAX_REFUSALS = 8;
/** No try begins later than this after the first, in milliseconds. */
export const DEADLINE_MS = 120_000;

/** The wait before the second try, in milliseconds; it doubles with each, and is shortened by up to a half by chance. */
const BASE_DELAY_MS = 250;
/** The longest wait that nobody asked for. */
const MAX_DELAY_MS = 30_000;

/** How many retries a tenant's client has to begin with; each success gives back a part of one, up to a most. */
export const RETRY_BUDGET = 10;
export const REFILL_A_SUCCESS = 0.1;
export const MAX_RETRY_BUDGET = 100;

/** After so many waves of failures without an answer between, no request is made for a while; then one is, to see. */
export const CIRCUIT_WAVES = 6;
export const CIRCUIT_OPEN_MS = 30_000;

/** Whether the client may make the same request again. */
export function mayBeRepeated(error: ServiceError): boolean {
  return error.isTransient && (error.request.method !== "POST" || !error.outcomeUnknown);
}

/** The wait after so many failures in a row, in milliseconds. @param random from 0 to 1. */
export function delayMs(failures: number, random: number): number {
  const doubledMs = Math.min(MAX_DELAY_MS, BASE_DELAY_MS * 2 ** (failures - 1));
  return doubledMs * (0.5 + random / 2);
}

import { setTimeout as sleep } from "node:timers/promises";
import { SettingsClient } from "../../../provider/client";
import type { Certificate } from "../../support/certificate";
import { startFaultyProxy } from "../../support/faulty-proxy";
import { ENDPOINTS } from "../client/endpoints";
import type { FaultCase, ProxiedEndpoint } from "./faults";

/** A read-only endpoint, and the call that requests it. */
export interface ReadingEndpoint extends ProxiedEndpoint {
  readonly send: (client: SettingsClient, ids: KnownIds) => Promise<unknown>;
}

/** The IDs of objects that exist. */
export interface KnownIds {
  readonly report: string;
  readonly internetMessage: string;
}

/** The endpoints that no resource uses. */
export const READING: readonly ReadingEndpoint[] = ENDPOINTS.filter(({ row }) => !row.includes("/settings/")).map(
  ({ row, name, call }) => ({
    method: "GET",
    path: new RegExp(`${row.replace("GET ", "").replace(/\{\w+\}/, "[^/]+")}$`),
    send: (client, ids) => call(client, name === "phishingReports.get" ? ids.report : ids.internetMessage),
  }),
);

/**
 * The time limit of an attempt when the service should be too slow, and the duration of refused connections, in
 * milliseconds.
 */
const IMPATIENT_MS = 300;
const REFUSED_MS = 60;

/**
 * Makes the same call twice in a row. Returns the content or the error code of each. Makes only one call if every
 * attempt fails.
 */
export async function sendTwice(
  { fault, moment, endpoint, attempts }: FaultCase<ReadingEndpoint>,
  { target, ids, trusted, untrusted }: { target: string; ids: KnownIds; trusted: Certificate; untrusted: Certificate },
): Promise<{ answers: unknown[]; hits: number | undefined }> {
  const isTls = fault.door === "untrusted";
  await using proxy = await startFaultyProxy({ target, ...(isTls ? { certificate: trusted } : {}) });
  const client = new SettingsClient({
    baseUrl: proxy.url,
    apiKey: "sandbox-acme-ci",
    ...(fault.response === "silence" || fault.response === "trickle" ? { timeoutMs: IMPATIENT_MS } : {}),
  });
  const nth = attempts === "first" ? [1] : [2];
  const injected =
    fault.response === undefined
      ? undefined
      : proxy.inject({
          ...(attempts === "every" ? {} : { nth }),
          fault: { forwarded: moment === "after", response: fault.response },
        });
  const answers: unknown[] = [];
  for (const turn of attempts === "every" ? [1] : [1, 2]) {
    const isBroken = attempts === "every" || nth.includes(turn);
    if (isBroken && isTls) proxy.setCertificate(untrusted);
    if (isBroken && fault.door === "refused") proxy.rejectConnections();
    const answer = endpoint.send(client, ids).catch((error: { code?: string }) => error.code ?? error);
    if (isBroken && attempts !== "every" && fault.door === "refused") {
      await sleep(REFUSED_MS);
      await proxy.accept();
    }
    answers.push(await answer);
    if (isTls) proxy.setCertificate(trusted);
  }
  await client.close();
  return { answers, hits: injected?.hits };
}

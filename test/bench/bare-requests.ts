import type { RecordedRequest } from "pulumi-email-security/sandbox";
import { Agent, request } from "undici";
import { API_KEY, BenchService, type BenchServiceOptions } from "#bench/service";

/** A request without any client around it. */
export interface BareRequest {
  readonly method: string;
  /** The path with the query. */
  readonly path: string;
  readonly body?: unknown;
  /** Default: the key of the only tenant. */
  readonly key?: string;
  /** The expected status. Default: any success. */
  readonly status?: number;
}

/** Sends all requests over a new connection pool, at most `concurrency` at once. Returns the seconds that it took. */
export async function sendAll(url: string, requests: readonly BareRequest[], concurrency: number): Promise<number> {
  const agent = new Agent({ connections: concurrency });
  try {
    const startedAt = performance.now();
    const waiting = requests.values();
    const worker = async (): Promise<void> => {
      for (const request of waiting) await send(agent, url, request);
    };
    await Promise.all(Array.from({ length: concurrency }, worker));
    return (performance.now() - startedAt) / 1_000;
  } finally {
    await agent.close();
  }
}

/** Sends recorded requests again. Writes need a service that doesn't have them yet. */
export async function repeatRequests(
  requests: readonly RecordedRequest[],
  width: number,
  { service, options }: { readonly service: BenchService; readonly options: BenchServiceOptions },
): Promise<number> {
  const bare = requests.map(toBareRequest);
  if (requests.every(({ method }) => method === "GET")) return await sendAll(service.url, bare, width);
  await using unchanged = await BenchService.start(options);
  return await sendAll(unchanged.url, bare, width);
}

function toBareRequest({ method, path, query, body, tenant }: RecordedRequest): BareRequest {
  return {
    method,
    path: `${path}?${new URLSearchParams(query)}`,
    body,
    key: `sandbox-${tenant}-ci`,
  };
}

async function send(dispatcher: Agent, url: string, bareRequest: BareRequest): Promise<void> {
  const { method, path, body, key = API_KEY, status } = bareRequest;
  const headers = { "x-api-key": key, "content-type": "application/json" };
  const answer = await request(url + path, {
    dispatcher,
    method: method as "GET",
    headers,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  await answer.body.json();
  const isExpected = status === undefined ? answer.statusCode < 300 : answer.statusCode === status;
  if (!isExpected) throw new Error(`${method} ${path} returned ${answer.statusCode}`);
}

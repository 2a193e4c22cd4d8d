import type { ServiceRequest } from "./options";

/** A request to the service and the status of its response. The API key itself is never stored. */
export interface RecordedRequest extends ServiceRequest {
  status: number;
  /** Undefined if the key was missing or unknown. */
  tenant: string | undefined;
  keyLabel: string | undefined;
}

/** The response to `GET /sandbox/requests`. */
export interface RequestSummary {
  total: number;
  /** Requests with GET or HEAD. */
  reads: number;
  writes: number;
  /** The last 1000 requests, newest last. */
  requests: RecordedRequest[];
}

/** The maximum number of entries in memory. A sandbox that runs for weeks drops the oldest but still counts them. */
const MAX_KEPT_REQUESTS = 100_000;
const MAX_SHOWN_REQUESTS = 1_000;

/** Records requests in the order of their responses. */
export class RequestLog {
  /** The live log; always the same array. */
  readonly requests: RecordedRequest[] = [];
  #reads = 0;
  #writes = 0;

  record(request: RecordedRequest): void {
    if (request.method === "GET" || request.method === "HEAD") this.#reads += 1;
    else this.#writes += 1;
    this.requests.push(request);
    if (this.requests.length > MAX_KEPT_REQUESTS) this.requests.splice(0, MAX_KEPT_REQUESTS / 10);
  }

  clear(): void {
    this.requests.length = 0;
    this.#reads = 0;
    this.#writes = 0;
  }

  summary(): RequestSummary {
    return {
      total: this.#reads + this.#writes,
      reads: this.#reads,
      writes: this.#writes,
      requests: this.requests.slice(-MAX_SHOWN_REQUESTS),
    };
  }
}

import type { ServiceRequest } from "./options";

/** One request to the service and the status it was answered with. The API key itself is never kept. */
export interface RecordedRequest extends ServiceRequest {
  status: number;
  /** Undefined when the key was missing or unknown. */
  tenant: string | undefined;
  keyLabel: string | undefined;
}

/** What `GET /sandbox/requests` answers. */
export interface RequestSummary {
  total: number;
  /** GET and HEAD. */
  reads: number;
  writes: number;
  /** The last 1000, newest last. */
  requests: RecordedRequest[];
}

/** Entries kept in memory; a sandbox left running for weeks drops the oldest, and still counts them. */
const MAX_KEPT_REQUESTS = 100_000;
const MAX_SHOWN_REQUESTS = 1_000;

/** Requests in the order in which they were answered. */
export class RequestLog {
  /** The live log: always the same array. */
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

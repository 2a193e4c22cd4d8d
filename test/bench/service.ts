import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { RecordedRequest } from "pulumi-email-security/sandbox";

export const TENANT = "acme";
export const API_KEY = `sandbox-${TENANT}-ci`;

export interface BenchServiceOptions {
  /** The number of mailboxes in the tenant's directory. Default: 0. */
  readonly employees?: number;
  /** Whether an entry can be read by its ID, which the service's reference doesn't offer. Default: false. */
  readonly readOne?: boolean;
  /** The number of tenants, named t000, t001, …. Default: one tenant named acme. */
  readonly tenants?: number;
  /** The number of domains that each tenant denies. Default: 0. */
  readonly entries?: number;
  /** The number of threats to each tenant in the last half year. Default: 0. */
  readonly threats?: number;
  /** The delay before each answer, in milliseconds. Default: none. */
  readonly latencyMs?: number;
  /** The number of requests per second of each tenant that aren't rejected with 429. Default: no limit. */
  readonly requestsPerSecond?: number;
}

/** The path at which a {@link BenchService} returns its requests. */
export const TRACE_PATH = "/bench/requests";

/** The number of requests that the service has received. */
export interface Requests {
  readonly reads: number;
  readonly writes: number;
}

/** Returns the mailbox of the directory's person at an index, from 0. */
export function mailboxOf(index: number): string {
  return `person-${String(index).padStart(5, "0")}@acme.example`;
}

/** Returns the domain of a tenant's entry at an index, from 0. */
export function deniedDomain(index: number): string {
  return `evil${index}.example`;
}

/** Returns the name of the tenant at an index, from 0. */
export function tenantName(index: number): string {
  return `t${String(index).padStart(3, "0")}`;
}

/** A sandbox of the service with empty lists, in its own process. */
export class BenchService implements AsyncDisposable {
  readonly url: string;
  readonly #process: ChildProcess;

  private constructor(url: string, process: ChildProcess) {
    this.url = url;
    this.#process = process;
  }

  static async start(options: BenchServiceOptions = {}): Promise<BenchService> {
    return await BenchService.startScript("service-process.ts", JSON.stringify(options));
  }

  /**
   * Starts a server other than the sandbox.
   * @param script a file in this directory that prints the server's address
   */
  static async startScript(script: string, options: string): Promise<BenchService> {
    const path = fileURLToPath(new URL(script, import.meta.url));
    const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", path, options], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const url = await new Promise<string>((resolve, reject) => {
      createInterface({ input: child.stdout }).once("line", resolve);
      child.once("close", (code) => reject(new Error(`the sandbox ended with ${code}`)));
    });
    return new BenchService(url, child);
  }

  /** The environment variables that a program needs to reach the service. */
  get environment(): Record<string, string> {
    return { EMAIL_SECURITY_BASE_URL: this.url, EMAIL_SECURITY_API_KEY: API_KEY };
  }

  /** Returns the number of requests so far. */
  async requests(): Promise<Requests> {
    const response = await fetch(`${this.url}/sandbox/requests`);
    const { reads, writes } = (await response.json()) as Requests;
    return { reads, writes };
  }

  /** Returns all requests so far, in the order of their answers. */
  async trace(): Promise<RecordedRequest[]> {
    const requests = (await (await fetch(`${this.url}${TRACE_PATH}`)).json()) as RecordedRequest[];
    return requests.filter(({ path }) => path !== TRACE_PATH);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = once(this.#process, "close");
    this.#process.stdin?.end();
    await ended;
  }
}

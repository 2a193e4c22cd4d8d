import {
  type AllowDenyEntryRow,
  type AuditRow,
  type RecordedRequest,
  type Sandbox,
  startSandbox,
  type VipEmployeeRow,
} from "../../../provider/sandbox";
import { createScenario } from "./sample-values";

/** The number of sequences per service, so that the data it keeps of each doesn't slow the next ones down. */
const COMPANIES = 100;

/** Creates a new company with empty lists for each sequence, all at one service. */
export class Companies implements AsyncDisposable {
  #sandbox: Sandbox | undefined;
  #used = 0;
  #atRequest: (() => Promise<void> | undefined) | undefined;
  readonly #echoValue: "canonical" | "as-sent";

  constructor({ echoValue }: { readonly echoValue: "canonical" | "as-sent" }) {
    this.#echoValue = echoValue;
  }

  async next(): Promise<Company> {
    if (this.#used % COMPANIES === 0) {
      await this.#sandbox?.close();
      this.#sandbox = await startSandbox({
        scenario: createScenario(COMPANIES),
        echoValue: this.#echoValue,
        intercept: async ({ query }) => {
          if (query["by"] !== "console") await this.#atRequest?.();
          return undefined;
        },
      });
    }
    const sandbox = this.#sandbox as Sandbox;
    sandbox.clearRequests();
    this.#atRequest = undefined;
    const name = `company-${this.#used % COMPANIES}`;
    this.#used += 1;
    return new Company(sandbox, name, (setRequestHook) => {
      this.#atRequest = setRequestHook;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sandbox?.close();
  }
}

/** A company at the service: its contents and its console. */
export class Company {
  readonly url: string;
  readonly name: string;
  readonly apiKey: string;
  readonly #sandbox: Sandbox;
  /** Sets a callback that runs when the provider sends a request, before that is answered. */
  readonly setRequestHook: (edit: (() => Promise<void> | undefined) | undefined) => void;

  constructor(sandbox: Sandbox, name: string, setRequestHook: Company["setRequestHook"]) {
    this.url = sandbox.url;
    this.name = name;
    this.apiKey = `sandbox-${name}-ci`;
    this.#sandbox = sandbox;
    this.setRequestHook = setRequestHook;
  }

  listEntries(): AllowDenyEntryRow[] {
    return this.#sandbox.allowDenyEntries(this.name);
  }

  listVips(): VipEmployeeRow[] {
    return this.#sandbox.vips(this.name);
  }

  listExclusions(): string[] {
    return this.#sandbox.exclusions(this.name);
  }

  /**
   * Returns the writes by the provider ("ci") and in the console, in order, after the given number of audit log rows.
   */
  readHistory(since: number): AuditRow[] {
    return this.#sandbox.audit(this.name).slice(since);
  }

  get auditLength(): number {
    return this.#sandbox.audit(this.name).length;
  }

  /** Returns the provider's requests since the last call. */
  takeRequests(): RecordedRequest[] {
    const own = this.#sandbox.requests.filter(({ keyLabel }) => keyLabel === "ci");
    this.#sandbox.clearRequests();
    return own;
  }

  /** Sends a colleague's request and returns its status. */
  async sendFromConsole(method: string, path: string, body?: unknown): Promise<number> {
    const response = await fetch(`${this.url}/api/v1/settings${path}?by=console`, {
      method,
      headers: { "x-api-key": `sandbox-${this.name}-console`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    await response.arrayBuffer();
    return response.status;
  }
}

import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { type Certificate, makeCertificate } from "../../support/certificate";
import { type FaultyProxy, type ProxiedRequest, startFaultyProxy } from "../../support/faulty-proxy";
import { ManagedProgram, type ManagedStackState, type ProgramUp } from "../../support/managed-program";
import type { ResourceProperties } from "../../support/provider-call";
import type { FaultCase, ProxiedEndpoint } from "./faults";
import { AFTER, BEFORE, COMPANY } from "./program";
import { readTenantContent, type TenantContent } from "./tenant-content";

/** The time limit of an attempt when the service should be too slow, and when it shouldn't, in milliseconds. */
const IMPATIENT_MS = 1_000;
const PATIENT_MS = 30_000;

/**
 * The duration of temporarily refused connections, in milliseconds. The first request needs more time, because the
 * provider process is still loading.
 */
const REFUSED_MS = 60;
const REFUSED_AT_FIRST_MS = 250;

/** The requests and outcome of one run, and the tenant's content afterwards. */
export interface ObservedRun {
  readonly up: ProgramUp;
  readonly requests: readonly ProxiedRequest[];
  readonly tenant: TenantContent;
}

/** An active fault. */
interface ActiveFault {
  readonly onStep: () => void;
  /** Returns the number of times that the fault occurred. Undefined if it can't be counted. */
  readonly hits: () => number | undefined;
}

/** The results of one case. */
export interface FaultCaseResult {
  /** The number of times that the fault occurred. Undefined if it can't be counted. */
  readonly hits: number | undefined;
  readonly faulted: ObservedRun;
  readonly next: ObservedRun;
  readonly third: ObservedRun;
  /** The state of each resource in the stack at the end, and the result of reading each. */
  readonly stackProperties: Readonly<Record<string, ResourceProperties>>;
  readonly read: Readonly<Record<string, ResourceProperties | undefined>>;
}

/**
 * An environment that runs cases one after another: an address with a faulty proxy, a tenant with the program {@link
 * BEFORE} applied, and the state of its stack. Every case starts from a copy of both.
 */
export class FaultRunner implements AsyncDisposable {
  readonly #directory: string;
  readonly #proxy: FaultyProxy;
  readonly #trusted: Certificate | undefined;
  readonly #untrusted: Certificate;
  #stack: ManagedStackState = { resources: new Map(), doomed: [] };

  private constructor(directory: string, proxy: FaultyProxy, trusted: Certificate | undefined) {
    this.#directory = directory;
    this.#proxy = proxy;
    this.#trusted = trusted;
    this.#untrusted = makeCertificate("localhost");
  }

  static async create({ tls = false }: { tls?: boolean } = {}): Promise<FaultRunner> {
    const directory = await mkdtemp(join(tmpdir(), "email-security-faults-"));
    const data = join(directory, "before.sqlite");
    const sandbox = await startSandbox({ data, scenario: { name: "faults", tenants: [COMPANY] } });
    const trusted = tls ? makeCertificate("localhost") : undefined;
    if (trusted !== undefined) await writeFile(join(directory, "trusted.pem"), trusted.cert);
    const proxy = await startFaultyProxy({
      target: sandbox.url,
      ...(trusted === undefined ? {} : { certificate: trusted }),
    });
    const runner = new FaultRunner(directory, proxy, trusted);
    await using program = runner.#program(PATIENT_MS);
    const { failures } = await program.up(BEFORE);
    if (Object.keys(failures).length > 0) throw new Error(JSON.stringify(failures));
    runner.#stack = program.stack;
    await sandbox.close();
    return runner;
  }

  /** Applies the change from {@link BEFORE} to {@link AFTER} without a fault, one resource at a time or in parallel. */
  async runWithoutFault({ parallel }: { parallel: boolean }): Promise<ObservedRun> {
    await using sandbox = await this.#sandbox();
    await using program = this.#program(PATIENT_MS);
    return await this.#observe(sandbox, await program.up(AFTER, { parallel }));
  }

  /**
   * Applies the change with a fault, then twice without one.
   *
   * @param serial the requests of a serial {@link runWithoutFault}, which predict the request that a connection is for.
   */
  async run(faultCase: FaultCase<ProxiedEndpoint>, serial: readonly ProxiedRequest[]): Promise<FaultCaseResult> {
    await using sandbox = await this.#sandbox();
    const { fault } = faultCase;
    const isSlow = fault.response === "silence" || fault.response === "trickle";
    await using program = this.#program(isSlow ? IMPATIENT_MS : PATIENT_MS);
    const broken = fault.door === undefined ? this.#break(faultCase) : this.#breakDoor(faultCase, serial);
    const up = await program.up(AFTER, { parallel: fault.door === undefined, onStep: broken.onStep });
    const hits = broken.hits();
    const faulted = await this.#observe(sandbox, up);
    const next = await this.#observe(sandbox, await program.up(AFTER));
    const third = await this.#observe(sandbox, await program.up(AFTER));
    const read = Object.fromEntries(await program.read());
    const stackProperties = [...program.stack.resources].map(([name, { properties }]) => [name, properties] as const);
    return { hits, faulted, next, third, stackProperties: Object.fromEntries(stackProperties), read };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#proxy[Symbol.asyncDispose]();
    await rm(this.#directory, { recursive: true });
  }

  /** Injects a fault into requests. */
  #break({ fault, moment, endpoint, attempts }: FaultCase<ProxiedEndpoint>): ActiveFault {
    const injected = this.#proxy.inject({
      ...endpoint,
      ...(attempts === "every" ? {} : { nth: [attempts === "first" ? 1 : 2] }),
      fault: { forwarded: moment === "after", response: fault.response ?? {} },
    });
    return { onStep: () => {}, hits: () => injected.hits };
  }

  /**
   * Makes connections fail from the moment when the next one is for the given request, because a connection itself
   * doesn't identify its request.
   */
  #breakDoor(
    { fault, endpoint, attempts }: FaultCase<ProxiedEndpoint>,
    serial: readonly ProxiedRequest[],
  ): ActiveFault {
    const due = serial.filter((request) => isFor(request, endpoint))[attempts === "second" ? 1 : 0];
    if (due === undefined) throw new Error(`nothing asks for ${endpoint.method} ${endpoint.path} so often`);
    const proxy = this.#proxy;
    const isRefused = fault.door === "refused";
    const injectOutage = (): void => {
      if (isRefused) proxy.rejectConnections();
      else proxy.setCertificate(this.#untrusted);
      if (attempts === "every") return;
      // Refused connections are accepted again before the client retries. A trusted certificate returns as soon as the
      // untrusted one has been rejected.
      void (async () => {
        if (isRefused) await sleep(due.index === 0 ? REFUSED_AT_FIRST_MS : REFUSED_MS);
        else while (proxy.brokenGreetings === 0) await sleep(5);
        await this.#reopen();
      })();
    };
    let isDue = due.index === 0;
    proxy.hooks = { afterCommit: ({ index }) => index === due.index - 1 && injectOutage() };
    return {
      onStep: () => {
        if (isDue) injectOutage();
        isDue = false;
      },
      hits: () => (isRefused ? undefined : proxy.brokenGreetings),
    };
  }

  async #reopen(): Promise<void> {
    if (this.#trusted !== undefined) this.#proxy.setCertificate(this.#trusted);
    await this.#proxy.accept();
  }

  #program(timeoutMs: number): ManagedProgram {
    const environment = {
      EMAIL_SECURITY_BASE_URL: this.#proxy.url,
      EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
      EMAIL_SECURITY_TIMEOUT_MS: String(timeoutMs),
      ...(this.#trusted === undefined ? {} : { NODE_EXTRA_CA_CERTS: join(this.#directory, "trusted.pem") }),
    };
    return new ManagedProgram({ environment }, this.#stack);
  }

  async #sandbox(): Promise<Sandbox> {
    const data = join(this.#directory, "case.sqlite");
    await copyFile(join(this.#directory, "before.sqlite"), data);
    const sandbox = await startSandbox({ data });
    this.#proxy.target = sandbox.url;
    await this.#heal();
    return sandbox;
  }

  async #observe(sandbox: Sandbox, up: ProgramUp): Promise<ObservedRun> {
    const requests = [...this.#proxy.requests];
    await this.#heal();
    return { up, requests, tenant: readTenantContent(sandbox) };
  }

  async #heal(): Promise<void> {
    await this.#proxy.removeFaults();
    await this.#reopen();
  }
}

export function isFor({ method, path }: ProxiedRequest, endpoint: ProxiedEndpoint): boolean {
  return method === endpoint.method && endpoint.path.test(path);
}

import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { type FaultyProxy, type ProxiedRequest, startFaultyProxy } from "../../support/faulty-proxy";
import { ManagedProgram, type ProgramUp, type Stack } from "../../support/managed-program";
import type { Properties } from "../../support/provider-call";
import { type Certificate, makeCertificate } from "../client/certificate";
import type { Case, Endpoint } from "./faults";
import { AFTER, BEFORE, COMPANY } from "./program";
import { contentOf, type TenantContent } from "./tenant-content";

/** How long a try may take when the service is to be too slow, and when it is not, in milliseconds. */
const IMPATIENT_MS = 1_000;
const PATIENT_MS = 30_000;

/** How long connections are refused when it is not for ever; for the first request, while what makes requests loads. */
const REFUSED_MS = 60;
const REFUSED_AT_FIRST_MS = 250;

/** What one run asked, what came of it, and how the tenant looks then. */
export interface Observed {
  readonly up: ProgramUp;
  readonly requests: readonly ProxiedRequest[];
  readonly tenant: TenantContent;
}

/** A fault that is in place. */
interface Broken {
  readonly onStep: () => void;
  /** How often it hit; undefined where nobody can count it. */
  readonly hits: () => number | undefined;
}

/** What one case came to. */
export interface Outcome {
  /** How often the fault hit; undefined where nobody can count it. */
  readonly hits: number | undefined;
  readonly faulted: Observed;
  readonly next: Observed;
  readonly third: Observed;
  /** What the stack holds of each resource at the end, and how each reads. */
  readonly held: Readonly<Record<string, Properties>>;
  readonly read: Readonly<Record<string, Properties | undefined>>;
}

/**
 * A place where cases are run one after the other: an address with a faulty proxy, a tenant that holds the program
 * {@link BEFORE}, and the state of its stack. Every case starts from a copy of both.
 */
export class Lane implements AsyncDisposable {
  readonly #folder: string;
  readonly #proxy: FaultyProxy;
  readonly #trusted: Certificate | undefined;
  readonly #untrusted: Certificate;
  #stack: Stack = { resources: new Map(), doomed: [] };

  private constructor(folder: string, proxy: FaultyProxy, trusted: Certificate | undefined) {
    this.#folder = folder;
    this.#proxy = proxy;
    this.#trusted = trusted;
    this.#untrusted = makeCertificate("localhost");
  }

  static async create({ tls = false }: { tls?: boolean } = {}): Promise<Lane> {
    const folder = await mkdtemp(join(tmpdir(), "email-security-faults-"));
    const data = join(folder, "before.sqlite");
    const sandbox = await startSandbox({ data, scenario: { name: "faults", tenants: [COMPANY] } });
    const trusted = tls ? makeCertificate("localhost") : undefined;
    if (trusted !== undefined) await writeFile(join(folder, "trusted.pem"), trusted.cert);
    const proxy = await startFaultyProxy({
      target: sandbox.url,
      ...(trusted === undefined ? {} : { certificate: trusted }),
    });
    const lane = new Lane(folder, proxy, trusted);
    await using program = lane.#program(PATIENT_MS);
    const { failures } = await program.up(BEFORE);
    if (Object.keys(failures).length > 0) throw new Error(JSON.stringify(failures));
    lane.#stack = program.stack;
    await sandbox.close();
    return lane;
  }

  /** The change from {@link BEFORE} to {@link AFTER} with nothing wrong, one resource after the other or side by side. */
  async clean({ parallel }: { parallel: boolean }): Promise<Observed> {
    await using sandbox = await this.#sandbox();
    await using program = this.#program(PATIENT_MS);
    return await this.#observe(sandbox, await program.up(AFTER, { parallel }));
  }

  /**
   * The change with a fault, then twice the same with none.
   *
   * @param serial what {@link clean} asks one after the other: which request is due when a connection is made.
   */
  async run(one: Case<Endpoint>, serial: readonly ProxiedRequest[]): Promise<Outcome> {
    await using sandbox = await this.#sandbox();
    const { fault } = one;
    const isSlow = fault.told === "silence" || fault.told === "trickle";
    await using program = this.#program(isSlow ? IMPATIENT_MS : PATIENT_MS);
    const broken = fault.door === undefined ? this.#break(one) : this.#breakDoor(one, serial);
    const up = await program.up(AFTER, { parallel: fault.door === undefined, onStep: broken.onStep });
    const hits = broken.hits();
    const faulted = await this.#observe(sandbox, up);
    const next = await this.#observe(sandbox, await program.up(AFTER));
    const third = await this.#observe(sandbox, await program.up(AFTER));
    const read = Object.fromEntries(await program.read());
    const held = [...program.stack.resources].map(([name, { properties }]) => [name, properties] as const);
    return { hits, faulted, next, third, held: Object.fromEntries(held), read };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#proxy[Symbol.asyncDispose]();
    await rm(this.#folder, { recursive: true });
  }

  /** Has the fault hit requests; answers how to learn how many it hit. */
  #break({ fault, moment, endpoint, tries }: Case<Endpoint>): Broken {
    const injected = this.#proxy.inject({
      ...endpoint,
      ...(tries === "every" ? {} : { nth: [tries === "first" ? 1 : 2] }),
      fault: { forwarded: moment === "after", told: fault.told ?? {} },
    });
    return { onStep: () => {}, hits: () => injected.hits };
  }

  /**
   * Has connections fail from the moment on at which the next one is for the request in question; a connection itself
   * does not tell what it is for.
   */
  #breakDoor({ fault, endpoint, tries }: Case<Endpoint>, serial: readonly ProxiedRequest[]): Broken {
    const due = serial.filter((request) => isFor(request, endpoint))[tries === "second" ? 1 : 0];
    if (due === undefined) throw new Error(`nothing asks for ${endpoint.method} ${endpoint.path} so often`);
    const proxy = this.#proxy;
    const isRefused = fault.door === "refused";
    const close = (): void => {
      if (isRefused) proxy.refuse();
      else proxy.present(this.#untrusted);
      if (tries === "every") return;
      // Opened again by the time that a client tries again; a certificate as soon as it was refused.
      void (async () => {
        if (isRefused) await sleep(due.index === 0 ? REFUSED_AT_FIRST_MS : REFUSED_MS);
        else while (proxy.brokenGreetings === 0) await sleep(5);
        await this.#reopen();
      })();
    };
    let isDue = due.index === 0;
    proxy.hooks = { afterCommit: ({ index }) => index === due.index - 1 && close() };
    return {
      onStep: () => {
        if (isDue) close();
        isDue = false;
      },
      hits: () => (isRefused ? undefined : proxy.brokenGreetings),
    };
  }

  async #reopen(): Promise<void> {
    if (this.#trusted !== undefined) this.#proxy.present(this.#trusted);
    await this.#proxy.accept();
  }

  #program(timeoutMs: number): ManagedProgram {
    const environment = {
      EMAIL_SECURITY_BASE_URL: this.#proxy.url,
      EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
      EMAIL_SECURITY_TIMEOUT_MS: String(timeoutMs),
      ...(this.#trusted === undefined ? {} : { NODE_EXTRA_CA_CERTS: join(this.#folder, "trusted.pem") }),
    };
    return new ManagedProgram({ environment }, this.#stack);
  }

  async #sandbox(): Promise<Sandbox> {
    const data = join(this.#folder, "case.sqlite");
    await copyFile(join(this.#folder, "before.sqlite"), data);
    const sandbox = await startSandbox({ data });
    this.#proxy.target = sandbox.url;
    await this.#heal();
    return sandbox;
  }

  async #observe(sandbox: Sandbox, up: ProgramUp): Promise<Observed> {
    const requests = [...this.#proxy.requests];
    await this.#heal();
    return { up, requests, tenant: contentOf(sandbox) };
  }

  async #heal(): Promise<void> {
    await this.#proxy.heal();
    await this.#reopen();
  }
}

export function isFor({ method, path }: ProxiedRequest, endpoint: Endpoint): boolean {
  return method === endpoint.method && endpoint.path.test(path);
}

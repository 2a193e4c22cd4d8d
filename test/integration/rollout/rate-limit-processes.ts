import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { type Answerer, buildListBody, createFixedAnswerer, RecordingService } from "../client/service";
import { RUN_SOURCES } from "../hostile-responses/client-process";

/** Prints the address of its token server. Each line that it reads is a credential that is no longer valid. */
const COORDINATOR = `
  ${RUN_SOURCES}
  const { createInterface } = await import("node:readline");
  const { journal, service, limit } = JSON.parse(process.env.RUN);
  const { openSqlite } = await import(process.env.SQLITE);
  const { AddressLimiter } = await import(process.env.LIMITER);
  const { ADDRESSES_TABLE } = await import(process.env.TABLES);
  const { startRateLimitServer } = await import(process.env.SERVER);
  const database = await openSqlite(journal);
  await database.query(ADDRESSES_TABLE);
  const limiter = new AddressLimiter({ database, limits: new Map([[service, limit]]) });
  const over = new Set();
  const server = await startRateLimitServer(limiter, { isAllowed: (token) => token !== "" && !over.has(token) });
  createInterface({ input: process.stdin }).on("line", (token) => over.add(token));
  console.log(server.address);
`;

/** Makes requests, some of them at once, until all are made or one fails; prints that failure's code. */
const TENANT = `
  ${RUN_SOURCES}
  const { service, requests, concurrency } = JSON.parse(process.env.RUN);
  const { SettingsClient } = await import(process.env.CLIENT);
  const { getRateLimiter } = await import(process.env.LIMITER_MODULE);
  const client = new SettingsClient({ baseUrl: service, apiKey: process.env.KEY, limiter: getRateLimiter(process.env, service) });
  let left = requests;
  const work = async () => {
    while (left-- > 0) await client.vipEmployees.list();
  };
  const ends = await Promise.allSettled(Array.from({ length: concurrency }, work));
  console.log(ends.find((end) => end.status === "rejected")?.reason.code ?? "done");
`;

const getProviderUrl = (file: string) => pathToFileURL(`provider/${file}.ts`).href;

export interface CoordinatorProcessOptions {
  /** The SQLite file. */
  readonly journal: string;
  /** The address of the service. */
  readonly service: string;
  readonly limit: { readonly requestsPerSecond?: number };
}

/** Starts a process that issues tokens and prints the address for requesting them. */
export async function startCoordinator(options: CoordinatorProcessOptions): Promise<ChildProgram> {
  const program = new ChildProgram(COORDINATOR, {
    RUN: JSON.stringify(options),
    SQLITE: getProviderUrl("rollout/database/sqlite-database"),
    LIMITER: getProviderUrl("rollout/rate-limit/address-limiter"),
    TABLES: getProviderUrl("rollout/database/tables"),
    SERVER: getProviderUrl("rollout/rate-limit/rate-limit-server"),
  });
  await program.firstLine;
  return program;
}

export interface TenantOptions {
  readonly service: string;
  /** The number of requests in all, and at once. */
  readonly requests: number;
  readonly concurrency: number;
  /** Its key at the service, which is also its credential at the token server. */
  readonly name: string;
  /** The address for requesting tokens. */
  readonly tokenAddress: string;
}

/** Starts a process that makes one tenant's requests. It prints its failure's code, or "done". */
export function startTenantProcess({ name, tokenAddress, ...run }: TenantOptions): ChildProgram {
  return new ChildProgram(TENANT, {
    RUN: JSON.stringify(run),
    CLIENT: getProviderUrl("client/index"),
    LIMITER_MODULE: getProviderUrl("tenant/rate-limit-client"),
    KEY: name,
    EMAIL_SECURITY_RATE_LIMITER: tokenAddress,
    EMAIL_SECURITY_RATE_LIMITER_TOKEN: name,
  });
}

export class ChildProgram implements AsyncDisposable {
  /** The first line that it prints. */
  readonly firstLine: Promise<string>;
  readonly #child: ChildProcess;

  constructor(program: string, environment: Record<string, string>) {
    const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
      stdio: ["pipe", "pipe", "pipe"],
      env: { ...process.env, NODE_OPTIONS: "--disable-warning=ExperimentalWarning", ...environment },
    });
    // A process that has ended can't read; its exit is reported separately.
    child.stdin.on("error", () => {});
    let complaints = "";
    child.stderr.on("data", (chunk) => (complaints += chunk));
    this.#child = child;
    this.firstLine = new Promise((resolve, reject) => {
      createInterface({ input: child.stdout }).once("line", resolve);
      child.once("close", (code) => reject(new Error(`ended with ${code}: ${complaints}`)));
    });
    // A process killed early prints nothing, and the test may not be waiting for its line.
    this.firstLine.catch(() => {});
  }

  /** Writes a line to its standard input. */
  tell(line: string): void {
    this.#child.stdin?.write(`${line}\n`);
  }

  sendSignal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#child.once("close", resolve));
    this.#child.kill("SIGKILL");
    await ended;
  }
}

/** The response of an empty VIP list. */
export const nobody = buildListBody([]);

/** Starts a service that records each request's key and arrival time, by its own clock. */
export async function startCountingService(answer: Answerer = createFixedAnswerer(200, nobody)) {
  const came: { atMs: number; caller: string }[] = [];
  const service = await RecordingService.start((request, response, index) => {
    came.push({ atMs: performance.now(), caller: String(request.headers["x-api-key"]) });
    answer(request, response, index);
  });
  const countRequestsBy = (caller: string) => came.filter((candidate) => candidate.caller === caller).length;
  return { service, came, countRequestsBy };
}

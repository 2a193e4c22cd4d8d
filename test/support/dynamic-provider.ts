import { type ChildProcess, spawn } from "node:child_process";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { credentials, type ServiceError } from "@grpc/grpc-js";
import { ResourceProviderClient } from "@pulumi/pulumi/proto/provider_grpc_pb.js";
import provider from "@pulumi/pulumi/proto/provider_pb.js";
import status from "@pulumi/pulumi/proto/status_pb.js";
import { Struct } from "google-protobuf/google/protobuf/struct_pb.js";
import { type HandlerName, shell } from "../../provider/resources/shell";
import { compiled } from "./compile-cache";

export type Properties = Record<string, unknown>;

/** What a create or an update that failed halfway left behind, for the engine to keep in state. */
export class InitFailed extends Error {
  readonly id: string;
  readonly properties: Properties;
  readonly reasons: readonly string[];

  constructor(message: string, id: string, properties: Properties, reasons: readonly string[]) {
    super(message);
    this.id = id;
    this.properties = properties;
    this.reasons = reasons;
  }
}

export interface DynamicProviderOptions {
  /** Configuration of the stack, as the engine hands it over. */
  readonly config?: Record<string, string>;
  readonly environment?: Record<string, string>;
  /** Whether it is configured before {@link DynamicProvider.start} answers. Default: true. */
  readonly isConfigured?: boolean;
}

/**
 * The real process in which the engine runs dynamic resources (`@pulumi/pulumi/cmd/dynamic-provider`), spoken to over
 * gRPC as the engine does. Every resource is given by its serialized shell, so the process loads the built package.
 */
export class DynamicProvider implements AsyncDisposable {
  /** What the process has printed for the person at the terminal. */
  readonly printed: string[] = [];
  readonly #options: DynamicProviderOptions;
  #process: ChildProcess;
  #client: ResourceProviderClient;
  /** Whether the process that runs now was asked for anything. */
  #hasServed = false;

  private constructor(
    options: DynamicProviderOptions,
    process: ChildProcess,
    client: ResourceProviderClient,
  ) {
    this.#options = options;
    this.#process = process;
    this.#client = client;
  }

  static async start(options: DynamicProviderOptions = {}): Promise<DynamicProvider> {
    const host = createRequire(`${process.cwd()}/`).resolve("@pulumi/pulumi/cmd/dynamic-provider/index.js");
    const child = spawn(process.execPath, [host, engineAddress()], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { PATH: process.env["PATH"], ...compiled(), ...options.environment },
    });
    const lines: string[] = [];
    const port = await new Promise<string>((resolve, reject) => {
      createInterface({ input: child.stdout }).on("line", (line) => {
        if (/^\d+$/.test(line)) resolve(line);
        else lines.push(line);
      });
      createInterface({ input: child.stderr }).on("line", (line) => lines.push(line));
      child.once("exit", (code) =>
        reject(new Error(`the provider process ended with ${code}: ${lines.join("\n")}`)),
      );
    });
    const client = new ResourceProviderClient(`127.0.0.1:${port}`, credentials.createInsecure(), {
      // What failed halfway comes in the trailers, with its whole state. The engine takes as much.
      "grpc.max_metadata_size": 16 * 1024 * 1024,
    });
    const started = new DynamicProvider(options, child, client);
    started.printed.push(...lines);
    lines.push = (...more) => started.printed.push(...more);
    if (options.isConfigured !== false) await started.configure();
    return started;
  }

  /** The engine's first call, with the configuration of the stack. */
  async configure(): Promise<void> {
    const request = new provider.ConfigureRequest();
    request.setArgs(Struct.fromJavaScript(this.#options.config ?? {}));
    await call((done) => this.#client.configure(request, done));
  }

  /** One resource kind of the process. */
  resource(handler: HandlerName): DynamicResource {
    return new DynamicResource(this, shell(handler));
  }

  /** A resource of another provider that the process serves too, by its serialized text. */
  foreign(text: string): DynamicResource {
    return new DynamicResource(this, text);
  }

  /** The gRPC client of the process that runs now. */
  get client(): ResourceProviderClient {
    this.#hasServed = true;
    return this.#client;
  }

  /**
   * Ends the process and starts another, as the engine does between two runs. One that has served nothing is as good as
   * another, and stays.
   */
  async nextRun(): Promise<void> {
    if (!this.#hasServed) return;
    await this.#stop();
    const next = await DynamicProvider.start(this.#options);
    this.#process = next.#process;
    this.#client = next.#client;
    this.#hasServed = false;
    next.printed.push = (...lines) => this.printed.push(...lines);
  }

  kill(): void {
    this.#process.kill("SIGKILL");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop();
  }

  async #stop(): Promise<void> {
    this.#client.close();
    const ended = new Promise((resolve) => this.#process.once("exit", resolve));
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      this.kill();
      await ended;
    }
  }
}

/** The engine's calls for one kind of resource, with plain objects. `__provider` is added to what is sent. */
export class DynamicResource {
  readonly #provider: DynamicProvider;
  readonly #shell: string;

  constructor(provider: DynamicProvider, shellText: string) {
    this.#provider = provider;
    this.#shell = shellText;
  }

  get #client(): ResourceProviderClient {
    return this.#provider.client;
  }

  async check(
    news: Properties,
    olds: Properties = {},
  ): Promise<{ inputs: Properties; failures: Record<string, string> }> {
    const request = new provider.CheckRequest();
    request.setOlds(this.#struct(olds));
    request.setNews(this.#struct(news));
    const answer = await call<InstanceType<typeof provider.CheckResponse>>((done) =>
      this.#client.check(request, done),
    );
    const failures = Object.fromEntries(
      answer.getFailuresList().map((one) => [one.getProperty(), one.getReason()]),
    );
    return { inputs: plain(answer.getInputs()), failures };
  }

  async diff(
    id: string,
    olds: Properties,
    news: Properties,
  ): Promise<{ changes: boolean; replaces: string[] }> {
    const answer = await this.#diff(id, olds, news);
    const some = provider.DiffResponse.DiffChanges.DIFF_SOME;
    return { changes: answer.getChanges() === some, replaces: answer.getReplacesList() };
  }

  /** What a diff tells of each property that changes, as in `{ comment: "UPDATE" }`; undefined when it has no details. */
  async diffDetails(
    id: string,
    olds: Properties,
    news: Properties,
  ): Promise<Record<string, string> | undefined> {
    const answer = await this.#diff(id, olds, news);
    if (!answer.getHasdetaileddiff()) return undefined;
    const kinds = Object.entries(provider.PropertyDiff.Kind);
    const nameOf = (kind: number): string => kinds.find(([, value]) => value === kind)?.[0] ?? "";
    const details: Record<string, string> = {};
    answer.getDetaileddiffMap().forEach((detail, path) => {
      details[path] = nameOf(detail.getKind());
    });
    return details;
  }

  async #diff(
    id: string,
    olds: Properties,
    news: Properties,
  ): Promise<InstanceType<typeof provider.DiffResponse>> {
    const request = new provider.DiffRequest();
    request.setId(id);
    request.setOlds(this.#struct(olds));
    request.setNews(this.#struct(news));
    return await call((done) => this.#client.diff(request, done));
  }

  async create(inputs: Properties): Promise<{ id: string; properties: Properties }> {
    const request = new provider.CreateRequest();
    request.setProperties(this.#struct(inputs));
    const answer = await call<InstanceType<typeof provider.CreateResponse>>((done) =>
      this.#client.create(request, done),
    );
    return { id: answer.getId(), properties: plain(answer.getProperties()) };
  }

  /** Undefined when the provider says that the resource is gone. */
  async read(
    id: string,
    properties: Properties,
  ): Promise<{ id: string; properties: Properties; inputs: Properties } | undefined> {
    const request = new provider.ReadRequest();
    request.setId(id);
    request.setProperties(this.#struct(properties));
    const answer = await call<InstanceType<typeof provider.ReadResponse>>((done) =>
      this.#client.read(request, done),
    );
    if (answer.getId() === "") return undefined;
    return {
      id: answer.getId(),
      properties: plain(answer.getProperties()),
      inputs: plain(answer.getInputs()),
    };
  }

  async update(id: string, olds: Properties, news: Properties): Promise<Properties> {
    const request = new provider.UpdateRequest();
    request.setId(id);
    request.setOlds(this.#struct(olds));
    request.setNews(this.#struct(news));
    const answer = await call<InstanceType<typeof provider.UpdateResponse>>((done) =>
      this.#client.update(request, done),
    );
    return plain(answer.getProperties());
  }

  async delete(id: string, properties: Properties): Promise<void> {
    const request = new provider.DeleteRequest();
    request.setId(id);
    request.setProperties(this.#struct(properties));
    await call((done) => this.#client.delete(request, done));
  }

  /** What the engine does for a declared resource that is not in state: check, then create. */
  async declare(args: Properties): Promise<{ id: string; properties: Properties; inputs: Properties }> {
    const { inputs, failures } = await this.check(args);
    if (Object.keys(failures).length > 0) throw new Error(`check failed: ${JSON.stringify(failures)}`);
    return { ...(await this.create(inputs)), inputs };
  }

  /**
   * What the engine does in its next run, so in another process, for a declared resource that is in state: check, diff,
   * and an update when there is a change.
   */
  async change(
    resource: { id: string; properties: Properties },
    args: Properties,
  ): Promise<{ id: string; properties: Properties; changed: boolean; replaces: string[] }> {
    await this.#provider.nextRun();
    const { inputs, failures } = await this.check(args, resource.properties);
    if (Object.keys(failures).length > 0) throw new Error(`check failed: ${JSON.stringify(failures)}`);
    const { changes, replaces } = await this.diff(resource.id, resource.properties, inputs);
    if (!changes || replaces.length > 0) return { ...resource, changed: changes, replaces };
    const properties = await this.update(resource.id, resource.properties, inputs);
    return { id: resource.id, properties, changed: true, replaces };
  }

  #struct(properties: Properties): Struct {
    return Struct.fromJavaScript({ ...properties, __provider: this.#shell } as never);
  }
}

/** Where the engine of a run would be reached; the processes of one run are told the same, those of another are not. */
function engineAddress(): string {
  return `127.0.0.1:${Math.floor(Math.random() * 1e9)}`;
}

function plain(struct: Struct | undefined): Properties {
  const { __provider: _shell, ...rest } = (struct?.toJavaScript() ?? {}) as Properties;
  return rest;
}

async function call<Answer>(
  start: (done: (error: ServiceError | null, answer: Answer) => void) => void,
): Promise<Answer> {
  return await new Promise<Answer>((resolve, reject) => {
    start((error, answer) =>
      error === null ? resolve(answer) : reject(initFailure(error) ?? new Error(error.details)),
    );
  });
}

function initFailure(error: ServiceError): InitFailed | undefined {
  const bytes = error.metadata.get("grpc-status-details-bin")[0];
  if (!(bytes instanceof Buffer)) return undefined;
  const detail = status.Status.deserializeBinary(bytes).getDetailsList()[0];
  if (detail === undefined) return undefined;
  const failed = provider.ErrorResourceInitFailed.deserializeBinary(detail.getValue_asU8());
  const properties = failed.getProperties()?.toJavaScript() as Properties;
  if (properties["__provider"] === undefined) throw new Error("the half-made resource lost its provider");
  return new InitFailed(
    error.details,
    failed.getId(),
    plain(failed.getProperties()),
    failed.getReasonsList(),
  );
}

import { createRequire } from "node:module";
import { dirname } from "node:path";
import { credentials } from "@grpc/grpc-js";
import { ResourceProviderClient } from "@pulumi/pulumi/proto/provider_grpc_pb.js";
import provider from "@pulumi/pulumi/proto/provider_pb.js";
import { Struct } from "google-protobuf/google/protobuf/struct_pb.js";
import { buildSerializedProvider, type HandlerName } from "../../provider/resources/serialized-provider";
import { getBuildPath } from "./build-path";
import { buildUrn, call, convertStruct, type ResourceProperties, type Start } from "./provider-call";
import { ProviderInstance } from "./provider-instance";
import { type RunningProvider, runAlone, runInHost } from "./running-provider";

/** The host of the provider's core: Pulumi's host of dynamic resources, or the native plugin. */
export type TestProviderKind = "dynamic" | "native";

/** The provider that this vitest project tests. */
export const PROVIDER_KIND: TestProviderKind =
  process.env["EMAIL_SECURITY_TEST_PROVIDER"] === "native" ? "native" : "dynamic";

/**
 * Which processes run the providers that need none of their own. `own`: each its own, as with the engine. `reloaded`:
 * shared ones, which load each provider again. Default: shared ones, in which the plugin stays loaded.
 */
const PROCESSES = process.env["EMAIL_SECURITY_TEST_PROCESSES"];

/** The native plugin as published: a single file. */
export const PLUGIN = getBuildPath(
  "plugin/pulumi-resource-email-security",
  () => import("../../provider/plugin/main.ts"),
);

export interface ProviderProcessOptions {
  /** Default: {@link PROVIDER_KIND}. */
  readonly providerKind?: TestProviderKind;
  /**
   * The stack's configuration, or with `instance` that provider's own arguments, with the namespace before each key.
   */
  readonly config?: Readonly<Record<string, string>>;
  /** The name of an explicit provider instance. Default: the process serves the default one. */
  readonly instance?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** The engine's address ({@link createEngineAddress}), the same for all processes of a run. Default: a run of its own. */
  readonly engine?: string;
  /** The program's directory, in which the engine starts the provider. Default: an arbitrary directory. */
  readonly directory?: string;
  /** A copy of the native plugin to run from its own directory. Default: the plugin that was built. */
  readonly copy?: string;
  /** Whether {@link ProviderProcess.start} configures it before returning. Default: true. */
  readonly isConfigured?: boolean;
  /** Whether it waits between two reads of a lagging list, as for a user. Default: only in a process of its own. */
  readonly hasRealPauses?: boolean;
}

/** The differences between the protocols of the two providers. */
interface ProviderProtocol {
  readonly program: () => string;
  /** The package name in its resource types. */
  readonly types: string;
  /** The additional properties that the engine sends with a resource. */
  readonly extra: (handler: HandlerName) => ResourceProperties;
  /** The properties that pass a resource's name to check, which otherwise only sees it in the URN. */
  readonly buildNameProperties: (name: string) => ResourceProperties;
  readonly configure: (client: ResourceProviderClient, options: ProviderProcessOptions) => Promise<void>;
}

const PROVIDERS: Readonly<Record<TestProviderKind, ProviderProtocol>> = {
  dynamic: {
    program: () => createRequire(`${process.cwd()}/`).resolve("@pulumi/pulumi/cmd/dynamic-provider/index.js"),
    types: "pulumi-nodejs:dynamic/email-security",
    extra: (handler) => ({ __provider: buildSerializedProvider(handler) }),
    buildNameProperties: (name) => ({ __n: name }),
    async configure(client, { config = {}, instance }) {
      const request = new provider.ConfigureRequest();
      const own = instance === undefined ? {} : { "email-security:instance": instance };
      request.setArgs(Struct.fromJavaScript({ ...config, ...own }));
      await call((done) => client.configure(request, done));
    },
  },
  native: {
    program: () => PLUGIN,
    types: "email-security:index",
    extra: () => ({}),
    buildNameProperties: () => ({}),
    async configure(client, { config = {}, instance: name }) {
      const instance = new ProviderInstance(client, name);
      const args = Object.entries(config).map(([key, value]) => [key.slice("email-security:".length), value]);
      const { inputs, failures } = await instance.check(Object.fromEntries(args));
      if (failures.length > 0) throw new Error(failures.join("\n"));
      await instance.configure(inputs);
    },
  },
};

/**
 * A real provider process, called over gRPC as the engine does: either Pulumi's host of dynamic resources
 * (`@pulumi/pulumi/cmd/dynamic-provider`), where each resource carries its serialized provider, so that it loads the
 * built package; or the native plugin as built.
 */
export class ProviderProcess implements AsyncDisposable {
  /** The output read so far, for the person at the terminal; see {@link readPrintedLines}. */
  readonly printed: string[];
  readonly #providerKind: TestProviderKind;
  readonly #options: ProviderProcessOptions;
  #running: RunningProvider;
  #client: ResourceProviderClient;
  /** Whether the current process has served any call. */
  #hasServed = false;

  private constructor(options: ProviderProcessOptions, printed: string[], running: RunningProvider) {
    this.#providerKind = options.providerKind ?? PROVIDER_KIND;
    this.#options = options;
    this.printed = printed;
    this.#running = running;
    this.#client = createClient(running);
  }

  static async start(options: ProviderProcessOptions = {}): Promise<ProviderProcess> {
    const printed: string[] = [];
    const started = new ProviderProcess(options, printed, await runProvider(options, printed));
    await started.#attach();
    if (options.isConfigured !== false) await started.configure();
    return started;
  }

  /** Makes the engine's first call, with the stack's configuration. */
  async configure(): Promise<void> {
    await PROVIDERS[this.#providerKind].configure(this.#client, this.#options);
  }

  /** Returns one resource of the process, or several that need not be distinguished. */
  getResource(handler: HandlerName, name = "one"): ProviderResource {
    const { types, extra, buildNameProperties } = PROVIDERS[this.#providerKind];
    const urn = buildUrn(`${types}:${handler[0]?.toUpperCase()}${handler.slice(1)}`, name);
    return new ProviderResource(this, { urn, extra: extra(handler), nameProperties: buildNameProperties(name) });
  }

  /** Returns a resource of a third-party dynamic provider that the process serves too, by its serialized text. */
  getForeignResource(text: string): ProviderResource {
    const urn = buildUrn("pulumi-nodejs:dynamic:Resource", "one");
    return new ProviderResource(this, { urn, extra: { __provider: text }, nameProperties: {} });
  }

  /** The gRPC client of the current process. */
  get client(): ResourceProviderClient {
    this.#hasServed = true;
    return this.#client;
  }

  /**
   * Returns the output printed before the last answer. The process writes before it answers, so all output is in the
   * pipes by then; one turn of the event loop reads it.
   */
  async readPrintedLines(): Promise<readonly string[]> {
    for (const _turn of [1, 2]) await new Promise((resolve) => setImmediate(resolve));
    return this.printed;
  }

  /**
   * Ends the provider and starts another, as the engine does between two runs. A provider that hasn't served any call
   * is equivalent to a new one, and stays.
   */
  async startNextRun(): Promise<void> {
    if (!this.#hasServed) return;
    await this.#stop();
    this.#running = await runProvider(this.#options, this.printed);
    this.#client = createClient(this.#running);
    this.#hasServed = false;
    await this.#attach();
    if (this.#options.isConfigured !== false) await this.configure();
  }

  kill(signal: NodeJS.Signals = "SIGKILL"): void {
    this.#running.kill(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stop();
  }

  /** Has the engine of this run attach to a process that has served another one. */
  async #attach(): Promise<void> {
    const { nextEngine } = this.#running;
    if (nextEngine === undefined) return;
    const request = new provider.ProviderHandshakeRequest();
    request.setEngineAddress(nextEngine);
    await call((done) => this.#client.handshake(request, done));
  }

  async #stop(): Promise<void> {
    this.#client.close();
    await this.#running.stop();
  }
}

async function runProvider(options: ProviderProcessOptions, printed: string[]): Promise<RunningProvider> {
  const {
    copy,
    providerKind = PROVIDER_KIND,
    environment = {},
    engine = createEngineAddress(),
    hasRealPauses = false,
  } = options;
  const staysLoaded = providerKind === "native" && PROCESSES === undefined;
  const start = { engine, environment, hasRealPauses, staysLoaded, print: (line: string) => printed.push(line) };
  if (copy !== undefined) return await runAlone([copy], { ...start, cwd: dirname(copy) });
  const program = PROVIDERS[providerKind].program();
  if (!hasOwnProcess(options)) return await runInHost(program, start);
  return await runAlone([process.execPath, program], { ...start, cwd: options.directory ?? process.cwd() });
}

/**
 * Returns whether the options need a process of their own: a directory, environment variables other than our settings,
 * or no configuration at start.
 */
function hasOwnProcess({ environment = {}, isConfigured = true, directory }: ProviderProcessOptions): boolean {
  return (
    PROCESSES === "own" ||
    !isConfigured ||
    directory !== undefined ||
    !Object.keys(environment).every((name) => name.startsWith("EMAIL_SECURITY_"))
  );
}

function createClient({ port }: RunningProvider): ResourceProviderClient {
  return new ResourceProviderClient(`127.0.0.1:${port}`, credentials.createInsecure(), {
    "grpc.max_receive_message_length": 400 * 1024 * 1024,
    // A partial failure comes in the trailers with its whole state. The engine accepts the same size.
    "grpc.max_metadata_size": 16 * 1024 * 1024,
  });
}

/** The engine's record of a resource in state. */
interface StoredResource {
  readonly id: string;
  readonly properties: ResourceProperties;
  /** The checked arguments of the last run. */
  readonly inputs?: ResourceProperties;
}

/**
 * The engine's calls for a resource, with plain objects. Adds the other fields that the engine sends: the URN, the
 * provider of dynamic resources, and the inputs of the previous run if the caller knows them.
 */
export class ProviderResource {
  readonly #provider: ProviderProcess;
  readonly #urn: string;
  readonly #extra: ResourceProperties;
  readonly #nameProperties: ResourceProperties;

  constructor(
    provider: ProviderProcess,
    {
      urn,
      extra,
      nameProperties,
    }: { readonly urn: string; readonly extra: ResourceProperties; readonly nameProperties: ResourceProperties },
  ) {
    this.#provider = provider;
    this.#urn = urn;
    this.#extra = extra;
    this.#nameProperties = nameProperties;
  }

  get #client(): ResourceProviderClient {
    return this.#provider.client;
  }

  async check(
    news: ResourceProperties,
    olds: ResourceProperties = {},
  ): Promise<{ inputs: ResourceProperties; failures: Record<string, string> }> {
    const request = new provider.CheckRequest();
    request.setUrn(this.#urn);
    request.setOlds(this.#struct(olds));
    request.setNews(this.#struct({ ...this.#nameProperties, ...news }));
    const answer = await this.#call<InstanceType<typeof provider.CheckResponse>>((done) =>
      this.#client.check(request, done),
    );
    const failures = Object.fromEntries(
      answer.getFailuresList().map((failure) => [failure.getProperty(), failure.getReason()]),
    );
    return { inputs: convertStruct(answer.getInputs()), failures };
  }

  async diff(
    id: string,
    olds: ResourceProperties,
    news: ResourceProperties,
    oldInputs: ResourceProperties = {},
  ): Promise<{ changes: boolean; replaces: string[] }> {
    const answer = await this.#diff(id, olds, news, oldInputs);
    const some = provider.DiffResponse.DiffChanges.DIFF_SOME;
    return { changes: answer.getChanges() === some, replaces: answer.getReplacesList() };
  }

  /**
   * Returns the kind of change of each property in a diff, such as `{ comment: "UPDATE" }`; undefined if the diff has
   * no details.
   */
  async diffDetails(
    id: string,
    olds: ResourceProperties,
    news: ResourceProperties,
    oldInputs: ResourceProperties = {},
  ): Promise<Record<string, string> | undefined> {
    const answer = await this.#diff(id, olds, news, oldInputs);
    if (!answer.getHasdetaileddiff()) return undefined;
    const kinds = Object.entries(provider.PropertyDiff.Kind);
    const findKindName = (kind: number): string => kinds.find(([, value]) => value === kind)?.[0] ?? "";
    const details: Record<string, string> = {};
    answer.getDetaileddiffMap().forEach((detail, path) => {
      details[path] = findKindName(detail.getKind());
    });
    return details;
  }

  async #diff(
    id: string,
    olds: ResourceProperties,
    news: ResourceProperties,
    oldInputs: ResourceProperties,
  ): Promise<InstanceType<typeof provider.DiffResponse>> {
    const request = new provider.DiffRequest();
    request.setUrn(this.#urn);
    request.setId(id);
    request.setOldInputs(this.#struct(oldInputs));
    request.setOlds(this.#struct(olds));
    request.setNews(this.#struct(news));
    return await this.#call((done) => this.#client.diff(request, done));
  }

  /** @param options whether this is a preview, and the time limit. Default: no limit. */
  async create(
    inputs: ResourceProperties,
    { preview = false, seconds = 0 }: { readonly preview?: boolean; readonly seconds?: number } = {},
  ): Promise<{ id: string; properties: ResourceProperties }> {
    const request = new provider.CreateRequest();
    request.setUrn(this.#urn);
    request.setTimeout(seconds);
    request.setProperties(this.#struct(inputs));
    request.setPreview(preview);
    const answer = await this.#call<InstanceType<typeof provider.CreateResponse>>((done) =>
      this.#client.create(request, done),
    );
    return { id: answer.getId(), properties: convertStruct(answer.getProperties()) };
  }

  /** Returns undefined if the provider reports the resource as deleted. Without properties, this is an import. */
  async read(
    id: string,
    properties?: ResourceProperties,
    inputs?: ResourceProperties,
    seconds = 0,
  ): Promise<{ id: string; properties: ResourceProperties; inputs: ResourceProperties } | undefined> {
    const request = new provider.ReadRequest();
    request.setUrn(this.#urn);
    request.setTimeout(seconds);
    request.setId(id);
    if (properties !== undefined) request.setProperties(this.#struct(properties));
    if (inputs !== undefined) request.setInputs(this.#struct(inputs));
    const answer = await this.#call<InstanceType<typeof provider.ReadResponse>>((done) =>
      this.#client.read(request, done),
    );
    if (answer.getId() === "") return undefined;
    return {
      id: answer.getId(),
      properties: convertStruct(answer.getProperties()),
      // If none are returned, the engine keeps its own.
      inputs: answer.getInputs() === undefined ? (inputs ?? {}) : convertStruct(answer.getInputs()),
    };
  }

  async update(
    id: string,
    olds: ResourceProperties,
    news: ResourceProperties,
    oldInputs: ResourceProperties = {},
    { preview = false, seconds = 0 }: { readonly preview?: boolean; readonly seconds?: number } = {},
  ): Promise<ResourceProperties> {
    const request = new provider.UpdateRequest();
    request.setUrn(this.#urn);
    request.setTimeout(seconds);
    request.setPreview(preview);
    request.setId(id);
    request.setOldInputs(this.#struct(oldInputs));
    request.setOlds(this.#struct(olds));
    request.setNews(this.#struct(news));
    const answer = await this.#call<InstanceType<typeof provider.UpdateResponse>>((done) =>
      this.#client.update(request, done),
    );
    return convertStruct(answer.getProperties());
  }

  async delete(
    id: string,
    properties: ResourceProperties,
    inputs: ResourceProperties = {},
    seconds = 0,
  ): Promise<void> {
    const request = new provider.DeleteRequest();
    request.setUrn(this.#urn);
    request.setTimeout(seconds);
    request.setId(id);
    request.setOldInputs(this.#struct(inputs));
    request.setProperties(this.#struct(properties));
    await this.#call((done) => this.#client.delete(request, done));
  }

  /** Declares a resource that is not in state, as the engine does: check, then create. */
  async declare(
    args: ResourceProperties,
  ): Promise<{ id: string; properties: ResourceProperties; inputs: ResourceProperties }> {
    const { inputs, failures } = await this.check(args);
    if (Object.keys(failures).length > 0) throw new Error(`check failed: ${JSON.stringify(failures)}`);
    return { ...(await this.create(inputs)), inputs };
  }

  /**
   * Declares a resource in state in the engine's next run, so in another process: check, diff, and an update if there
   * is a change.
   */
  async change(
    resource: StoredResource,
    args: ResourceProperties,
  ): Promise<StoredResource & { readonly changed: boolean; readonly replaces: string[] }> {
    await this.#provider.startNextRun();
    const before = resource.inputs ?? {};
    const { inputs, failures } = await this.check(args, resource.inputs ?? resource.properties);
    if (Object.keys(failures).length > 0) throw new Error(`check failed: ${JSON.stringify(failures)}`);
    const { id, properties: olds } = resource;
    const { changes, replaces } = await this.diff(id, olds, inputs, before);
    if (!changes || replaces.length > 0) return { ...resource, changed: changes, replaces };
    const properties = await this.update(id, olds, inputs, before);
    return { id, properties, inputs, changed: true, replaces };
  }

  async #call<Answer>(start: Start<Answer>): Promise<Answer> {
    return await call(start, Object.keys(this.#extra));
  }

  #struct(properties: ResourceProperties): Struct {
    return Struct.fromJavaScript({ ...properties, ...this.#extra } as never);
  }
}

/**
 * Returns an unused engine address. Processes of one run share an address; those of another run have a different one.
 */
export function createEngineAddress(): string {
  return `unix:/nowhere/${Math.floor(Math.random() * 1e9)}`;
}

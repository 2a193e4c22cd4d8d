import { createRequire } from "node:module";
import type { handleUnaryCall, StatusObject, UntypedServiceImplementation } from "@grpc/grpc-js";
import { type dynamic, runtime } from "@pulumi/pulumi";
import plugin from "@pulumi/pulumi/proto/plugin_pb.js";
import messages from "@pulumi/pulumi/proto/provider_pb.js";
import statusMessages from "@pulumi/pulumi/proto/status_pb.js";
import { PULUMI_UNKNOWN } from "../model/unknown-value";
import { isDefaultProvider } from "./configuration";
import { createDynamicProvider } from "./dynamic-provider";
import type { Properties } from "./provider-adapter";
import { ProviderSession } from "./provider-session";
import { interceptHostRequests } from "./pulumi-host-requests";
import { PROVIDER_PROPERTY } from "./pulumi-values";
import { getUrnName, type ResourceKind } from "./resource-type";
import { buildSerializedProvider, type HandlerName } from "./serialized-provider";

const requireFromPulumi = createRequire(require.resolve("@pulumi/pulumi"));
// Uses the packages that Pulumi's SDK has loaded, because they are its dependencies.
const grpc = requireFromPulumi("@grpc/grpc-js") as typeof import("@grpc/grpc-js");
const { Any } = requireFromPulumi(
  "google-protobuf/google/protobuf/any_pb",
) as typeof import("google-protobuf/google/protobuf/any_pb.js");
const { Empty } = requireFromPulumi(
  "google-protobuf/google/protobuf/empty_pb",
) as typeof import("google-protobuf/google/protobuf/empty_pb.js");
const { Struct } = requireFromPulumi(
  "google-protobuf/google/protobuf/struct_pb",
) as typeof import("google-protobuf/google/protobuf/struct_pb.js");
const { version } = requireFromPulumi("@pulumi/pulumi/package.json") as { readonly version: string };

type ProtocolMessage<Name extends keyof typeof messages> = (typeof messages)[Name] extends new (
  ...args: never[]
) => infer Instance
  ? Instance
  : never;
type FullResourceProvider = Required<Pick<dynamic.ResourceProvider, "check" | "diff" | "read" | "update" | "delete">> &
  dynamic.ResourceProvider;

const HANDLERS: readonly (readonly [name: HandlerName, kind: ResourceKind])[] = [
  ["allowDenyEntry", "AllowDenyEntry"],
  ["vipEmployee", "VipEmployee"],
  ["allowDenyList", "AllowDenyList"],
  ["vipList", "VipList"],
];

const CALL_NAMES = [
  "attach",
  "cancel",
  "check",
  "configure",
  "create",
  "delete",
  "diff",
  "getPluginInfo",
  "read",
  "update",
] as const satisfies readonly (keyof DynamicService)[];

interceptHostRequests(messages);

/** A connection of the engine. The engine would otherwise have started one host process for each. */
type Connection = string;

/**
 * Implements the protocol of Pulumi's host of dynamic resources, for resources with our serialized provider. A process
 * that runs an engine can let it attach to itself, which saves two host processes for each `up`. The resulting state is
 * the same as the host's.
 *
 * Each connection of an engine has its own session, as it would have its own host process. Requests that only the host
 * can serve are rejected, and recorded in {@link isForeignRequested}: those for another provider, and for a provider
 * instance that the engine doesn't create itself.
 */
export class DynamicService {
  readonly #environment: NodeJS.ProcessEnv;
  #engine = "";
  readonly #runs = new Map<Connection, ConnectionRun>();
  #activeCalls = 0;
  #hasForeignRequest = false;

  /** @param environment the environment that the host would have, including the tenant's key. */
  constructor(environment: NodeJS.ProcessEnv) {
    this.#environment = environment;
  }

  /** Whether a request that only Pulumi's host can serve was rejected, before any part of it was executed. */
  get isForeignRequested(): boolean {
    return this.#hasForeignRequest;
  }

  /** The calls for gRPC, which itself rejects those that the host doesn't implement either. */
  get rpcs(): UntypedServiceImplementation {
    return Object.fromEntries(CALL_NAMES.map((name) => [name, this.#createRpc(name)]));
  }

  /**
   * Stops sending requests to the service.
   *
   * @returns whether calls are in progress; they finish by themselves.
   */
  end(): boolean {
    this.#endRuns();
    return this.#activeCalls > 0;
  }

  attach(request: { getAddress(): string }): unknown {
    const engine = request.getAddress();
    if (engine !== this.#engine) this.#endRuns();
    this.#engine = engine;
    return new Empty();
  }

  /** Like Pulumi's host, lets current calls finish. */
  cancel(): unknown {
    return new Empty();
  }

  getPluginInfo(): unknown {
    const response = new plugin.PluginInfo();
    response.setVersion(version);
    return response;
  }

  async configure(request: ProtocolMessage<"ConfigureRequest">, connection: Connection): Promise<unknown> {
    const instance = getUrnName(request.getUrn() ?? "");
    // The engine creates a second one if the stack's configuration has changed since its last run.
    if (!isDefaultProvider(instance) || this.#runs.has(connection))
      throw this.#buildForeignError("this run's providers");
    const session = new ProviderSession(this.#engine, () => {}, this.#environment);
    const providers = HANDLERS.map(
      ([name, kind]) =>
        [buildSerializedProvider(name), createDynamicProvider(kind, session) as FullResourceProvider] as const,
    );
    this.#runs.set(connection, { session, providers: new Map<unknown, FullResourceProvider>(providers) });
    const config = toPlainObject(request.getArgs());
    const get = (key: string): string | undefined => runtime.unwrapRpcSecret(config[key]) as string | undefined;
    for (const [, provider] of providers) {
      await provider.configure?.({ config: { get } } as dynamic.ConfigureRequest);
    }
    const response = new messages.ConfigureResponse();
    response.setAcceptsecrets(false);
    return response;
  }

  async check(request: ProtocolMessage<"CheckRequest">, connection: Connection): Promise<unknown> {
    const olds = toPlainObject(request.getOlds());
    const news = toPlainObject(request.getNews());
    const { inputs = news, failures = [] } = await this.#getProvider(connection, news, olds).check(olds, news);
    const response = new messages.CheckResponse();
    response.setInputs(toStruct({ ...inputs, [PROVIDER_PROPERTY]: news[PROVIDER_PROPERTY] }));
    response.setFailuresList(
      failures.map(({ property, reason }) => {
        const failure = new messages.CheckFailure();
        failure.setProperty(property);
        failure.setReason(reason);
        return failure;
      }),
    );
    return response;
  }

  async diff(request: ProtocolMessage<"DiffRequest">, connection: Connection): Promise<unknown> {
    const olds = toPlainObject(request.getOlds());
    const news = toPlainObject(request.getNews());
    const { changes, replaces = [] } = await this.#getProvider(connection, news, olds).diff(
      request.getId(),
      olds,
      news,
    );
    const { DIFF_NONE, DIFF_SOME } = messages.DiffResponse.DiffChanges;
    const response = new messages.DiffResponse();
    response.setChanges(changes === true ? DIFF_SOME : DIFF_NONE);
    response.setReplacesList(replaces);
    return response;
  }

  async create(request: ProtocolMessage<"CreateRequest">, connection: Connection): Promise<unknown> {
    const inputs = toPlainObject(request.getProperties());
    const { id, outs } = await this.#getProvider(connection, inputs).create(inputs);
    const response = new messages.CreateResponse();
    response.setId(id);
    response.setProperties(addProvider(outs, inputs));
    return response;
  }

  async read(request: ProtocolMessage<"ReadRequest">, connection: Connection): Promise<unknown> {
    const outputs = toPlainObject(request.getProperties());
    const { id, props, inputs } = await this.#getProvider(connection, outputs).read(request.getId(), outputs);
    const response = new messages.ReadResponse();
    if (id !== undefined) response.setId(id);
    response.setProperties(addProvider(props, outputs));
    if (inputs !== undefined) response.setInputs(addProvider(inputs, outputs));
    return response;
  }

  async update(request: ProtocolMessage<"UpdateRequest">, connection: Connection): Promise<unknown> {
    const olds = toPlainObject(request.getOlds());
    const news = toPlainObject(request.getNews());
    const { outs } = await this.#getProvider(connection, news).update(request.getId(), olds, news);
    const response = new messages.UpdateResponse();
    response.setProperties(addProvider(outs, news));
    return response;
  }

  async delete(request: ProtocolMessage<"DeleteRequest">, connection: Connection): Promise<unknown> {
    const outputs = toPlainObject(request.getProperties());
    const provider = this.#getProvider(connection, outputs);
    // The name and timeout of a delete are captured when its id is read.
    await provider.delete(request.getId(), outputs);
    return new Empty();
  }

  #getProvider(connection: Connection, properties: Properties, fallback: Properties = {}): FullResourceProvider {
    const storedProvider = properties[PROVIDER_PROPERTY];
    const providerText = storedProvider === PULUMI_UNKNOWN ? fallback[PROVIDER_PROPERTY] : storedProvider;
    const provider = this.#runs.get(connection)?.providers.get(providerText);
    if (provider === undefined) throw this.#buildForeignError("this dynamic resource");
    return provider;
  }

  #endRuns(): void {
    for (const { session } of this.#runs.values()) session.close();
    this.#runs.clear();
  }

  #buildForeignError(subject: string): Error {
    this.#hasForeignRequest = true;
    return new Error(`Only Pulumi's own host of dynamic resources can serve ${subject}.`);
  }

  #createRpc(name: (typeof CALL_NAMES)[number]): handleUnaryCall<unknown, unknown> {
    return async (call, callback) => {
      this.#activeCalls += 1;
      try {
        const method = this[name] as (request: unknown, connection: Connection) => unknown;
        callback(null, await method.call(this, call.request, call.getPeer()));
      } catch (error) {
        callback(buildPartialStatus(error));
      } finally {
        this.#activeCalls -= 1;
      }
    };
  }
}

interface ConnectionRun {
  readonly session: ProviderSession;
  /** By the text that Pulumi stores in a resource as its provider. */
  readonly providers: ReadonlyMap<unknown, FullResourceProvider>;
}

/** The data in a provider's error about a resource that was created or updated in part. */
interface PartialError {
  readonly message?: string;
  readonly id?: string;
  readonly properties?: Properties;
  readonly reasons?: string[];
}

/** "Created, but failed to initialize", which keeps the resource in state, if the error identifies it. */
function buildPartialStatus(error: unknown): Partial<StatusObject> {
  const { message = String(error), id, properties = {}, reasons = [] } = error as PartialError;
  const metadata = new grpc.Metadata();
  if (id) {
    const initFailure = new messages.ErrorResourceInitFailed();
    initFailure.setId(id);
    initFailure.setProperties(toStruct(properties));
    initFailure.setReasonsList(reasons);
    const detail = new Any();
    detail.pack(initFailure.serializeBinary(), "pulumirpc.ErrorResourceInitFailed");
    const statusMessage = new statusMessages.Status();
    statusMessage.setCode(grpc.status.UNKNOWN);
    statusMessage.setMessage(message);
    statusMessage.addDetails(detail);
    metadata.add("grpc-status-details-bin", Buffer.from(statusMessage.serializeBinary()));
  }
  return { code: grpc.status.UNKNOWN, details: message, metadata };
}

function toPlainObject(struct: InstanceType<typeof Struct> | undefined): Properties {
  return (struct?.toJavaScript() ?? {}) as Properties;
}

function toStruct(properties: Properties): InstanceType<typeof Struct> {
  return Struct.fromJavaScript(properties as Parameters<typeof Struct.fromJavaScript>[0]);
}

/** Without its provider in the properties, no host could serve the resource. */
function addProvider(properties: Properties | undefined, source: Properties): InstanceType<typeof Struct> {
  return toStruct({ ...properties, [PROVIDER_PROPERTY]: source[PROVIDER_PROPERTY] });
}

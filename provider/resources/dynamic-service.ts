import { createRequire } from "node:module";
import type { handleUnaryCall, StatusObject, UntypedServiceImplementation } from "@grpc/grpc-js";
import { type dynamic, runtime } from "@pulumi/pulumi";
import plugin from "@pulumi/pulumi/proto/plugin_pb.js";
import messages from "@pulumi/pulumi/proto/provider_pb.js";
import statusMessages from "@pulumi/pulumi/proto/status_pb.js";
import { PULUMI_UNKNOWN } from "../settings/unknown";
import { isDefaultProvider } from "./configuration";
import { createDynamicProvider } from "./dynamic-provider";
import { interceptHostRequests } from "./host-requests";
import type { Properties } from "./provider-adapter";
import { ProviderSession } from "./provider-session";
import { PROVIDER_PROPERTY } from "./pulumi-values";
import { getUrnName, type ResourceKind } from "./resource-type";
import { buildSerializedProvider, type HandlerName } from "./serialized-provider";

const requireFromPulumi = createRequire(require.resolve("@pulumi/pulumi"));
// As Pulumi's SDK has loaded them: they are its packages.
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

type Message<Name extends keyof typeof messages> = (typeof messages)[Name] extends new (
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

/** A connection of the engine: for each of them it would have started a process of the host. */
type Connection = string;

/**
 * Answers the engine what Pulumi's host of dynamic resources would, message by message, for resources whose provider is our
 * shell; so that whoever runs an engine can have it attach to its own process, instead of starting two of the host for each
 * `up`. What the state then holds is what the host would have left there.
 *
 * Each connection of an engine is served by a session of its own, as it would have a process of the host. What only the host can
 * serve is refused, and known by {@link isForeignRequested}: another provider than the shell, and one that the engine doesn't make itself.
 */
export class DynamicService {
  readonly #environment: NodeJS.ProcessEnv;
  #engine = "";
  readonly #runs = new Map<Connection, ConnectionRun>();
  #activeCalls = 0;
  #hasForeignRequest = false;

  /** @param environment what the host would have as its own: the tenant's key with it. */
  constructor(environment: NodeJS.ProcessEnv) {
    this.#environment = environment;
  }

  /** Whether it was asked for what only Pulumi's host can serve, and has refused that before anything of it was done. */
  get isForeignRequested(): boolean {
    return this.#hasForeignRequest;
  }

  /** As gRPC serves it; of the calls that the host doesn't answer either, gRPC itself says so. */
  get rpcs(): UntypedServiceImplementation {
    return Object.fromEntries(CALL_NAMES.map((name) => [name, this.#createRpc(name)]));
  }

  /**
   * From now on nothing more is sent to the service.
   *
   * @returns whether calls were under way, which come to their end by themselves.
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

  /** As in Pulumi's host: what is under way is finished. */
  cancel(): unknown {
    return new Empty();
  }

  getPluginInfo(): unknown {
    const response = new plugin.PluginInfo();
    response.setVersion(version);
    return response;
  }

  async configure(request: Message<"ConfigureRequest">, connection: Connection): Promise<unknown> {
    const instance = getUrnName(request.getUrn() ?? "");
    // The engine makes a second one where the stack's configuration is another than that of its last run.
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

  async check(request: Message<"CheckRequest">, connection: Connection): Promise<unknown> {
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

  async diff(request: Message<"DiffRequest">, connection: Connection): Promise<unknown> {
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

  async create(request: Message<"CreateRequest">, connection: Connection): Promise<unknown> {
    const inputs = toPlainObject(request.getProperties());
    const { id, outs } = await this.#getProvider(connection, inputs).create(inputs);
    const response = new messages.CreateResponse();
    response.setId(id);
    response.setProperties(addProvider(outs, inputs));
    return response;
  }

  async read(request: Message<"ReadRequest">, connection: Connection): Promise<unknown> {
    const outputs = toPlainObject(request.getProperties());
    const { id, props, inputs } = await this.#getProvider(connection, outputs).read(request.getId(), outputs);
    const response = new messages.ReadResponse();
    if (id !== undefined) response.setId(id);
    response.setProperties(addProvider(props, outputs));
    if (inputs !== undefined) response.setInputs(addProvider(inputs, outputs));
    return response;
  }

  async update(request: Message<"UpdateRequest">, connection: Connection): Promise<unknown> {
    const olds = toPlainObject(request.getOlds());
    const news = toPlainObject(request.getNews());
    const { outs } = await this.#getProvider(connection, news).update(request.getId(), olds, news);
    const response = new messages.UpdateResponse();
    response.setProperties(addProvider(outs, news));
    return response;
  }

  async delete(request: Message<"DeleteRequest">, connection: Connection): Promise<unknown> {
    const outputs = toPlainObject(request.getProperties());
    const provider = this.#getProvider(connection, outputs);
    // The name and the time that a delete has are heard when its id is asked for.
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

/** What one connection of an engine is served by. */
interface ConnectionRun {
  readonly session: ProviderSession;
  /** By the text that Pulumi stores in a resource as its provider. */
  readonly providers: ReadonlyMap<unknown, FullResourceProvider>;
}

/** What a front's error tells of a resource that was made, or changed, in part. */
interface PartialError {
  readonly message?: string;
  readonly id?: string;
  readonly properties?: Properties;
  readonly reasons?: string[];
}

/** "Created, but failed to initialize", which keeps the resource in state, where the error says of which. */
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

/** Without its provider, a resource could be served by nobody. */
function addProvider(properties: Properties | undefined, source: Properties): InstanceType<typeof Struct> {
  return toStruct({ ...properties, [PROVIDER_PROPERTY]: source[PROVIDER_PROPERTY] });
}

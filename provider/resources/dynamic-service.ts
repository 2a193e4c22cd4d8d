import { createRequire } from "node:module";
import type { handleUnaryCall, StatusObject, UntypedServiceImplementation } from "@grpc/grpc-js";
import { type dynamic, runtime } from "@pulumi/pulumi";
import plugin from "@pulumi/pulumi/proto/plugin_pb.js";
import messages from "@pulumi/pulumi/proto/provider_pb.js";
import statusMessages from "@pulumi/pulumi/proto/status_pb.js";
import { PULUMI_UNKNOWN } from "../settings/unknown";
import { isDefaultProvider } from "./configuration";
import { dynamicFront } from "./dynamic-front";
import type { Properties } from "./front";
import { hearRequests } from "./host-requests";
import { PROVIDER_PROPERTY } from "./pulumi-values";
import { nameInUrn, type ResourceKind } from "./resource-type";
import { ProviderSession } from "./session";
import { type HandlerName, shell } from "./shell";

const fromPulumi = createRequire(require.resolve("@pulumi/pulumi"));
// As Pulumi's SDK has loaded them: they are its packages.
const grpc = fromPulumi("@grpc/grpc-js") as typeof import("@grpc/grpc-js");
const { Any } = fromPulumi(
  "google-protobuf/google/protobuf/any_pb",
) as typeof import("google-protobuf/google/protobuf/any_pb.js");
const { Empty } = fromPulumi(
  "google-protobuf/google/protobuf/empty_pb",
) as typeof import("google-protobuf/google/protobuf/empty_pb.js");
const { Struct } = fromPulumi(
  "google-protobuf/google/protobuf/struct_pb",
) as typeof import("google-protobuf/google/protobuf/struct_pb.js");
const { version } = fromPulumi("@pulumi/pulumi/package.json") as { readonly version: string };

type Message<Name extends keyof typeof messages> = (typeof messages)[Name] extends new (
  ...args: never[]
) => infer One
  ? One
  : never;
type Provider = Required<Pick<dynamic.ResourceProvider, "check" | "diff" | "read" | "update" | "delete">> &
  dynamic.ResourceProvider;

const HANDLERS: readonly (readonly [name: HandlerName, kind: ResourceKind])[] = [
  ["allowDenyEntry", "AllowDenyEntry"],
  ["vipEmployee", "VipEmployee"],
  ["allowDenyList", "AllowDenyList"],
  ["vipList", "VipList"],
];

const CALLS = [
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

hearRequests(messages);

/** A connection of the engine: for each of them it would have started a process of the host. */
type Connection = string;

/**
 * Answers the engine what Pulumi's host of dynamic resources would, message by message, for resources whose provider is our
 * shell; so that whoever runs an engine can have it attach to its own process, instead of starting two of the host for each
 * `up`. What the state then holds is what the host would have left there.
 *
 * Each connection of an engine is served by a session of its own, as it would have a process of the host. What only the host can
 * serve is refused, and known by {@link isForeign}: another provider than the shell, and one that the engine doesn't make itself.
 */
export class DynamicService {
  readonly #environment: NodeJS.ProcessEnv;
  #engine = "";
  readonly #runs = new Map<Connection, Run>();
  #underWay = 0;
  #isForeign = false;

  /** @param environment what the host would have as its own: the tenant's key with it. */
  constructor(environment: NodeJS.ProcessEnv) {
    this.#environment = environment;
  }

  /** Whether it was asked for what only Pulumi's host can serve, and has refused that before anything of it was done. */
  get isForeign(): boolean {
    return this.#isForeign;
  }

  /** As gRPC serves it; of the calls that the host doesn't answer either, gRPC itself says so. */
  get rpcs(): UntypedServiceImplementation {
    return Object.fromEntries(CALLS.map((name) => [name, this.#rpc(name)]));
  }

  /**
   * From now on nothing more is sent to the service.
   *
   * @returns whether calls were under way, which come to their end by themselves.
   */
  end(): boolean {
    this.#endRuns();
    return this.#underWay > 0;
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
    const answer = new plugin.PluginInfo();
    answer.setVersion(version);
    return answer;
  }

  async configure(request: Message<"ConfigureRequest">, connection: Connection): Promise<unknown> {
    const instance = nameInUrn(request.getUrn() ?? "");
    // The engine makes a second one where the stack's configuration is another than that of its last run.
    if (!isDefaultProvider(instance) || this.#runs.has(connection))
      throw this.#foreign("this run's providers");
    const session = new ProviderSession(this.#engine, () => {}, this.#environment);
    const providers = HANDLERS.map(
      ([name, kind]) => [shell(name), dynamicFront(kind, session) as Provider] as const,
    );
    this.#runs.set(connection, { session, providers: new Map<unknown, Provider>(providers) });
    const config = plainOf(request.getArgs());
    const get = (key: string): string | undefined =>
      runtime.unwrapRpcSecret(config[key]) as string | undefined;
    for (const [, provider] of providers) {
      await provider.configure?.({ config: { get } } as dynamic.ConfigureRequest);
    }
    const answer = new messages.ConfigureResponse();
    answer.setAcceptsecrets(false);
    return answer;
  }

  async check(request: Message<"CheckRequest">, connection: Connection): Promise<unknown> {
    const olds = plainOf(request.getOlds());
    const news = plainOf(request.getNews());
    const { inputs = news, failures = [] } = await this.#providerOf(connection, news, olds).check(olds, news);
    const answer = new messages.CheckResponse();
    answer.setInputs(structOf({ ...inputs, [PROVIDER_PROPERTY]: news[PROVIDER_PROPERTY] }));
    answer.setFailuresList(
      failures.map(({ property, reason }) => {
        const failure = new messages.CheckFailure();
        failure.setProperty(property);
        failure.setReason(reason);
        return failure;
      }),
    );
    return answer;
  }

  async diff(request: Message<"DiffRequest">, connection: Connection): Promise<unknown> {
    const olds = plainOf(request.getOlds());
    const news = plainOf(request.getNews());
    const { changes, replaces = [] } = await this.#providerOf(connection, news, olds).diff(
      request.getId(),
      olds,
      news,
    );
    const { DIFF_NONE, DIFF_SOME } = messages.DiffResponse.DiffChanges;
    const answer = new messages.DiffResponse();
    answer.setChanges(changes === true ? DIFF_SOME : DIFF_NONE);
    answer.setReplacesList(replaces);
    return answer;
  }

  async create(request: Message<"CreateRequest">, connection: Connection): Promise<unknown> {
    const inputs = plainOf(request.getProperties());
    const { id, outs } = await this.#providerOf(connection, inputs).create(inputs);
    const answer = new messages.CreateResponse();
    answer.setId(id);
    answer.setProperties(withProvider(outs, inputs));
    return answer;
  }

  async read(request: Message<"ReadRequest">, connection: Connection): Promise<unknown> {
    const outputs = plainOf(request.getProperties());
    const { id, props, inputs } = await this.#providerOf(connection, outputs).read(request.getId(), outputs);
    const answer = new messages.ReadResponse();
    if (id !== undefined) answer.setId(id);
    answer.setProperties(withProvider(props, outputs));
    if (inputs !== undefined) answer.setInputs(withProvider(inputs, outputs));
    return answer;
  }

  async update(request: Message<"UpdateRequest">, connection: Connection): Promise<unknown> {
    const olds = plainOf(request.getOlds());
    const news = plainOf(request.getNews());
    const { outs } = await this.#providerOf(connection, news).update(request.getId(), olds, news);
    const answer = new messages.UpdateResponse();
    answer.setProperties(withProvider(outs, news));
    return answer;
  }

  async delete(request: Message<"DeleteRequest">, connection: Connection): Promise<unknown> {
    const outputs = plainOf(request.getProperties());
    const provider = this.#providerOf(connection, outputs);
    // The name and the time that a delete has are heard when its id is asked for.
    await provider.delete(request.getId(), outputs);
    return new Empty();
  }

  #providerOf(connection: Connection, properties: Properties, otherwise: Properties = {}): Provider {
    const told = properties[PROVIDER_PROPERTY];
    const which = told === PULUMI_UNKNOWN ? otherwise[PROVIDER_PROPERTY] : told;
    const provider = this.#runs.get(connection)?.providers.get(which);
    if (provider === undefined) throw this.#foreign("this dynamic resource");
    return provider;
  }

  #endRuns(): void {
    for (const { session } of this.#runs.values()) session.close();
    this.#runs.clear();
  }

  #foreign(what: string): Error {
    this.#isForeign = true;
    return new Error(`Only Pulumi's own host of dynamic resources can serve ${what}.`);
  }

  #rpc(name: (typeof CALLS)[number]): handleUnaryCall<unknown, unknown> {
    return async (call, answer) => {
      this.#underWay += 1;
      try {
        const answering = this[name] as (request: unknown, connection: Connection) => unknown;
        answer(null, await answering.call(this, call.request, call.getPeer()));
      } catch (error) {
        answer(failureOf(error));
      } finally {
        this.#underWay -= 1;
      }
    };
  }
}

/** What one connection of an engine is served by. */
interface Run {
  readonly session: ProviderSession;
  /** By the text that Pulumi stores in a resource as its provider. */
  readonly providers: ReadonlyMap<unknown, Provider>;
}

/** What a front's error tells of a resource that was made, or changed, in part. */
interface TellingError {
  readonly message?: string;
  readonly id?: string;
  readonly properties?: Properties;
  readonly reasons?: string[];
}

/** "Created, but failed to initialize", which keeps the resource in state, where the error says of which. */
function failureOf(error: unknown): Partial<StatusObject> {
  const { message = String(error), id, properties = {}, reasons = [] } = error as TellingError;
  const metadata = new grpc.Metadata();
  if (id) {
    const failed = new messages.ErrorResourceInitFailed();
    failed.setId(id);
    failed.setProperties(structOf(properties));
    failed.setReasonsList(reasons);
    const detail = new Any();
    detail.pack(failed.serializeBinary(), "pulumirpc.ErrorResourceInitFailed");
    const told = new statusMessages.Status();
    told.setCode(grpc.status.UNKNOWN);
    told.setMessage(message);
    told.addDetails(detail);
    metadata.add("grpc-status-details-bin", Buffer.from(told.serializeBinary()));
  }
  return { code: grpc.status.UNKNOWN, details: message, metadata };
}

function plainOf(struct: InstanceType<typeof Struct> | undefined): Properties {
  return (struct?.toJavaScript() ?? {}) as Properties;
}

function structOf(properties: Properties): InstanceType<typeof Struct> {
  return Struct.fromJavaScript(properties as Parameters<typeof Struct.fromJavaScript>[0]);
}

/** Without its provider, a resource could be served by nobody. */
function withProvider(properties: Properties | undefined, from: Properties): InstanceType<typeof Struct> {
  return structOf({ ...properties, [PROVIDER_PROPERTY]: from[PROVIDER_PROPERTY] });
}

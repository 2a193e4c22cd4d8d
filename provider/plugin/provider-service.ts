import { isDeepStrictEqual } from "node:util";
import plugin from "@pulumi/pulumi/proto/plugin_pb.js";
import messages from "@pulumi/pulumi/proto/provider_pb.js";
import { Empty } from "google-protobuf/google/protobuf/empty_pb.js";
import type { Struct } from "google-protobuf/google/protobuf/struct_pb.js";
import { ConfigurationError } from "../client";
import { MINIMUM_VERSION } from "../engine/installed-engines";
import { formatVersion } from "../engine/version";
import { describeChanges } from "../resources/detailed-diff";
import { type Front, frontOf, type Properties } from "../resources/front";
import { definitions } from "../resources/functions/definitions";
import { refuseUnheardIgnores } from "../resources/ignored-changes";
import { NAMESPACE } from "../resources/known-names";
import { nameInUrn, nativeType, RESOURCE_KINDS, resourceKind, typeInUrn } from "../resources/resource-type";
import { ProviderSession } from "../resources/session";
import type { ArgumentFailure } from "../settings/arguments";
import { TENANT_SETTINGS_TYPE } from "../settings/tenant-settings-type";
import { quote } from "../settings/text";
import { UNKNOWN } from "../settings/unknown";
import { EngineLog } from "./engine-log";
import { FailedImports, isFailedImport } from "./failed-imports";
import { notKnownYet, pageOf } from "./list-page";
import { ProtocolError } from "./protocol-error";
import { checkConfiguration, configurationOf, movesTenant } from "./provider-configuration";
import { asSecret, hasSecrets, isOfDynamicResource, propertiesOf, structOf } from "./wire";

/** Put in by the build. */
declare const PLUGIN_VERSION: string;
declare const PLUGIN_SCHEMA: string;

type Messages = typeof messages & typeof plugin;
/** A message of `provider.proto`. */
export type Request<Name extends keyof Messages> = Messages[Name] extends new (
  ...args: never[]
) => infer Message
  ? Message
  : never;

const FUNCTIONS = new Map(
  Object.entries(definitions).map(([name, definition]) => [`${NAMESPACE}:index:${name}`, definition]),
);

/**
 * Pulumi's provider protocol on top of the same lifecycles as the dynamic resources, with one method per call of
 * `provider.proto`. Errors reach the engine unchanged.
 */
export class ProviderService {
  readonly #log: EngineLog;
  #engine: string | undefined;
  #session: ProviderSession;
  #fronts: ReadonlyMap<string, Front>;
  /** The URN of the session's provider instance. */
  #instance: string | undefined;
  /** The reference of this process's provider instance, as the engine uses it. */
  #reference = "";
  #failedImports = new FailedImports();
  /** The components under construction, and the signal that the run ends. */
  readonly #constructs = new Set<Promise<unknown>>();
  #ending = Promise.withResolvers<void>();

  /** @param engine the engine's address. */
  constructor(engine: string | undefined) {
    this.#log = new EngineLog(engine);
    this.#engine = engine;
    [this.#session, this.#fronts] = this.#begin();
  }

  handshake(request: Request<"ProviderHandshakeRequest">): unknown {
    this.#serve(request.getEngineAddress());
    const answer = new messages.ProviderHandshakeResponse();
    answer.setAcceptSecrets(true);
    answer.setAcceptResources(true);
    return answer;
  }

  /** Sets the address of an engine that did not start this process. */
  attach(request: Request<"PluginAttach">): unknown {
    this.#serve(request.getAddress());
    return new Empty();
  }

  getPluginInfo(): unknown {
    const answer = new plugin.PluginInfo();
    answer.setVersion(PLUGIN_VERSION);
    return answer;
  }

  getSchema(request: Request<"GetSchemaRequest">): unknown {
    if (request.getVersion() !== 0) {
      throw new ProtocolError(`There is no schema of version ${request.getVersion()}; ask for version 0.`);
    }
    const answer = new messages.GetSchemaResponse();
    answer.setSchema(PLUGIN_SCHEMA);
    return answer;
  }

  checkConfig(request: Request<"CheckRequest">): unknown {
    const { inputs, failures } = checkConfiguration(propertiesOf(request.getNews()), nameOf(request));
    return checked(inputs, failures, request.getNews());
  }

  diffConfig(request: Request<"DiffRequest">): unknown {
    const olds = propertiesOf(request.getOldInputs() ?? request.getOlds());
    const news = propertiesOf(request.getNews());
    const { DIFF_NONE, DIFF_SOME } = messages.DiffResponse.DiffChanges;
    const answer = new messages.DiffResponse();
    const names = [...new Set([...Object.keys(olds), ...Object.keys(news)])];
    const changed = names.filter((name) => !isDeepStrictEqual(olds[name], news[name]));
    answer.setChanges(changed.length === 0 ? DIFF_NONE : DIFF_SOME);
    answer.setDiffsList(changed);
    if (movesTenant(olds, news, nameOf(request))) answer.setReplacesList(["baseUrl"]);
    return answer;
  }

  configure(request: Request<"ConfigureRequest">): unknown {
    refuseOldEngine(request);
    const instance = request.getUrn() ?? "";
    this.#instance ??= instance;
    if (instance !== this.#instance) throw severalAttached(this.#instance, instance);
    this.#session.configure(configurationOf(propertiesOf(request.getArgs()), nameOf(request)));
    this.#reference = `${request.getUrn()}::${request.getId()}`;
    const answer = new messages.ConfigureResponse();
    answer.setSupportspreview(true);
    // As in the handshake.
    answer.setAcceptsecrets(true);
    answer.setAcceptresources(true);
    return answer;
  }

  async check(request: Request<"CheckRequest">): Promise<unknown> {
    const named = { id: request.getUrn(), name: nameOf(request) };
    const { inputs, failures } = this.#frontOf(request).check(
      propertiesOf(request.getNews()),
      propertiesOf(request.getOlds()),
      named,
    );
    if (failures.length > 0) await this.endConstructs();
    return checked(inputs, failures, request.getNews());
  }

  diff(request: Request<"DiffRequest">): unknown {
    const kind = resourceKind(typeInUrn(request.getUrn()));
    if (kind !== undefined) refuseUnheardIgnores(kind, request.getIgnorechangesList());
    const front = this.#frontOf(request);
    const olds = propertiesOf(request.getOlds());
    const news = propertiesOf(request.getNews());
    const changes =
      this.#failedImports.changes(front, { urn: request.getUrn(), olds, news }) ??
      front.diff(request.getId(), olds, news);
    const { DIFF_NONE, DIFF_SOME } = messages.DiffResponse.DiffChanges;
    const answer = new messages.DiffResponse();
    // Resources from dynamic providers are updated without a request to the service, to get the plugin's outputs.
    const isForeign = isOfDynamicResource(request.getOlds());
    answer.setChanges(changes.length === 0 && !isForeign ? DIFF_NONE : DIFF_SOME);
    answer.setReplacesList(changes.filter(({ replace }) => replace).map(({ property }) => property));
    describeChanges(answer, changes, messages);
    return answer;
  }

  async create(request: Request<"CreateRequest">): Promise<unknown> {
    const front = this.#frontOf(request);
    const inputs = propertiesOf(request.getProperties());
    const answer = new messages.CreateResponse();
    if (request.getPreview()) {
      answer.setProperties(structOf(front.preview(inputs), request.getProperties()));
      return answer;
    }
    const { id, outputs } = await front.create(inputs, request.getTimeout());
    answer.setId(id);
    answer.setProperties(structOf(withEntryId(id, request, outputs), request.getProperties()));
    return answer;
  }

  async read(request: Request<"ReadRequest">): Promise<unknown> {
    const front = this.#frontOf(request);
    const outputs = propertiesOf(request.getProperties());
    const isImport = Object.keys(outputs).length === 0;
    // An answer without an id tells the engine that the resource is gone: its import failed.
    if (isFailedImport(outputs)) return new messages.ReadResponse();
    if (isImport) this.#failedImports.begin(request.getUrn());
    const found = isImport
      ? await front.lookUp(request.getId(), request.getTimeout())
      : await front.read(request.getId(), outputs, request.getTimeout());
    if (isImport) this.#failedImports.assertWanted(request.getUrn());
    const answer = new messages.ReadResponse();
    // An answer without an id tells the engine that the resource is gone.
    if (found === undefined) return answer;
    answer.setId(found.id);
    answer.setProperties(structOf(withEntryId(found.id, request, found.outputs), request.getProperties()));
    // Omitted inputs stay unchanged.
    if (found.inputs !== undefined) answer.setInputs(structOf(found.inputs, request.getInputs()));
    return answer;
  }

  async update(request: Request<"UpdateRequest">): Promise<unknown> {
    const front = this.#frontOf(request);
    const id = request.getId();
    const olds = propertiesOf(request.getOlds());
    const inputs = propertiesOf(request.getNews());
    await this.#failedImports.assertImported(request.getUrn(), id, request.getPreview());
    const outputs = request.getPreview()
      ? front.preview(inputs, { id, outputs: olds })
      : await front.update(id, olds, inputs, request.getTimeout());
    const answer = new messages.UpdateResponse();
    answer.setProperties(structOf(withEntryId(id, request, outputs), request.getNews()));
    return answer;
  }

  async delete(request: Request<"DeleteRequest">): Promise<unknown> {
    const outputs = propertiesOf(request.getProperties());
    if (isFailedImport(outputs)) {
      this.#log.say(`${nameOf(request)} was never imported; nothing was deleted at the service.`);
      return new Empty();
    }
    await this.#frontOf(request).delete(request.getId(), outputs, request.getTimeout(), nameOf(request));
    return new Empty();
  }

  async invoke(request: Request<"InvokeRequest">): Promise<unknown> {
    const token = request.getTok();
    const definition = FUNCTIONS.get(token);
    if (definition === undefined) throw new ProtocolError(`There is no function ${quote(token)}.`);
    const result = await definition.read(this.#session.client(), propertiesOf(request.getArgs()));
    const answer = new messages.InvokeResponse();
    // Results that were read with a secret may reveal it.
    const entries = Object.entries(result);
    const told = hasSecrets(request.getArgs())
      ? entries.map(([name, value]) => [name, asSecret(value)])
      : entries;
    answer.setReturn(structOf(Object.fromEntries(told)));
    return answer;
  }

  /** Lists the existing objects of a resource type by import id, in pages if the engine requests them. */
  async list(request: Request<"ListRequest">): Promise<readonly unknown[]> {
    const query = propertiesOf(request.getQuery());
    if (Object.values(query).includes(UNKNOWN)) return [notKnownYet()];
    return pageOf(await this.#frontOfType(request.getToken()).list(query), request);
  }

  /** There is no other ecosystem to convert programs from. */
  getMapping(): unknown {
    return new messages.GetMappingResponse();
  }

  getMappings(): unknown {
    return new messages.GetMappingsResponse();
  }

  async construct(request: Request<"ConstructRequest">): Promise<unknown> {
    const type = request.getType();
    if (type !== TENANT_SETTINGS_TYPE) {
      throw new ProtocolError(`There is no component ${quote(type)}; there is ${TENANT_SETTINGS_TYPE}.`);
    }
    // Few programs use it, and its file reader is slow to load.
    const { constructTenantSettings } = await import("./tenant-settings.js");
    const construct = constructTenantSettings(request, {
      instance: this.#reference,
      ending: this.#ending.promise,
      found: ({ ownDomains }) => this.#session.sameTenant.isOf(ownDomains),
      tell: (urn, { warnings, expired }) =>
        void this.#log.about(urn, async () => {
          for (const warning of warnings) this.#log.warn(warning);
          if (expired !== undefined) this.#log.say(expired);
        }),
    });
    this.#constructs.add(construct);
    try {
      return await construct;
    } finally {
      this.#constructs.delete(construct);
    }
  }

  /**
   * Answers components that still wait for their resources before the engine learns of a failed resource. The engine would
   * otherwise end the run and report each of them as another failure.
   */
  async endConstructs(): Promise<void> {
    if (this.#constructs.size === 0) return;
    this.#ending.resolve();
    this.#ending = Promise.withResolvers();
    await Promise.allSettled(this.#constructs);
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** Cancels the run: nothing more is sent to the service. */
  cancel(): unknown {
    this.#session.cancel();
    return new Empty();
  }

  /** Runs a call, and waits until its messages are delivered at the resource they concern. */
  async answering<T>(request: unknown, work: () => Promise<T>): Promise<T> {
    try {
      return await this.#log.about(urnIn(request), work);
    } finally {
      await this.#log.told();
    }
  }

  /** A process that an engine attaches to outlives a run, so it must drop what it knows of the previous one. */
  #serve(engine: string): void {
    if (engine === "" || engine === this.#engine) return;
    this.#engine = engine;
    this.#log.reach(engine);
    this.#instance = undefined;
    this.#failedImports = new FailedImports();
    [this.#session, this.#fronts] = this.#begin();
  }

  #begin(): [ProviderSession, ReadonlyMap<string, Front>] {
    const session = new ProviderSession(this.#engine, (sentence) => this.#log.say(sentence));
    return [session, new Map(RESOURCE_KINDS.map((kind) => [nativeType(kind), frontOf(kind, session)]))];
  }

  #frontOf(request: { getUrn(): string }): Front {
    return this.#frontOfType(typeInUrn(request.getUrn()));
  }

  #frontOfType(type: string): Front {
    const front = this.#fronts.get(type);
    if (front !== undefined) return front;
    throw new ProtocolError(
      `There is no resource of type ${quote(type)}; there are ${[...this.#fronts.keys()].join(", ")}.`,
    );
  }
}

/** An engine starts one process per instance; an attached process would work on the tenant that was configured last. */
function severalAttached(one: string, other: string): ConfigurationError {
  return new ConfigurationError(
    `PULUMI_DEBUG_PROVIDERS gives one process of the plugin to two providers, ${quote(one)} and ${quote(other)}, and it serves one. Nothing was changed. Attach to a stack that has one.`,
  );
}

/** Returns the URN of a request; empty if it concerns no resource. */
function urnIn(request: unknown): string {
  return (request as { readonly getUrn?: () => string | undefined }).getUrn?.() ?? "";
}

function checked(
  inputs: Properties,
  failures: readonly ArgumentFailure[],
  asked: Struct | undefined,
): unknown {
  const answer = new messages.CheckResponse();
  answer.setInputs(structOf(inputs, asked));
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

/** The lifecycle stores an entry's id only if it differs from the resource's own; programs always expect it. */
function withEntryId(id: string, request: { getUrn(): string }, outputs: Properties): Properties {
  return typeInUrn(request.getUrn()) === nativeType("AllowDenyEntry") ? { entryId: id, ...outputs } : outputs;
}

/** Without the Provider's identity, the environment's key would be used for none, or for any. */
function refuseOldEngine(request: Request<"ConfigureRequest">): void {
  if (request.getUrn()) return;
  const oldest = formatVersion(MINIMUM_VERSION);
  throw new ConfigurationError(
    `This Pulumi is too old for the plugin, which needs ${oldest} or later: install it (https://www.pulumi.com/docs/iac/download-install/). Nothing was changed.`,
  );
}

function nameOf(request: { getUrn(): string | undefined }): string {
  return nameInUrn(request.getUrn() ?? "");
}

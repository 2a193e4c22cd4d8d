import { isDeepStrictEqual } from "node:util";
import plugin from "@pulumi/pulumi/proto/plugin_pb.js";
import messages from "@pulumi/pulumi/proto/provider_pb.js";
import { Empty } from "google-protobuf/google/protobuf/empty_pb.js";
import type { Struct } from "google-protobuf/google/protobuf/struct_pb.js";
import { ConfigurationError } from "../client";
import { MINIMUM_VERSION } from "../engine/installed-engines";
import { formatVersion } from "../engine/version";
import type { ArgumentFailure } from "../model/arguments";
import { TENANT_SETTINGS_TYPE } from "../model/tenant-settings-type";
import { quote } from "../model/text";
import { UNKNOWN } from "../model/unknown-value";
import { writeDetailedDiff } from "../resources/detailed-diff";
import { definitions } from "../resources/functions/definitions";
import { assertEffectiveIgnores } from "../resources/ignored-changes";
import { createProviderAdapter, type Properties, type ProviderAdapter } from "../resources/provider-adapter";
import { ProviderSession } from "../resources/provider-session";
import { getNativeType, getUrnName, getUrnType, parseResourceKind, RESOURCE_KINDS } from "../resources/resource-type";
import { CONFIG_NAMESPACE } from "../resources/setting-names";
import { EngineLog } from "./engine-log";
import { FailedImports, isFailedImport } from "./failed-imports";
import { buildPage, buildUnknownPage } from "./list-page";
import { ProtocolError } from "./protocol-error";
import { buildConfigSource, checkConfiguration, isTenantMove } from "./provider-configuration";
import { decodeProperties, encodeProperties, hasSecrets, isDynamicResource, markSecret } from "./wire";

/** Defined by the build. */
declare const PLUGIN_VERSION: string;
declare const PLUGIN_SCHEMA: string;

type Messages = typeof messages & typeof plugin;
export type ProviderRequest<Name extends keyof Messages> = Messages[Name] extends new (
  ...args: never[]
) => infer Message
  ? Message
  : never;

const FUNCTIONS_BY_TOKEN = new Map(
  Object.entries(definitions).map(([name, definition]) => [`${CONFIG_NAMESPACE}:index:${name}`, definition]),
);

/**
 * Pulumi's provider protocol on top of the same lifecycles as the dynamic resources, with one method per call of
 * `provider.proto`. Errors reach the engine unchanged.
 */
export class ProviderService {
  readonly #engineLog: EngineLog;
  #engine: string | undefined;
  #session: ProviderSession;
  #adapters: ReadonlyMap<string, ProviderAdapter>;
  #instanceUrn: string | undefined;
  /** The reference of this process's provider instance, as the engine writes it. */
  #instanceReference = "";
  #failedImports = new FailedImports();
  /** The components under construction, and the promise that tells them that the run ends. */
  readonly #pendingConstructs = new Set<Promise<unknown>>();
  #constructsEnd = Promise.withResolvers<void>();

  constructor(engine: string | undefined) {
    this.#engineLog = new EngineLog(engine);
    this.#engine = engine;
    [this.#session, this.#adapters] = this.#startSession();
  }

  handshake(request: ProviderRequest<"ProviderHandshakeRequest">): unknown {
    this.#switchEngine(request.getEngineAddress());
    const response = new messages.ProviderHandshakeResponse();
    response.setAcceptSecrets(true);
    response.setAcceptResources(true);
    return response;
  }

  /** Sets the address of an engine that did not start this process. */
  attach(request: ProviderRequest<"PluginAttach">): unknown {
    this.#switchEngine(request.getAddress());
    return new Empty();
  }

  getPluginInfo(): unknown {
    const response = new plugin.PluginInfo();
    response.setVersion(PLUGIN_VERSION);
    return response;
  }

  getSchema(request: ProviderRequest<"GetSchemaRequest">): unknown {
    if (request.getVersion() !== 0) {
      throw new ProtocolError(`Schema version ${request.getVersion()} doesn't exist; request version 0.`);
    }
    const response = new messages.GetSchemaResponse();
    response.setSchema(PLUGIN_SCHEMA);
    return response;
  }

  checkConfig(request: ProviderRequest<"CheckRequest">): unknown {
    const { inputs, failures } = checkConfiguration(
      decodeProperties(request.getNews()),
      getRequestResourceName(request),
    );
    return buildCheckResponse(inputs, failures, request.getNews());
  }

  diffConfig(request: ProviderRequest<"DiffRequest">): unknown {
    const olds = decodeProperties(request.getOldInputs() ?? request.getOlds());
    const news = decodeProperties(request.getNews());
    const { DIFF_NONE, DIFF_SOME } = messages.DiffResponse.DiffChanges;
    const response = new messages.DiffResponse();
    const propertyNames = [...new Set([...Object.keys(olds), ...Object.keys(news)])];
    const changed = propertyNames.filter((name) => !isDeepStrictEqual(olds[name], news[name]));
    response.setChanges(changed.length === 0 ? DIFF_NONE : DIFF_SOME);
    response.setDiffsList(changed);
    if (isTenantMove(olds, news, getRequestResourceName(request))) response.setReplacesList(["baseUrl"]);
    return response;
  }

  configure(request: ProviderRequest<"ConfigureRequest">): unknown {
    assertEngineVersion(request);
    const instance = request.getUrn() ?? "";
    this.#instanceUrn ??= instance;
    if (instance !== this.#instanceUrn) throw buildSeveralAttachedError(this.#instanceUrn, instance);
    this.#session.configure(buildConfigSource(decodeProperties(request.getArgs()), getRequestResourceName(request)));
    this.#instanceReference = `${request.getUrn()}::${request.getId()}`;
    const response = new messages.ConfigureResponse();
    response.setSupportspreview(true);
    // Same as in the handshake.
    response.setAcceptsecrets(true);
    response.setAcceptresources(true);
    return response;
  }

  async check(request: ProviderRequest<"CheckRequest">): Promise<unknown> {
    const resourceNames = { id: request.getUrn(), name: getRequestResourceName(request) };
    const { inputs, failures } = this.#getAdapter(request).check(
      decodeProperties(request.getNews()),
      decodeProperties(request.getOlds()),
      resourceNames,
    );
    if (failures.length > 0) await this.endConstructs();
    return buildCheckResponse(inputs, failures, request.getNews());
  }

  diff(request: ProviderRequest<"DiffRequest">): unknown {
    const kind = parseResourceKind(getUrnType(request.getUrn()));
    if (kind !== undefined) assertEffectiveIgnores(kind, request.getIgnorechangesList());
    const adapter = this.#getAdapter(request);
    const olds = decodeProperties(request.getOlds());
    const news = decodeProperties(request.getNews());
    const changes =
      this.#failedImports.getChanges(adapter, { urn: request.getUrn(), olds, news }) ??
      adapter.diff(request.getId(), olds, news);
    const { DIFF_NONE, DIFF_SOME } = messages.DiffResponse.DiffChanges;
    const response = new messages.DiffResponse();
    // A resource of the dynamic provider is updated without a request to the service, so that its outputs become the
    // plugin's.
    const isForeign = isDynamicResource(request.getOlds());
    response.setChanges(changes.length === 0 && !isForeign ? DIFF_NONE : DIFF_SOME);
    response.setReplacesList(changes.filter(({ replace }) => replace).map(({ property }) => property));
    writeDetailedDiff(response, changes, messages);
    return response;
  }

  async create(request: ProviderRequest<"CreateRequest">): Promise<unknown> {
    const adapter = this.#getAdapter(request);
    const inputs = decodeProperties(request.getProperties());
    const response = new messages.CreateResponse();
    if (request.getPreview()) {
      response.setProperties(encodeProperties(adapter.preview(inputs), request.getProperties()));
      return response;
    }
    const { id, outputs } = await adapter.create(inputs, request.getTimeout());
    response.setId(id);
    response.setProperties(encodeProperties(addEntryId(id, request, outputs), request.getProperties()));
    return response;
  }

  async read(request: ProviderRequest<"ReadRequest">): Promise<unknown> {
    const adapter = this.#getAdapter(request);
    const outputs = decodeProperties(request.getProperties());
    const isImport = Object.keys(outputs).length === 0;
    // A response without an id tells the engine that the resource is gone, because its import failed.
    if (isFailedImport(outputs)) return new messages.ReadResponse();
    if (isImport) this.#failedImports.begin(request.getUrn());
    const resource = isImport
      ? await adapter.lookUp(request.getId(), request.getTimeout())
      : await adapter.read(request.getId(), outputs, request.getTimeout());
    if (isImport) this.#failedImports.assertNoOtherFailed(request.getUrn());
    const response = new messages.ReadResponse();
    // A missing id tells the engine that the resource is gone.
    if (resource === undefined) return response;
    response.setId(resource.id);
    response.setProperties(
      encodeProperties(addEntryId(resource.id, request, resource.outputs), request.getProperties()),
    );
    // If omitted, the inputs stay unchanged.
    if (resource.inputs !== undefined) response.setInputs(encodeProperties(resource.inputs, request.getInputs()));
    return response;
  }

  async update(request: ProviderRequest<"UpdateRequest">): Promise<unknown> {
    const adapter = this.#getAdapter(request);
    const id = request.getId();
    const olds = decodeProperties(request.getOlds());
    const inputs = decodeProperties(request.getNews());
    await this.#failedImports.assertImported(request.getUrn(), id, request.getPreview());
    const outputs = request.getPreview()
      ? adapter.preview(inputs, { id, outputs: olds })
      : await adapter.update(id, olds, inputs, request.getTimeout());
    const response = new messages.UpdateResponse();
    response.setProperties(encodeProperties(addEntryId(id, request, outputs), request.getNews()));
    return response;
  }

  async delete(request: ProviderRequest<"DeleteRequest">): Promise<unknown> {
    const outputs = decodeProperties(request.getProperties());
    if (isFailedImport(outputs)) {
      this.#engineLog.info(
        `${getRequestResourceName(request)} was never imported; nothing was deleted at the service.`,
      );
      return new Empty();
    }
    await this.#getAdapter(request).delete(
      request.getId(),
      outputs,
      request.getTimeout(),
      getRequestResourceName(request),
    );
    return new Empty();
  }

  async invoke(request: ProviderRequest<"InvokeRequest">): Promise<unknown> {
    const token = request.getTok();
    const definition = FUNCTIONS_BY_TOKEN.get(token);
    if (definition === undefined) throw new ProtocolError(`The function ${quote(token)} doesn't exist.`);
    const result = await definition.read(this.#session.getClient(), decodeProperties(request.getArgs()));
    const response = new messages.InvokeResponse();
    // A result that was read with secret arguments is secret too.
    const entries = Object.entries(result);
    const resultEntries = hasSecrets(request.getArgs())
      ? entries.map(([name, value]) => [name, markSecret(value)])
      : entries;
    response.setReturn(encodeProperties(Object.fromEntries(resultEntries)));
    return response;
  }

  /** Lists the existing objects of a resource type by import id, in pages if the engine requests them. */
  async list(request: ProviderRequest<"ListRequest">): Promise<readonly unknown[]> {
    const query = decodeProperties(request.getQuery());
    if (Object.values(query).includes(UNKNOWN)) return [buildUnknownPage()];
    return buildPage(await this.#getAdapterForType(request.getToken()).list(query), request);
  }

  /** Returns no mappings, because programs can't be converted from another ecosystem. */
  getMapping(): unknown {
    return new messages.GetMappingResponse();
  }

  getMappings(): unknown {
    return new messages.GetMappingsResponse();
  }

  async construct(request: ProviderRequest<"ConstructRequest">): Promise<unknown> {
    const type = request.getType();
    if (type !== TENANT_SETTINGS_TYPE) {
      throw new ProtocolError(
        `The component ${quote(type)} doesn't exist; the only component is ${TENANT_SETTINGS_TYPE}.`,
      );
    }
    // Few programs use it, and its file reader is slow to load.
    const { constructTenantSettings } = await import("./tenant-settings.js");
    const construct = constructTenantSettings(request, {
      providerReference: this.#instanceReference,
      runEnd: this.#constructsEnd.promise,
      onDeclared: ({ ownDomains }) => this.#session.tenantVerifier.addOwnDomains(ownDomains),
      logDeclared: (urn, { warnings, expired }) =>
        void this.#engineLog.runForResource(urn, async () => {
          for (const warning of warnings) this.#engineLog.warn(warning);
          if (expired !== undefined) this.#engineLog.info(expired);
        }),
    });
    this.#pendingConstructs.add(construct);
    try {
      return await construct;
    } finally {
      this.#pendingConstructs.delete(construct);
    }
  }

  /**
   * Completes components that still wait for their resources before the engine learns of a failed resource. The engine
   * would otherwise end the run and report each of them as another failure.
   */
  async endConstructs(): Promise<void> {
    if (this.#pendingConstructs.size === 0) return;
    this.#constructsEnd.resolve();
    this.#constructsEnd = Promise.withResolvers();
    await Promise.allSettled(this.#pendingConstructs);
    await new Promise((resolve) => setImmediate(resolve));
  }

  cancel(): unknown {
    this.#session.cancel();
    return new Empty();
  }

  /** Runs a call, and waits until its messages are delivered at the resource they concern. */
  async runCall<T>(request: unknown, work: () => Promise<T>): Promise<T> {
    try {
      return await this.#engineLog.runForResource(getRequestUrn(request), work);
    } finally {
      await this.#engineLog.flush();
    }
  }

  /** A process that an engine attaches to outlives a run, so this discards the data of the previous run. */
  #switchEngine(engine: string): void {
    if (engine === "" || engine === this.#engine) return;
    this.#engine = engine;
    this.#engineLog.setAddress(engine);
    this.#instanceUrn = undefined;
    this.#failedImports = new FailedImports();
    [this.#session, this.#adapters] = this.#startSession();
  }

  #startSession(): [ProviderSession, ReadonlyMap<string, ProviderAdapter>] {
    const session = new ProviderSession(this.#engine, (sentence) => this.#engineLog.info(sentence));
    return [
      session,
      new Map(RESOURCE_KINDS.map((kind) => [getNativeType(kind), createProviderAdapter(kind, session)])),
    ];
  }

  #getAdapter(request: { getUrn(): string }): ProviderAdapter {
    return this.#getAdapterForType(getUrnType(request.getUrn()));
  }

  #getAdapterForType(type: string): ProviderAdapter {
    const adapter = this.#adapters.get(type);
    if (adapter !== undefined) return adapter;
    throw new ProtocolError(
      `The resource type ${quote(type)} doesn't exist; the types are ${[...this.#adapters.keys()].join(", ")}.`,
    );
  }
}

/**
 * An engine starts a process for each instance. A single attached process would use the tenant that was configured
 * last.
 */
function buildSeveralAttachedError(firstUrn: string, secondUrn: string): ConfigurationError {
  return new ConfigurationError(
    `PULUMI_DEBUG_PROVIDERS attaches two providers, ${quote(firstUrn)} and ${quote(secondUrn)}, to one plugin process, which supports only one. Nothing was changed. Attach to a stack with only one provider.`,
  );
}

function getRequestUrn(request: unknown): string {
  return (request as { readonly getUrn?: () => string | undefined }).getUrn?.() ?? "";
}

function buildCheckResponse(
  inputs: Properties,
  failures: readonly ArgumentFailure[],
  sourceStruct: Struct | undefined,
): unknown {
  const response = new messages.CheckResponse();
  response.setInputs(encodeProperties(inputs, sourceStruct));
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

/** The core stores an entry's id only if it differs from the resource's own, but programs read it in any case. */
function addEntryId(id: string, request: { getUrn(): string }, outputs: Properties): Properties {
  return getUrnType(request.getUrn()) === getNativeType("AllowDenyEntry") ? { entryId: id, ...outputs } : outputs;
}

/**
 * With an engine that doesn't say which Provider it configures, the environment's key would be used for none of them,
 * or for any.
 */
function assertEngineVersion(request: ProviderRequest<"ConfigureRequest">): void {
  if (request.getUrn()) return;
  const minimumVersion = formatVersion(MINIMUM_VERSION);
  throw new ConfigurationError(
    `This version of Pulumi is too old for the plugin, which needs ${minimumVersion} or later. Nothing was changed. Install a later version: https://www.pulumi.com/docs/iac/download-install/`,
  );
}

function getRequestResourceName(request: { getUrn(): string | undefined }): string {
  return getUrnName(request.getUrn() ?? "");
}

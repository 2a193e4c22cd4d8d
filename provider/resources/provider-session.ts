import type { SettingsClient, SettingsClientOptions } from "../client";
import { RunCancelledError } from "../client/rate-limiter";
import type { ArgumentFailure } from "../model/arguments";
import type { OwnDomains } from "../model/own-domains";
import { sanitizeLine } from "../model/text";
import { TenantCache } from "../tenant";
import { closeRateLimiters } from "../tenant/rate-limit-client";
import {
  buildTenantLabel,
  type ConfigSource,
  describeApiKeySource,
  getInstanceName,
  readConfiguration,
  readOwnDomains,
} from "./configuration";
import { createTenantClient } from "./create-tenant-client";
import { Declarations } from "./cross-process-declarations";
import { type DeclarationOwner, DeclarationRegistry } from "./declaration-registry";
import { buildSharingOptions } from "./instance-announcements";
import type { DeclarationItem, LifecycleContext, ResourceDeclaration } from "./lifecycle/lifecycle";
import {
  buildRemovalFilter,
  type RemovalFilter,
  type ReviewedPlan,
  readPlanFile,
  readReviewedPlan,
} from "./lifecycle/reviewed-plan";
import type { Session } from "./provider-adapter";
import { getTenantList, type ResourceKind } from "./resource-type";
import { type ClaimedTenant, TenantClaims } from "./tenant-claims";
import { TenantVerifier } from "./tenant-verifier";

/**
 * The state of one provider process: its configuration, the tenant, and the declarations of the running program. A
 * process serves one provider instance and therefore one tenant, which all its resources share.
 */
export class ProviderSession implements Session {
  readonly #programDeclarations = new DeclarationRegistry();
  readonly #declarations: Declarations;
  readonly #tenantClaims: TenantClaims;
  readonly #logSentence: (sentence: string) => void;
  readonly #abortController = new AbortController();
  readonly #managedDeclarations: ResourceDeclaration[] = [];
  readonly #environment: NodeJS.ProcessEnv;
  readonly tenantVerifier: TenantVerifier;
  #config: ConfigSource = () => undefined;
  #settings: SettingsClientOptions | undefined;
  #ownDomains: OwnDomains | undefined;
  #cachedPlan: { readonly host: string; readonly plan: ReviewedPlan | undefined } | undefined;
  #removalLimit: { readonly onlyRemoves: RemovalFilter | undefined } | undefined;
  #connection: TenantConnection | undefined;

  /**
   * @param engine the address of the run's engine, which is the same for all provider processes of a run.
   * @param logSentence logs one sentence for the user.
   * @param environment the environment to configure the provider from, in addition to the stack. Default: that of the
   * process.
   */
  constructor(
    engine: string | undefined,
    logSentence: (sentence: string) => void,
    environment: NodeJS.ProcessEnv = process.env,
  ) {
    this.#logSentence = logSentence;
    this.#environment = environment;
    this.tenantVerifier = new TenantVerifier({
      environment,
      getInstanceName: () => getInstanceName(this.#config),
      describeKeySource: () => describeApiKeySource(this.#config, environment),
      getOwnDomains: () => this.getOwnDomains(),
      log: (sentence) => this.log(sentence),
    });
    const sharingOptions = buildSharingOptions(engine, environment);
    this.#declarations = new Declarations(sharingOptions);
    this.#tenantClaims = new TenantClaims({
      ...sharingOptions,
      getInstanceName: () => getInstanceName(this.#config),
    });
  }

  configure(source: ConfigSource): void {
    this.#config = source;
    this.#settings = undefined;
    this.#ownDomains = undefined;
  }

  getContext(): LifecycleContext {
    const { settings, tenant } = this.#connect();
    const tenantKey = getTenantKey(settings) ?? "";
    return {
      tenant,
      confirmTenant: async (list, options) => {
        await this.tenantVerifier.confirm(list, tenant, options);
        await this.#tenantClaims.confirm(list, this.#buildClaimant(settings), options);
      },
      log: (sentence) => this.log(sentence),
      isDeclared: (key) => this.#declarations.has(key, tenantKey) || this.#tenantClaims.isDeclaredElsewhere(key),
      shareManagedIds: (ids) => this.shareManagedIds(ids),
      isManagedElsewhere: (id) => this.#declarations.isManagedElsewhere(id),
      getOwnDomains: () => this.getOwnDomains(),
      getReviewedPlan: () => this.#getReviewedPlan(URL.parse(settings.baseUrl)?.host ?? ""),
    };
  }

  getClient(): SettingsClient {
    return this.#connect().client;
  }

  declare(owner: DeclarationOwner, declaration: ResourceDeclaration): readonly ArgumentFailure[] {
    const collisions = this.#programDeclarations.declare(owner, declaration);
    if (collisions.length > 0) return collisions;
    const { isList, getItems, has } = declaration;
    const settings = this.#tryReadSettings();
    const tenant = getTenantKey(settings);
    const list = getTenantList(owner.kind);
    const name = isList ? `${owner.kind} ${owner.id}` : [...getItems()].map(({ subject }) => subject).join(" ");
    this.#tenantClaims.declare(list, name, declaration, settings && this.#buildClaimant(settings));
    if (isList) this.#declarations.declareList(listKeys(getItems()), has, tenant);
    else this.#declarations.declare([...listKeys(getItems())], tenant);
    return [];
  }

  /** Whether this process declares an item of the declaration in this run. */
  isDeclaredHere({ getItems }: { readonly getItems: () => Iterable<Pick<DeclarationItem, "key">> }): boolean {
    for (const { key } of getItems()) if (this.#declarations.isDeclaredHere(key)) return true;
    return false;
  }

  findListByName(kind: ResourceKind, name: string): ResourceDeclaration | undefined {
    return this.#programDeclarations.findListByName(kind, name);
  }

  addManaged(declaration: ResourceDeclaration): void {
    this.#managedDeclarations.push(declaration);
  }

  isManaged(key: string): boolean {
    return this.#managedDeclarations.some(({ has }) => has(key));
  }

  shareManagedIds(ids: readonly string[]): void {
    this.#declarations.shareManagedIds(ids);
  }

  getOwnDomains(): OwnDomains {
    this.#ownDomains ??= readOwnDomains(this.#config, this.#environment);
    return this.#ownDomains;
  }

  getTenantLabel(): string | undefined {
    return buildTenantLabel(this.#config, this.#environment);
  }

  getRemovalFilter(): RemovalFilter | undefined {
    this.#removalLimit ??= { onlyRemoves: buildRemovalFilter(readPlanFile(this.#environment) ?? {}) };
    return this.#removalLimit.onlyRemoves;
  }

  log(sentence: string): void {
    this.#logSentence(sanitizeLine(sentence));
  }

  /** Stops all requests to the service. Further calls fail with `ERR_CANCELLED`. */
  cancel(): void {
    this.#abortController.abort(new RunCancelledError("the run was cancelled"));
  }

  /** Cancels the session and closes everything open or shared, for a process that moves on to another tenant. */
  close(): void {
    this.cancel();
    this.#declarations.end();
    this.#tenantClaims.end();
    void this.#connection?.client.close().catch(() => {});
    closeRateLimiters(this.#environment);
  }

  #buildClaimant({ baseUrl, apiKey }: SettingsClientOptions): ClaimedTenant {
    return { baseUrl, apiKey, readIdentity: async (list) => await this.#connect().tenant.readIdentity(list) };
  }

  /** Returns the configuration. Undefined if it is missing or not known yet, because a check must work without it. */
  #tryReadSettings(): SettingsClientOptions | undefined {
    try {
      return this.#readSettings();
    } catch {
      return undefined;
    }
  }

  /** Cached per configuration, because each of thousands of entries needs it. Throws if it is missing. */
  #readSettings(): SettingsClientOptions {
    this.#settings ??= readConfiguration(this.#config, this.#environment);
    return this.#settings;
  }

  /**
   * The process may be configured more than once, for example for each kind of dynamic resource. All of them share one
   * tenant.
   */
  #connect(): TenantConnection {
    const settings = this.#readSettings();
    if (this.#connection?.settings === settings) return this.#connection;
    if (JSON.stringify(this.#connection?.settings) !== JSON.stringify(settings)) {
      const client = createTenantClient(settings, this.#environment, this.#abortController.signal);
      this.#connection = { settings, client, tenant: new TenantCache({ client }) };
    }
    return this.#connection as TenantConnection;
  }

  /** Cached, so that a plan with thousands of changes isn't read and hashed for each resource. */
  #getReviewedPlan(host: string): ReviewedPlan | undefined {
    if (this.#cachedPlan?.host !== host) this.#cachedPlan = { host, plan: readReviewedPlan(this.#environment, host) };
    return this.#cachedPlan.plan;
  }
}

interface TenantConnection {
  readonly settings: SettingsClientOptions;
  readonly client: SettingsClient;
  readonly tenant: TenantCache;
}

function* listKeys(items: Iterable<{ readonly key: string }>): Iterable<string> {
  for (const { key } of items) yield key;
}

/**
 * Returns the key that identifies a tenant among the processes of a run. Only its hash is ever written. An API key
 * belongs to one tenant, whatever the host is called.
 */
function getTenantKey(settings: SettingsClientOptions | undefined): string | undefined {
  return settings?.apiKey;
}

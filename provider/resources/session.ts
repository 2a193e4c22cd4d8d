import type { SettingsClient, SettingsClientOptions } from "../client";
import { RunCancelled } from "../client/permits";
import type { ArgumentFailure } from "../settings/arguments";
import type { OwnDomains } from "../settings/own-domains";
import { printable } from "../settings/text";
import { Tenant } from "../tenant";
import { dropPermits } from "../tenant/asked-permits";
import { sharingOf } from "./announcements";
import {
  type ConfigSource,
  instanceName,
  keySource,
  readConfiguration,
  readOwnDomains,
  tenantIdentity,
} from "./configuration";
import { connectedClient } from "./connected-client";
import { Declarations } from "./declarations";
import type { Session } from "./front";
import type { Context, Declaration } from "./lifecycle/lifecycle";
import {
  type OnlyRemoves,
  onlyRemovesOf,
  type ReviewedPlan,
  readPlanFile,
  readReviewedPlan,
} from "./lifecycle/reviewed-plan";
import { type Owner, Program } from "./program";
import { listOf, type ResourceKind } from "./resource-type";
import { SameTenant } from "./same-tenant";
import { type ClaimedTenant, TenantClaims } from "./tenant-claims";

/**
 * What one provider process knows: its configuration, the tenant, what the running program declares. A process serves one
 * provider instance, so it knows one tenant; all its resources share it.
 */
export class ProviderSession implements Session {
  readonly #programDeclarations = new Program();
  readonly #declarations: Declarations;
  readonly #claims: TenantClaims;
  readonly #logSentence: (sentence: string) => void;
  readonly #abortController = new AbortController();
  readonly #managedDeclarations: Declaration[] = [];
  readonly #environment: NodeJS.ProcessEnv;
  readonly sameTenant: SameTenant;
  #config: ConfigSource = () => undefined;
  #settings: SettingsClientOptions | undefined;
  #ownDomains: OwnDomains | undefined;
  #cachedPlan: { readonly host: string; readonly plan: ReviewedPlan | undefined } | undefined;
  #removalLimit: { readonly onlyRemoves: OnlyRemoves | undefined } | undefined;
  #connection: TenantConnection | undefined;

  /**
   * @param engine where the engine of the run is to be reached; it tells all provider processes of a run the same.
   * @param logSentence tells a sentence to the person at the terminal.
   * @param environment what it is configured by, beside the stack. Default: that of the process.
   */
  constructor(
    engine: string | undefined,
    logSentence: (sentence: string) => void,
    environment: NodeJS.ProcessEnv = process.env,
  ) {
    this.#logSentence = logSentence;
    this.#environment = environment;
    this.sameTenant = new SameTenant({
      environment,
      instance: () => instanceName(this.#config),
      keyFrom: () => keySource(this.#config, environment),
      ownDomains: () => this.ownDomains(),
      say: (sentence) => this.say(sentence),
    });
    const sharingOptions = sharingOf(engine, environment);
    this.#declarations = new Declarations(sharingOptions);
    this.#claims = new TenantClaims({ ...sharingOptions, instance: () => instanceName(this.#config) });
  }

  configure(source: ConfigSource): void {
    this.#config = source;
    this.#settings = undefined;
    this.#ownDomains = undefined;
  }

  context(): Context {
    const { settings, tenant } = this.#connect();
    const tenantKey = getTenantKey(settings) ?? "";
    return {
      tenant,
      confirmTenant: async (list, options) => {
        await this.sameTenant.confirm(list, tenant, options);
        await this.#claims.confirm(list, this.#buildClaimant(settings));
      },
      say: (sentence) => this.say(sentence),
      isDeclared: (key) => this.#declarations.has(key, tenantKey),
      hold: (ids) => this.hold(ids),
      isHeldElsewhere: (id) => this.#declarations.isHeldElsewhere(id),
      ownDomains: () => this.ownDomains(),
      reviewed: () => this.#getReviewedPlan(URL.parse(settings.baseUrl)?.host ?? ""),
    };
  }

  /** The tenant's client. Throws when the configuration is missing. */
  client(): SettingsClient {
    return this.#connect().client;
  }

  declare(owner: Owner, declaration: Declaration): readonly ArgumentFailure[] {
    const collisions = this.#programDeclarations.declare(owner, declaration);
    if (collisions.length > 0) return collisions;
    const { isList, things, has } = declaration;
    const settings = this.#tryReadSettings();
    const tenant = getTenantKey(settings);
    const list = listOf(owner.kind);
    const name = isList ? `${owner.kind} ${owner.id}` : [...things()].map(({ subject }) => subject).join(" ");
    this.#claims.declare(list, name, declaration, settings && this.#buildClaimant(settings));
    if (isList) this.#declarations.declareList(listKeys(things()), has, tenant);
    else this.#declarations.declare([...listKeys(things())], tenant);
    return [];
  }

  /** Whether the program declares something of it by this process, and not by another one, or not in this run. */
  declares({ things }: Declaration): boolean {
    for (const { key } of things()) if (this.#declarations.isOwn(key)) return true;
    return false;
  }

  listNamed(kind: ResourceKind, name: string): Declaration | undefined {
    return this.#programDeclarations.listNamed(kind, name);
  }

  manage(declaration: Declaration): void {
    this.#managedDeclarations.push(declaration);
  }

  isManaged(key: string): boolean {
    return this.#managedDeclarations.some(({ has }) => has(key));
  }

  hold(ids: readonly string[]): void {
    this.#declarations.hold(ids);
  }

  ownDomains(): OwnDomains {
    this.#ownDomains ??= readOwnDomains(this.#config, this.#environment);
    return this.#ownDomains;
  }

  tenant(): string | undefined {
    return tenantIdentity(this.#config, this.#environment);
  }

  onlyRemoves(): OnlyRemoves | undefined {
    this.#removalLimit ??= { onlyRemoves: onlyRemovesOf(readPlanFile(this.#environment) ?? {}) };
    return this.#removalLimit.onlyRemoves;
  }

  say(sentence: string): void {
    this.#logSentence(printable(sentence));
  }

  /** From now on nothing more is sent to the service: what is asked for fails with `ERR_CANCELLED`. */
  cancel(): void {
    this.#abortController.abort(new RunCancelled("the run was cancelled"));
  }

  /** The same, and nothing is kept open, or shared any more: for a process that goes on to another tenant. */
  close(): void {
    this.cancel();
    this.#declarations.end();
    this.#claims.end();
    void this.#connection?.client.close().catch(() => {});
    dropPermits(this.#environment);
  }

  #buildClaimant({ baseUrl, apiKey }: SettingsClientOptions): ClaimedTenant {
    return { baseUrl, apiKey, identity: async (list) => await this.#connect().tenant.identity(list) };
  }

  /** The configuration, or undefined where it is missing or not known yet: a check must work without. */
  #tryReadSettings(): SettingsClientOptions | undefined {
    try {
      return this.#readSettings();
    } catch {
      return undefined;
    }
  }

  /** Read once for a configuration: each of thousands of entries asks for it. Throws when it is missing. */
  #readSettings(): SettingsClientOptions {
    this.#settings ??= readConfiguration(this.#config, this.#environment);
    return this.#settings;
  }

  /** It may be configured more than once, as for each kind of dynamic resources; they all share one tenant. */
  #connect(): TenantConnection {
    const settings = this.#readSettings();
    if (this.#connection?.settings === settings) return this.#connection;
    if (JSON.stringify(this.#connection?.settings) !== JSON.stringify(settings)) {
      const client = connectedClient(settings, this.#environment, this.#abortController.signal);
      this.#connection = { settings, client, tenant: new Tenant({ client }) };
    }
    return this.#connection as TenantConnection;
  }

  /** Read once: a plan of thousands of changes would be read and hashed anew for each resource. */
  #getReviewedPlan(host: string): ReviewedPlan | undefined {
    if (this.#cachedPlan?.host !== host) this.#cachedPlan = { host, plan: readReviewedPlan(this.#environment, host) };
    return this.#cachedPlan.plan;
  }
}

interface TenantConnection {
  readonly settings: SettingsClientOptions;
  readonly client: SettingsClient;
  readonly tenant: Tenant;
}

function* listKeys(items: Iterable<{ readonly key: string }>): Iterable<string> {
  for (const { key } of items) yield key;
}

/**
 * Tells one tenant from another among the processes of a run; only its hash is ever written. A key is of one tenant, by
 * whatever name its host is reached.
 */
function getTenantKey(settings: SettingsClientOptions | undefined): string | undefined {
  return settings?.apiKey;
}

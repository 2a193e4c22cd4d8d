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
  readonly #program = new Program();
  readonly #declarations: Declarations;
  readonly #claims: TenantClaims;
  readonly #tell: (sentence: string) => void;
  readonly #cancelled = new AbortController();
  readonly #managed: Declaration[] = [];
  readonly #environment: NodeJS.ProcessEnv;
  readonly sameTenant: SameTenant;
  #config: ConfigSource = () => undefined;
  #settings: SettingsClientOptions | undefined;
  #ownDomains: OwnDomains | undefined;
  #reviewed: { readonly host: string; readonly plan: ReviewedPlan | undefined } | undefined;
  #limit: { readonly onlyRemoves: OnlyRemoves | undefined } | undefined;
  #current: Connected | undefined;

  /**
   * @param engine where the engine of the run is to be reached; it tells all provider processes of a run the same.
   * @param tell tells a sentence to the person at the terminal.
   * @param environment what it is configured by, beside the stack. Default: that of the process.
   */
  constructor(
    engine: string | undefined,
    tell: (sentence: string) => void,
    environment: NodeJS.ProcessEnv = process.env,
  ) {
    this.#tell = tell;
    this.#environment = environment;
    this.sameTenant = new SameTenant({
      environment,
      instance: () => instanceName(this.#config),
      keyFrom: () => keySource(this.#config, environment),
      ownDomains: () => this.ownDomains(),
      say: (sentence) => this.say(sentence),
    });
    const sharing = sharingOf(engine, environment);
    this.#declarations = new Declarations(sharing);
    this.#claims = new TenantClaims({ ...sharing, instance: () => instanceName(this.#config) });
  }

  configure(source: ConfigSource): void {
    this.#config = source;
    this.#settings = undefined;
    this.#ownDomains = undefined;
  }

  context(): Context {
    const { settings, tenant } = this.#connected();
    const tenantKey = fingerprint(settings) ?? "";
    return {
      tenant,
      confirmTenant: async (list, how) => {
        await this.sameTenant.confirm(list, tenant, how);
        await this.#claims.confirm(list, this.#claimed(settings));
      },
      say: (sentence) => this.say(sentence),
      isDeclared: (key) => this.#declarations.has(key, tenantKey),
      hold: (ids) => this.hold(ids),
      isHeldElsewhere: (id) => this.#declarations.isHeldElsewhere(id),
      ownDomains: () => this.ownDomains(),
      reviewed: () => this.#reviewedPlan(URL.parse(settings.baseUrl)?.host ?? ""),
    };
  }

  /** The tenant's client. Throws when the configuration is missing. */
  client(): SettingsClient {
    return this.#connected().client;
  }

  declare(owner: Owner, declaration: Declaration): readonly ArgumentFailure[] {
    const collisions = this.#program.declare(owner, declaration);
    if (collisions.length > 0) return collisions;
    const { isList, things, has } = declaration;
    const settings = this.#configured();
    const tenant = fingerprint(settings);
    const list = listOf(owner.kind);
    const name = isList ? `${owner.kind} ${owner.id}` : [...things()].map(({ subject }) => subject).join(" ");
    this.#claims.declare(list, name, declaration, settings && this.#claimed(settings));
    if (isList) this.#declarations.declareList(keysOf(things()), has, tenant);
    else this.#declarations.declare([...keysOf(things())], tenant);
    return [];
  }

  /** Whether the program declares something of it by this process, and not by another one, or not in this run. */
  declares({ things }: Declaration): boolean {
    for (const { key } of things()) if (this.#declarations.isOwn(key)) return true;
    return false;
  }

  listNamed(kind: ResourceKind, name: string): Declaration | undefined {
    return this.#program.listNamed(kind, name);
  }

  manage(declaration: Declaration): void {
    this.#managed.push(declaration);
  }

  isManaged(key: string): boolean {
    return this.#managed.some(({ has }) => has(key));
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
    this.#limit ??= { onlyRemoves: onlyRemovesOf(readPlanFile(this.#environment) ?? {}) };
    return this.#limit.onlyRemoves;
  }

  say(sentence: string): void {
    this.#tell(printable(sentence));
  }

  /** From now on nothing more is sent to the service: what is asked for fails with `ERR_CANCELLED`. */
  cancel(): void {
    this.#cancelled.abort(new RunCancelled("the run was cancelled"));
  }

  /** The same, and nothing is kept open, or shared any more: for a process that goes on to another tenant. */
  close(): void {
    this.cancel();
    this.#declarations.end();
    this.#claims.end();
    void this.#current?.client.close().catch(() => {});
    dropPermits(this.#environment);
  }

  #claimed({ baseUrl, apiKey }: SettingsClientOptions): ClaimedTenant {
    return { baseUrl, apiKey, identity: async (list) => await this.#connected().tenant.identity(list) };
  }

  /** The configuration, or undefined where it is missing or not known yet: a check must work without. */
  #configured(): SettingsClientOptions | undefined {
    try {
      return this.#read();
    } catch {
      return undefined;
    }
  }

  /** Read once for a configuration: each of thousands of entries asks for it. Throws when it is missing. */
  #read(): SettingsClientOptions {
    this.#settings ??= readConfiguration(this.#config, this.#environment);
    return this.#settings;
  }

  /** It may be configured more than once, as for each kind of dynamic resources; they all share one tenant. */
  #connected(): Connected {
    const settings = this.#read();
    if (this.#current?.settings === settings) return this.#current;
    if (JSON.stringify(this.#current?.settings) !== JSON.stringify(settings)) {
      const client = connectedClient(settings, this.#environment, this.#cancelled.signal);
      this.#current = { settings, client, tenant: new Tenant({ client }) };
    }
    return this.#current as Connected;
  }

  /** Read once: a plan of thousands of changes would be read and hashed anew for each resource. */
  #reviewedPlan(host: string): ReviewedPlan | undefined {
    if (this.#reviewed?.host !== host)
      this.#reviewed = { host, plan: readReviewedPlan(this.#environment, host) };
    return this.#reviewed.plan;
  }
}

interface Connected {
  readonly settings: SettingsClientOptions;
  readonly client: SettingsClient;
  readonly tenant: Tenant;
}

function* keysOf(things: Iterable<{ readonly key: string }>): Iterable<string> {
  for (const { key } of things) yield key;
}

/**
 * Tells one tenant from another among the processes of a run; only its hash is ever written. A key is of one tenant, by
 * whatever name its host is reached.
 */
function fingerprint(settings: SettingsClientOptions | undefined): string | undefined {
  return settings?.apiKey;
}

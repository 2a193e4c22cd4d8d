import type { dynamic } from "@pulumi/pulumi";
import { SettingsClient } from "../../../provider/client";
import { NO_OWN_DOMAINS } from "../../../provider/model/own-domains";
import { DeclarationRegistry } from "../../../provider/resources/declaration-registry";
import { createDynamicProvider } from "../../../provider/resources/dynamic-provider";
import type { ResourceDeclaration } from "../../../provider/resources/lifecycle/lifecycle";
import type { ReviewedPlan } from "../../../provider/resources/lifecycle/reviewed-plan";
import type { Session } from "../../../provider/resources/provider-adapter";
import { PROVIDER_PROPERTY } from "../../../provider/resources/pulumi-values";
import type { HandlerName } from "../../../provider/resources/serialized-provider";
import { TenantVerifier } from "../../../provider/resources/tenant-verifier";
import { TenantCache } from "../../../provider/tenant";
import type { Declaration } from "./program";
import type { ModelStack, StackItem, StackRun, StackRunOptions } from "./stack";

type Properties = Record<string, unknown>;

/** A resource in state. */
interface StateResource {
  readonly kind: HandlerName;
  readonly name: string;
  id: string;
  inputs: Properties;
  outputs: Properties;
  /**
   * Whether the last create or update was only partly applied; the engine then updates the resource, whatever the diff
   * says.
   */
  hasFailed: boolean;
}

/** The address and key of the tenant. */
interface Access {
  readonly url: string;
  readonly apiKey: string;
  /** The clock that determines the age of snapshots, in milliseconds. Default: the machine's clock. */
  readonly now?: () => number;
}

/**
 * A stack whose resources are driven in this process, for thousands of runs. The whole provider except Pulumi's own
 * host is real, and this class plays the engine's part. Each run has its own provider, which has read nothing yet.
 */
export class InProcessStack implements ModelStack {
  readonly #access: Access;
  #resources = new Map<string, StateResource>();
  /** Replaced resources that could not be deleted yet. */
  #replaced: StateResource[] = [];

  constructor(access: Access) {
    this.#access = access;
  }

  async up(program: readonly Declaration[], options: StackRunOptions): Promise<StackRun> {
    if (options.preview) {
      const preview = await this.#copy().#run(program, { ...options, isPreview: true });
      if (preview.result !== "ok") return preview;
    }
    return await this.#run(program, { ...options, isPreview: false });
  }

  async listResources(): Promise<readonly StackItem[]> {
    return this.#held();
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #held(): StackItem[] {
    const copyResource = (isReplaced: boolean) => (resource: StateResource) => {
      const { kind, name, id, outputs } = resource;
      return { kind, name, id, outputs: serializeProperties(outputs), isReplaced };
    };
    return [...[...this.#resources.values()].map(copyResource(false)), ...this.#replaced.map(copyResource(true))];
  }

  #copy(): InProcessStack {
    const copy = new InProcessStack(this.#access);
    copy.#resources = new Map([...this.#resources].map(([key, resource]) => [key, structuredClone(resource)]));
    copy.#replaced = structuredClone(this.#replaced);
    return copy;
  }

  async #run(
    program: readonly Declaration[],
    options: StackRunOptions & { readonly isPreview: boolean },
  ): Promise<StackRun> {
    await using provider = new RunProvider(this.#access);
    const run = new RunUnderWay();
    let refreshed: readonly StackItem[] | undefined;
    if (options.refresh) {
      const all = [...this.#resources.values(), ...this.#replaced];
      await Promise.all(all.map((resource) => run.step(() => this.#refresh(resource, provider))));
      if (run.result !== "ok") return run.end(undefined);
      refreshed = this.#held();
    }
    for (const declaration of program) {
      const step = await run.check(() => this.#register(declaration, provider, options.isPreview));
      if (step === undefined) break;
      const done = run.step(step);
      if (!options.parallel) await done;
      if (run.result !== "ok") break;
    }
    await run.waitUntilSettled();
    if (run.result === "ok" && !options.isPreview) {
      const declared = new Set(program.map(formatResourceKey));
      const removedResources = [...this.#resources.values()].filter(
        (resource) => !declared.has(formatResourceKey(resource)),
      );
      const deletions = [...this.#replaced, ...removedResources].map(
        (resource) => () => this.#delete(resource, provider, run),
      );
      for (const deletion of deletions) {
        const done = run.step(deletion);
        if (!options.parallel) await done;
      }
      await run.waitUntilSettled();
    }
    return run.end(refreshed);
  }

  /** Refreshes a resource as the engine does. */
  async #refresh(resource: StateResource, provider: RunProvider): Promise<void> {
    const readResult = await provider.of(resource.kind).read(resource.id, serializeProperties(resource.outputs));
    if (readResult.id === undefined) {
      this.#forget(resource);
      return;
    }
    resource.id = readResult.id;
    resource.outputs = serializeProperties(readResult.props ?? {});
    const inputs = serializeProperties((readResult as { inputs?: Properties }).inputs ?? {});
    // If the read returns no inputs, the engine keeps the existing ones.
    if (Object.keys(inputs).length > 0) resource.inputs = inputs;
    resource.hasFailed = false;
  }

  /** Checks and diffs a declared resource, and returns the step to take. */
  async #register(declaration: Declaration, provider: RunProvider, isPreview: boolean): Promise<EngineStep> {
    const { kind, name, args } = declaration;
    const resourceProvider = provider.of(kind);
    const key = formatResourceKey(declaration);
    const checkResource = async (olds: Properties): Promise<Properties> => {
      const nameArgument = kind.endsWith("List") ? `1:${name}` : name;
      const { inputs, failures } = (await resourceProvider.check(
        serializeProperties(olds),
        serializeProperties({ ...args, __n: nameArgument }),
      )) as dynamic.CheckResult & { failures: { property: string; reason: string }[] };
      if (failures.length === 0) return serializeProperties(inputs as Properties);
      throw new Error(failures.map(({ property, reason }) => `${name} ${property} ${reason}`).join("\n"));
    };
    const old = this.#resources.get(key);
    let inputs = await checkResource(old?.inputs ?? {});
    if (old === undefined) {
      return isPreview ? ignoreStep : (run) => this.#create(declaration, inputs, resourceProvider, run);
    }
    // The host adds the provider to the properties that it passes to the engine.
    const diff = await resourceProvider.diff(
      old.id,
      { ...serializeProperties(old.outputs), [PROVIDER_PROPERTY]: kind },
      inputs,
    );
    if (!diff.changes && !old.hasFailed) {
      if (!isPreview) old.inputs = inputs;
      return ignoreStep;
    }
    if ((diff.replaces ?? []).length > 0) {
      inputs = await checkResource({});
      if (isPreview) return ignoreStep;
      return async (run) => {
        await this.#create(declaration, inputs, resourceProvider, run);
        this.#replaced.push(old);
      };
    }
    return isPreview ? ignoreStep : (run) => this.#update(old, inputs, resourceProvider, run);
  }

  async #create(
    { kind, name }: Declaration,
    inputs: Properties,
    resourceProvider: FullResourceProvider,
    run: RunUnderWay,
  ): Promise<void> {
    run.steps.push(`create ${name}`);
    const put = (id: string, outputs: Properties, hasFailed: boolean) =>
      this.#resources.set(formatResourceKey({ kind, name }), { kind, name, id, inputs, outputs, hasFailed });
    try {
      const { id, outs } = await resourceProvider.create(serializeProperties(inputs));
      put(id, serializeProperties(outs ?? {}), false);
    } catch (error) {
      if (isPartial(error)) put(error.id, serializeProperties(error.properties), true);
      throw error;
    }
  }

  async #update(
    old: StateResource,
    inputs: Properties,
    resourceProvider: FullResourceProvider,
    run: RunUnderWay,
  ): Promise<void> {
    run.steps.push(`update ${old.name}`);
    try {
      const answer = await resourceProvider.update(
        old.id,
        serializeProperties(old.outputs),
        serializeProperties(inputs),
      );
      Object.assign(old, { inputs, outputs: serializeProperties(answer.outs ?? {}), hasFailed: false });
    } catch (error) {
      // The engine keeps the inputs of the previous run.
      if (isPartial(error)) Object.assign(old, { outputs: serializeProperties(error.properties), hasFailed: true });
      throw error;
    }
  }

  async #delete(resource: StateResource, provider: RunProvider, run: RunUnderWay): Promise<void> {
    run.steps.push(`delete ${resource.name}`);
    await provider.of(resource.kind).delete(resource.id, serializeProperties(resource.outputs));
    this.#forget(resource);
  }

  #forget(resource: StateResource): void {
    this.#replaced = this.#replaced.filter((stateResource) => stateResource !== resource);
    if (this.#resources.get(formatResourceKey(resource)) === resource)
      this.#resources.delete(formatResourceKey(resource));
  }
}

type EngineStep = (run: RunUnderWay) => Promise<void>;

const ignoreStep: EngineStep = async () => {};

/** The results of a run so far. */
class RunUnderWay {
  result: StackRun["result"] = "ok";
  readonly messages: string[] = [];
  readonly steps: string[] = [];
  readonly #underWay: Promise<void>[] = [];

  /** Runs a check; after its failure, no further step starts. */
  async check<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (this.result === "ok") this.result = "refused";
      this.messages.push((error as Error).message);
      return undefined;
    }
  }

  async step(work: EngineStep): Promise<void> {
    const done = (async () => {
      try {
        await work(this);
      } catch (error) {
        this.result = "failed";
        const { message, reasons = [] } = error as Error & { reasons?: string[] };
        this.messages.push([message, ...reasons].join("\n"));
      }
    })();
    this.#underWay.push(done);
    await done;
  }

  async waitUntilSettled(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  end(refreshed: readonly StackItem[] | undefined): StackRun {
    const { result, messages, steps } = this;
    return { result, messages, steps, refreshed };
  }
}

/** Sequences empty a tenant on purpose, so this verifier accepts any tenant. */
class AnyTenant extends TenantVerifier {
  override async confirm(): Promise<void> {}
}

/** The in-process equivalent of a run's provider process. */
export class RunProvider implements AsyncDisposable {
  readonly #client: SettingsClient;
  readonly #providers: Readonly<Record<HandlerName, FullResourceProvider>>;

  /** @param reviewed the plan that the run enforces. */
  constructor({ url, apiKey, now }: Access, reviewed?: ReviewedPlan) {
    this.#client = new SettingsClient({ baseUrl: url, apiKey });
    const delayBriefly = (begin: () => void) => void setTimeout(begin, 1);
    const tenant = new TenantCache({
      client: this.#client,
      scheduleBatch: delayBriefly,
      // The sandbox's lists don't lag.
      sleep: () => new Promise<void>((resolve) => delayBriefly(resolve)),
      ...(now === undefined ? {} : { now }),
    });
    const declared: ResourceDeclaration[] = [];
    const managed: ResourceDeclaration[] = [];
    const program = new DeclarationRegistry();
    const tenantVerifier = new AnyTenant({
      environment: {},
      getInstanceName: () => undefined,
      describeKeySource: () => "the key",
      getOwnDomains: () => NO_OWN_DOMAINS,
      log: () => {},
      waitBriefly: async () => {},
    });
    const session: Session = {
      configure: () => {},
      getContext: () => ({
        tenant,
        log: () => {},
        isDeclared: (key) => declared.some(({ has }) => has(key)),
        shareManagedIds: () => {},
        confirmTenant: () => tenantVerifier.confirm(),
        isManagedElsewhere: () => false,
        getReviewedPlan: () => reviewed,
      }),
      findListByName: (kind, name) => program.findListByName(kind, name),
      addManaged: (declaration) => void managed.push(declaration),
      isManaged: (key) => managed.some(({ has }) => has(key)),
      shareManagedIds: () => {},
      isDeclaredHere: () => true,
      getOwnDomains: () => NO_OWN_DOMAINS,
      declare: (owner, declaration) => {
        const collisions = program.declare(owner, declaration);
        if (collisions.length === 0) declared.push(declaration);
        return collisions;
      },
      tenantVerifier,
      getTenantLabel: () => new URL(url).host,
      getRemovalFilter: () => reviewed?.onlyRemoves,
      log: () => {},
    };
    this.#providers = {
      allowDenyEntry: createDynamicProvider("AllowDenyEntry", session) as FullResourceProvider,
      allowDenyList: createDynamicProvider("AllowDenyList", session) as FullResourceProvider,
      vipEmployee: createDynamicProvider("VipEmployee", session) as FullResourceProvider,
      vipList: createDynamicProvider("VipList", session) as FullResourceProvider,
    };
  }

  of(kind: HandlerName): FullResourceProvider {
    return this.#providers[kind];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.close();
  }
}

/** Our providers implement all methods. */
type FullResourceProvider = Required<dynamic.ResourceProvider>;

interface PartialError extends Error {
  readonly id: string;
  readonly properties: Properties;
}

function isPartial(error: unknown): error is PartialError {
  return error instanceof Error && "properties" in error;
}

function formatResourceKey({ kind, name }: { readonly kind: string; readonly name: string }): string {
  return `${kind} ${name}`;
}

/** Returns the properties as they survive the transport between the engine and a provider. */
function serializeProperties(properties: object): Properties {
  return JSON.parse(JSON.stringify(properties)) as Properties;
}

import type { dynamic } from "@pulumi/pulumi";
import type { ArgumentFailure } from "../settings/arguments";
import { EmailSecurityError } from "../settings/email-security-error";
import { UNKNOWN } from "../settings/unknown";
import type { ConfigSource } from "./configuration";
import { withDetailedDiff } from "./detailed-diff";
import { type Change, type Context, type Lifecycle, PartialFailure } from "./lifecycle/lifecycle";

/** What Pulumi puts in the place of a value that is not known yet. It is part of Pulumi's wire protocol. */
const PULUMI_UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

/** The property in which Pulumi stores a dynamic resource's provider. */
export const PROVIDER_PROPERTY = "__provider";

/** The output that tells which tenant a resource belongs to. */
const TENANT_PROPERTY = "tenant";

/** How a move to another tenant shows in a preview; which one it will be is no argument, so only the old one is told. */
const MOVED: Change = { property: TENANT_PROPERTY, kind: "delete", replace: true };

export interface FrontOptions {
  /** Takes the configuration. Called before any other, and done when it returns, so that first calls can't race it. */
  readonly configure: (config: ConfigSource) => void;
  /** What a lifecycle works with. Throws when the configuration is missing. */
  readonly context: () => Context;
  /** Remembers that the running program declares what has this key. */
  readonly declare: (key: string) => void;
  /** What tells the tenant of this process from another; undefined while it is not known. */
  readonly tenant: () => string | undefined;
  /** Says one sentence to the person at the terminal. */
  readonly say: (sentence: string) => void;
}

type Properties = Record<string, unknown>;

/** Drives a lifecycle as a provider of Pulumi's dynamic resources: translates what is unknown, and how failures are told. */
export function dynamicFront<Inputs, State>(
  lifecycle: Lifecycle<Inputs, State>,
  options: FrontOptions,
): dynamic.ResourceProvider {
  const program = new Program(lifecycle);
  const inputsOf = (properties: Properties): Inputs => lifecycle.complete(fromPulumi(properties));
  const withTenant = (state: State): Properties => {
    const tenant = options.tenant();
    return { ...state, ...(tenant === undefined ? {} : { [TENANT_PROPERTY]: tenant }) };
  };
  return {
    // Done before it returns: the host may make other calls before a promise of this one is resolved.
    configure: async (request: dynamic.ConfigureRequest) => {
      options.configure((key) => request.config.get(key));
    },

    check: async (_olds: Properties, news: Properties) =>
      await quietly(async () => {
        const { inputs, failures } = lifecycle.check(fromPulumi(news));
        const isKnown = !Object.values(inputs).includes(UNKNOWN);
        if (failures.length > 0 || !isKnown) return { inputs: toPulumi(inputs), failures: [...failures] };
        const complete = lifecycle.complete(inputs);
        const twice = program.declare(complete);
        if (twice === undefined) options.declare(lifecycle.key(complete));
        return { inputs: toPulumi(inputs), failures: twice === undefined ? [] : [twice] };
      }),

    diff: async (_id: string, olds: Properties, news: Properties) =>
      await quietly(async () => {
        const { [TENANT_PROPERTY]: oldTenant, ...state } = fromPulumi(olds);
        const inputs = inputsOf(news);
        const changes = lifecycle.diff(state as State, inputs);
        const replaces = changes.filter((change) => change.replace).map((change) => change.property);
        const tenant = options.tenant();
        // What belongs to another tenant is made anew in this one, and deleted there by the process that knows it.
        const moved = oldTenant !== undefined && tenant !== undefined && oldTenant !== tenant;
        if (moved) replaces.push(TENANT_PROPERTY);
        if (changes.length > 0)
          for (const sentence of lifecycle.warn(state as State, inputs)) options.say(sentence);
        const details = moved ? [...changes, MOVED] : changes;
        return withDetailedDiff({ changes: changes.length > 0 || moved, replaces }, details);
      }),

    create: async (inputs: Properties) =>
      await carryingProvider(inputs, async () => {
        const { id, state } = await lifecycle.create(inputsOf(inputs), options.context());
        return { id, outs: withTenant(state) };
      }),

    read: async (id: string, props: Properties = {}) =>
      await quietly(async () => {
        const found = await lifecycle.read(id, fromPulumi(props) as State, options.context());
        // An id left out tells the engine that the resource is gone.
        if (found === undefined) return {};
        return { id: found.id, props: withTenant(found.state), inputs: { ...found.inputs } };
      }),

    update: async (id: string, olds: Properties, news: Properties) =>
      await carryingProvider(news, async () => {
        const state = await lifecycle.update(
          id,
          fromPulumi(olds) as State,
          inputsOf(news),
          options.context(),
        );
        return { outs: withTenant(state) };
      }),

    delete: async (id: string, props: Properties) =>
      await quietly(async () => {
        await lifecycle.delete(id, fromPulumi(props) as State, options.context());
      }),
  };
}

/** What the running program has declared so far, to find what it declares twice. */
class Program<Inputs, State> {
  readonly #lifecycle: Lifecycle<Inputs, State>;
  readonly #declared = new Map<string, Inputs>();

  constructor(lifecycle: Lifecycle<Inputs, State>) {
    this.#lifecycle = lifecycle;
  }

  /**
   * Remembers a declaration. A failure when another one of the same thing differs from it: the two would take turns in
   * undoing each other. (The engine checks a resource twice when it is replaced, with the same arguments.)
   */
  declare(inputs: Inputs): ArgumentFailure | undefined {
    const { subject, claim } = this.#lifecycle.identify(inputs);
    const other = this.#declared.get(subject);
    if (other === undefined) {
      this.#declared.set(subject, inputs);
      return undefined;
    }
    const first = this.#lifecycle.identify(other);
    if (first.claim === claim) return undefined;
    const { property } = first;
    return {
      property,
      reason: `is declared twice in this program, once as ${first.claim} and once as ${claim}; keep one`,
    };
  }
}

function fromPulumi(properties: Properties): Properties {
  const { [PROVIDER_PROPERTY]: _provider, ...rest } = properties;
  return mapValues(rest, (value) => (value === PULUMI_UNKNOWN ? UNKNOWN : value));
}

function toPulumi(properties: Properties): Properties {
  return mapValues(properties, (value) => (value === UNKNOWN ? PULUMI_UNKNOWN : value));
}

function mapValues(properties: Properties, map: (value: unknown) => unknown): Properties {
  return Object.fromEntries(Object.entries(properties).map(([key, value]) => [key, map(value)]));
}

/**
 * A partial failure becomes the engine's "created, but failed to initialize", which keeps the resource in state. Its
 * properties must carry the provider, or the host can't delete it later.
 */
async function carryingProvider<T>(inputs: Properties, work: () => Promise<T>): Promise<T> {
  return await quietly(async () => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof PartialFailure)) throw error;
      throw Object.assign(new Error(error.message, { cause: error }), {
        id: error.id,
        properties: { ...(error.state as object), [PROVIDER_PROPERTY]: inputs[PROVIDER_PROPERTY] },
        reasons: [error.message],
      });
    }
  });
}

/**
 * The host prints every error with its stack, and the engine tells the same error at its resource. For one that is
 * written for people the first is cut down to its name; an unexpected one keeps its stack.
 */
async function quietly<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof EmailSecurityError && !process.env["EMAIL_SECURITY_DEBUG"]) {
      const { name, code } = error;
      error.toString = () => `${name} (${code})`;
      error.stack = "the details are told at its resource";
    }
    throw error;
  }
}

import type { dynamic } from "@pulumi/pulumi";
import type { ArgumentFailure } from "../settings/arguments";
import { EmailSecurityError, withCode } from "../settings/email-security-error";
import type { OwnDomains } from "../settings/own-domains";
import { isPrintable, printable } from "../settings/text";
import { UNKNOWN } from "../settings/unknown";
import type { ConfigSource } from "./configuration";
import { withDetailedDiff } from "./detailed-diff";
import {
  type Change,
  type Context,
  type Declaration,
  type Lifecycle,
  PartialFailure,
} from "./lifecycle/lifecycle";
import type { Program } from "./program";

/** What Pulumi puts in the place of a value that is not known yet. It is part of Pulumi's wire protocol. */
export const PULUMI_UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

/** The property in which Pulumi stores a dynamic resource's provider. */
export const PROVIDER_PROPERTY = "__provider";

/**
 * The property by which a resource tells check its name, which the engine doesn't. It is no argument: check takes it out,
 * so it is never in state.
 */
export const NAME_PROPERTY = "__resourceName";

/** The output that tells which tenant a resource belongs to. */
const TENANT_PROPERTY = "tenant";

/** How a move to another tenant shows in a preview; which one it will be is no argument, so only the old one is told. */
const MOVED: Change = { property: TENANT_PROPERTY, kind: "delete", replace: true };

export interface FrontOptions {
  /** Takes the configuration. Called before any other, and done when it returns, so that first calls can't race it. */
  readonly configure: (config: ConfigSource) => void;
  /** What a lifecycle works with. Throws when the configuration is missing. */
  readonly context: () => Context;
  /** What the running program declares on this tenant, over all kinds of resources. */
  readonly program: Program;
  /** Remembers what the running program declares, so that nothing of it is deleted. */
  readonly declare: (declaration: Declaration) => void;
  /** The tenant's own domains. Throws when their configuration can't be read. */
  readonly ownDomains: () => OwnDomains;
  /** What tells the tenant of this process from another; undefined while it is not known. */
  readonly tenant: () => string | undefined;
  /** Says one sentence to the person at the terminal. */
  readonly say: (sentence: string) => void;
}

type Properties = Record<string, unknown>;

/**
 * Drives a lifecycle as a provider of Pulumi's dynamic resources: translates what is unknown, and how failures are told.
 *
 * @param kind what the resource is called in a program.
 */
export function dynamicFront<Inputs, State>(
  kind: string,
  lifecycle: Lifecycle<Inputs, State>,
  options: FrontOptions,
): dynamic.ResourceProvider {
  const stateOf = (properties: Properties): State => {
    const { [TENANT_PROPERTY]: _tenant, ...state } = fromPulumi(properties);
    return state as State;
  };
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

    check: async (olds: Properties, news: Properties) =>
      await quietly(async () => {
        const { [NAME_PROPERTY]: name, ...args } = fromPulumi(news);
        const { inputs, failures } = lifecycle.check(args, fromPulumi(olds), options.ownDomains);
        const isKnown = !Object.values(inputs).includes(UNKNOWN);
        if (failures.length > 0 || !isKnown) {
          return { inputs: toPulumi(inputs), failures: told(failures, args) };
        }
        const complete = lifecycle.complete(inputs);
        const owner = { kind, id: String(name ?? ""), name: nameIn(name) };
        const declaration = lifecycle.declare(complete);
        const collisions = options.program.declare(owner, declaration);
        if (collisions.length === 0) options.declare(declaration);
        return { inputs: toPulumi(inputs), failures: told(collisions, args) };
      }),

    diff: async (_id: string, olds: Properties, news: Properties) =>
      await quietly(async () => {
        const { [TENANT_PROPERTY]: oldTenant } = olds;
        const state = stateOf(olds);
        const inputs = inputsOf(news);
        const changes = lifecycle.diff(state, inputs);
        const replaces = changes.filter((change) => change.replace).map((change) => change.property);
        const tenant = options.tenant();
        // What belongs to another tenant is made anew in this one, and deleted there by the process that knows it.
        const moved = oldTenant !== undefined && tenant !== undefined && oldTenant !== tenant;
        if (moved) replaces.push(TENANT_PROPERTY);
        if (changes.length > 0) for (const sentence of lifecycle.warn(state, inputs)) options.say(sentence);
        const details = moved ? [...changes, MOVED] : changes;
        return withDetailedDiff({ changes: changes.length > 0 || moved, replaces }, details);
      }),

    create: async (inputs: Properties) =>
      await keepingPartial(inputs, withTenant, async () => {
        const { id, state } = await lifecycle.create(inputsOf(inputs), options.context());
        return { id, outs: withTenant(state) };
      }),

    read: async (id: string, props: Properties = {}) =>
      await quietly(async () => {
        const found = await lifecycle.read(id, stateOf(props), options.context());
        // An id left out tells the engine that the resource is gone.
        if (found === undefined) return {};
        const { inputs } = found;
        return {
          id: found.id,
          props: withTenant(found.state),
          ...(inputs === undefined ? {} : { inputs: { ...inputs } }),
        };
      }),

    update: async (id: string, olds: Properties, news: Properties) =>
      await keepingPartial(news, withTenant, async () => {
        const state = await lifecycle.update(id, stateOf(olds), inputsOf(news), options.context());
        return { outs: withTenant(state) };
      }),

    delete: async (id: string, props: Properties) =>
      await quietly(async () => {
        await lifecycle.delete(id, stateOf(props), options.context());
      }),
  };
}

/**
 * Failures as the engine tells them best. It prints the value of the property beside each, as it is, and the whole of a
 * list; so what is about a list or a place in it, or about a value that can't be printed, is told without a property, in
 * one failure, a line each.
 */
function told(failures: readonly ArgumentFailure[], args: Properties): ArgumentFailure[] {
  const isAlone = ({ property }: ArgumentFailure): boolean =>
    isInList(property) || !isPrintable(property) || !isPrintable(args[property]);
  const alone = failures.filter(isAlone);
  if (alone.length === 0) return [...failures];
  const lines = alone.map(
    ({ property, reason }) => `  ${printable(property)} ${reason.replaceAll("\n", "\n  ")}`,
  );
  return [
    ...failures.filter((failure) => !isAlone(failure)),
    { property: "", reason: ["these arguments can't be accepted:", ...lines].join("\n") },
  ];
}

/** The name out of what a resource tells of itself: with a number before it, where a name is not enough. */
function nameIn(told: unknown): string | undefined {
  return typeof told === "string" ? told.replace(/^\d+:/, "") : undefined;
}

function isInList(property: string): boolean {
  return /^(entries|members)\b/.test(property) || property.includes("[");
}

function fromPulumi(properties: Properties): Properties {
  const { [PROVIDER_PROPERTY]: _provider, ...rest } = properties;
  return replaced(rest, PULUMI_UNKNOWN, UNKNOWN) as Properties;
}

function toPulumi(properties: Properties): Properties {
  return replaced(properties, UNKNOWN, PULUMI_UNKNOWN) as Properties;
}

/** The same value with one leaf in the place of another, however deep. What holds none is passed on, not copied. */
function replaced(value: unknown, from: unknown, to: unknown): unknown {
  if (value === from) return to;
  if (typeof value !== "object" || value === null || !holds(value, from)) return value;
  if (Array.isArray(value)) return value.map((one) => replaced(one, from, to));
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, replaced(one, from, to)]));
}

function holds(value: object, leaf: unknown): boolean {
  return Object.values(value).some(
    (one) => one === leaf || (typeof one === "object" && one !== null && holds(one, leaf)),
  );
}

/**
 * A partial failure becomes the engine's "created, but failed to initialize", which keeps the resource in state. Its
 * properties must carry the provider, or the host can't delete it later.
 */
async function keepingPartial<T, State>(
  inputs: Properties,
  withTenant: (state: State) => Properties,
  work: () => Promise<T>,
): Promise<T> {
  return await quietly(async () => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof PartialFailure)) throw error;
      throw Object.assign(new Error(error.message, { cause: error }), {
        id: error.id,
        properties: { ...withTenant(error.state as State), [PROVIDER_PROPERTY]: inputs[PROVIDER_PROPERTY] },
        reasons: [...error.reasons],
      });
    }
  });
}

/**
 * The engine tells an error at its resource, and the host prints it with its stack beside. For one that is written for
 * people the first comes with its code and the second is cut down to its name; an unexpected one keeps its stack.
 */
async function quietly<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof EmailSecurityError)) throw error;
    const { name, code, stack } = error;
    const isDebugged = Boolean(process.env["EMAIL_SECURITY_DEBUG"]);
    throw Object.assign(new Error(withCode(error), { cause: error }), {
      toString: () => `${name} (${code})`,
      stack: isDebugged ? stack : "the details are told at its resource",
    });
  }
}

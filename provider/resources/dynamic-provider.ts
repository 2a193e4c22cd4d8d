import type { dynamic } from "@pulumi/pulumi";
import { EmailSecurityError, formatErrorWithCode } from "../model/email-security-error";
import { PULUMI_UNKNOWN } from "../model/unknown-value";
import type { ConfigSource } from "./configuration";
import { addDetailedDiff } from "./detailed-diff";
import { enableLazyStructs } from "./host-structs";
import { PartialFailureError } from "./lifecycle/lifecycle";
import { createProviderAdapter, type Properties, type Session } from "./provider-adapter";
import { getCurrentDelete, getTimeoutSeconds, interceptHostRequests } from "./pulumi-host-requests";
import { fromPulumi, NAME_PROPERTY, OWN_DOMAINS_PROPERTY, PROVIDER_PROPERTY, toPulumi } from "./pulumi-values";
import { getUrnName, type ResourceKind } from "./resource-type";

export function createDynamicProvider(kind: ResourceKind, session: Session): dynamic.ResourceProvider {
  const adapter = createProviderAdapter(kind, session);
  interceptHostRequests();
  enableLazyStructs();
  return {
    // Must finish synchronously: the host may make other calls before a returned promise is resolved.
    configure: async (request: dynamic.ConfigureRequest) => {
      session.configure(ignoreConfigErrors((key) => request.config.get(key)));
    },

    check: async (olds: Properties, news: Properties) =>
      await convertErrors(async () => {
        const { [NAME_PROPERTY]: declaredName, [OWN_DOMAINS_PROPERTY]: ownDomains, ...args } = fromPulumi(news);
        if (typeof ownDomains === "string") session.tenantVerifier.addOwnDomains(JSON.parse(ownDomains) as string[]);
        const resource = { id: String(declaredName ?? ""), name: parseResourceName(declaredName) };
        const { inputs, failures } = adapter.check(args, fromPulumi(olds), resource);
        return { inputs: toPulumi(inputs), failures: [...failures] };
      }),

    diff: async (id: string, olds: Properties, news: Properties) =>
      await convertErrors(async () => {
        const changes = adapter.diff(id, fromPulumi(olds), fromPulumi(news));
        const replaces = changes.filter((change) => change.replace).map((change) => change.property);
        // A resource of the native plugin is updated without a request to the service, so that its state gets the
        // provider.
        const isForeign = olds[PROVIDER_PROPERTY] === undefined;
        return addDetailedDiff({ changes: changes.length > 0 || isForeign, replaces }, changes);
      }),

    create: async (inputs: Properties) =>
      await convertPartialFailure(inputs, async () => {
        const { id, outputs } = await adapter.create(fromPulumi(inputs), getTimeoutSeconds(inputs));
        return { id, outs: outputs };
      }),

    read: async (id: string, props: Properties = {}) =>
      await convertErrors(async () => {
        const readResource = await adapter.read(id, fromPulumi(props));
        // A missing id tells the engine that the resource is gone.
        if (readResource === undefined) return {};
        const { inputs, outputs } = readResource;
        return {
          id: readResource.id,
          props: outputs,
          ...(inputs === undefined ? {} : { inputs: { ...inputs } }),
        };
      }),

    update: async (id: string, olds: Properties, news: Properties) =>
      await convertPartialFailure(news, async () => ({
        outs: await adapter.update(id, fromPulumi(olds), fromPulumi(news), getTimeoutSeconds(news)),
      })),

    delete: async (id: string, props: Properties) => {
      const { seconds, urn } = getCurrentDelete();
      await convertErrors(async () => await adapter.delete(id, fromPulumi(props), seconds, getUrnName(urn)));
    },
  };
}

/** Parses the name in a resource's own label, which may have a number as its prefix to be unique. */
function parseResourceName(declaredName: unknown): string | undefined {
  return typeof declaredName === "string" ? declaredName.replace(/^\d+:/, "") : undefined;
}

/** The host's configuration object throws if the engine has given it none, and values may be unknown in a preview. */
function ignoreConfigErrors(source: ConfigSource): ConfigSource {
  return (key) => {
    try {
      const value = source(key);
      return value === PULUMI_UNKNOWN ? undefined : value;
    } catch {
      return undefined;
    }
  };
}

/**
 * A partial failure becomes the engine's "created, but failed to initialize", which keeps the resource in state. Its
 * properties must carry the provider, or the host can't delete it later.
 */
async function convertPartialFailure<T>(inputs: Properties, work: () => Promise<T>): Promise<T> {
  return await convertErrors(async () => {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof PartialFailureError)) throw error;
      throw Object.assign(new Error(error.message, { cause: error }), {
        id: error.id,
        properties: { ...(error.state as Properties), [PROVIDER_PROPERTY]: inputs[PROVIDER_PROPERTY] },
        reasons: [...error.reasons],
      });
    }
  });
}

/**
 * The engine shows an error at its resource, and the host prints its stack in addition. An error written for people
 * gets its code in the message and no stack. An unexpected one keeps its stack.
 */
async function convertErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof EmailSecurityError)) throw error;
    const { name, code, stack } = error;
    const isDebug = Boolean(process.env["EMAIL_SECURITY_DEBUG"]);
    throw Object.assign(new Error(formatErrorWithCode(error), { cause: error }), {
      toString: () => `${name} (${code})`,
      stack: isDebug ? stack : "see the error of its resource",
    });
  }
}

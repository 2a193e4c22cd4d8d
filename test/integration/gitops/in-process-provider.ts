import type { dynamic } from "@pulumi/pulumi";
import { readReviewedPlan } from "../../../provider/resources/lifecycle/reviewed-plan";
import { NAME_PROPERTY, PROVIDER_PROPERTY } from "../../../provider/resources/pulumi-values";
import type { HandlerName } from "../../../provider/resources/serialized-provider";
import type { ResourceCalls, RunServer } from "../../support/managed-resource";
import { RunProvider } from "../../support/model/in-process-stack";
import { InitFailed, type ResourceProperties } from "../../support/provider-call";

/** Serves a managed resource in this process as a run's provider process does, for many runs. */
export class InProcessProvider implements RunServer, AsyncDisposable {
  readonly printed: string[] = [];
  readonly #provider: RunProvider;

  /** @param environment the environment of the run's process, including a reviewed plan. */
  constructor(access: { readonly url: string; readonly apiKey: string }, environment: NodeJS.ProcessEnv) {
    this.#provider = new RunProvider(access, readReviewedPlan(environment, new URL(access.url).host));
  }

  async startNextRun(): Promise<void> {
    throw new Error("a run has a provider of its own");
  }

  getResource(handler: HandlerName, name = "one"): ResourceCalls {
    const resourceProvider = this.#provider.of(handler);
    return {
      async check(news, olds = {}) {
        const { inputs, failures = [] } = (await resourceProvider.check(
          serializeProperties(olds),
          serializeProperties({ ...news, [NAME_PROPERTY]: name }),
        )) as dynamic.CheckResult;
        return {
          inputs: serializeProperties(inputs),
          failures: Object.fromEntries(failures.map(({ property, reason }) => [property, reason])),
        };
      },
      async diff(id, olds, news) {
        const { changes = false, replaces = [] } = await resourceProvider.diff(
          id,
          { ...serializeProperties(olds), [PROVIDER_PROPERTY]: handler },
          serializeProperties(news),
        );
        return { changes, replaces };
      },
      diffDetails: async () => undefined,
      create: (inputs) =>
        convertInitFailure(async () => {
          const { id, outs } = await resourceProvider.create(serializeProperties(inputs));
          return { id, properties: serializeProperties(outs ?? {}) };
        }),
      async read(id, properties = {}) {
        const readResult = (await resourceProvider.read(id, serializeProperties(properties))) as dynamic.ReadResult & {
          inputs?: ResourceProperties;
        };
        if (readResult.id === undefined) return undefined;
        return {
          id: readResult.id,
          properties: serializeProperties(readResult.props ?? {}),
          inputs: serializeProperties(readResult.inputs ?? {}),
        };
      },
      update: (id, olds, news) =>
        convertInitFailure(async () =>
          serializeProperties(
            (await resourceProvider.update(id, serializeProperties(olds), serializeProperties(news))).outs ?? {},
          ),
        ),
      async delete(id, properties) {
        await resourceProvider.delete(id, serializeProperties(properties));
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#provider[Symbol.asyncDispose]();
  }
}

/** Runs `work`; rethrows a partial failure as the {@link InitFailed} that the engine would receive. */
async function convertInitFailure<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error) || !("properties" in error)) throw error;
    const { message, id, properties, reasons } = error as Error & {
      id: string;
      properties: ResourceProperties;
      reasons: string[];
    };
    throw new InitFailed(message, id, serializeProperties(properties), reasons);
  }
}

/** Returns the properties as they survive the transport between the engine and a provider. */
function serializeProperties(properties: object): ResourceProperties {
  const { __provider: _shell, ...rest } = JSON.parse(JSON.stringify(properties)) as ResourceProperties;
  return rest;
}

import type { dynamic } from "@pulumi/pulumi";
import { readReviewedPlan } from "../../../provider/resources/lifecycle/reviewed-plan";
import { NAME_PROPERTY, PROVIDER_PROPERTY } from "../../../provider/resources/pulumi-values";
import type { HandlerName } from "../../../provider/resources/serialized-provider";
import type { Served, ServesRuns } from "../../support/managed-resource";
import { RunProvider } from "../../support/model/in-process-stack";
import { InitFailed, type ResourceProperties } from "../../support/provider-call";

/** Serves a managed resource in this process as a run's provider process does, for many runs. */
export class InProcessProvider implements ServesRuns, AsyncDisposable {
  readonly printed: string[] = [];
  readonly #provider: RunProvider;

  /** @param environment the environment of the run's process, including a reviewed plan. */
  constructor(access: { readonly url: string; readonly apiKey: string }, environment: NodeJS.ProcessEnv) {
    this.#provider = new RunProvider(access, readReviewedPlan(environment, new URL(access.url).host));
  }

  async startNextRun(): Promise<void> {
    throw new Error("a run has a provider of its own");
  }

  getResource(handler: HandlerName, name = "one"): Served {
    const resourceProvider = this.#provider.of(handler);
    return {
      async check(news, olds = {}) {
        const { inputs, failures = [] } = (await resourceProvider.check(
          passed(olds),
          passed({ ...news, [NAME_PROPERTY]: name }),
        )) as dynamic.CheckResult;
        return {
          inputs: passed(inputs),
          failures: Object.fromEntries(failures.map(({ property, reason }) => [property, reason])),
        };
      },
      async diff(id, olds, news) {
        const { changes = false, replaces = [] } = await resourceProvider.diff(
          id,
          { ...passed(olds), [PROVIDER_PROPERTY]: handler },
          passed(news),
        );
        return { changes, replaces };
      },
      diffDetails: async () => undefined,
      create: (inputs) =>
        orInitFailed(async () => {
          const { id, outs } = await resourceProvider.create(passed(inputs));
          return { id, properties: passed(outs ?? {}) };
        }),
      async read(id, properties = {}) {
        const found = (await resourceProvider.read(id, passed(properties))) as dynamic.ReadResult & {
          inputs?: ResourceProperties;
        };
        if (found.id === undefined) return undefined;
        return { id: found.id, properties: passed(found.props ?? {}), inputs: passed(found.inputs ?? {}) };
      },
      update: (id, olds, news) =>
        orInitFailed(async () => passed((await resourceProvider.update(id, passed(olds), passed(news))).outs ?? {})),
      async delete(id, properties) {
        await resourceProvider.delete(id, passed(properties));
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#provider[Symbol.asyncDispose]();
  }
}

/** Runs `work`; rethrows a partial failure as the {@link InitFailed} that the engine would receive. */
async function orInitFailed<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error) || !("properties" in error)) throw error;
    const { message, id, properties, reasons } = error as Error & {
      id: string;
      properties: ResourceProperties;
      reasons: string[];
    };
    throw new InitFailed(message, id, passed(properties), reasons);
  }
}

/** Returns the properties as they survive the transport between the engine and a provider. */
function passed(properties: object): ResourceProperties {
  const { __provider: _shell, ...rest } = JSON.parse(JSON.stringify(properties)) as ResourceProperties;
  return rest;
}

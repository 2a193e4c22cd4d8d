import type { HandlerName } from "../../provider/resources/serialized-provider";
import { InitFailed, type ResourceProperties } from "./provider-call";
import { ProviderProcess, type ProviderResource } from "./provider-process";

/** What serves the resources of a run. */
export interface ServesRuns extends Pick<ProviderProcess, "nextRun" | "printed"> {
  resource(handler: HandlerName, name?: string): Served;
}

/** The engine's calls for one kind of resource. */
export type Served = Pick<ProviderResource, "check" | "diff" | "diffDetails" | "create" | "read" | "update" | "delete">;

/** What an `up` of one resource came to. */
export interface Up {
  readonly outcome: "created" | "updated" | "same" | "refused" | "failed" | "partial";
  /** Reasons of check by property, or the message of what failed. */
  readonly failures: Record<string, string>;
  /** What the engine is told of a run that was done in part, a reason each. */
  readonly reasons: readonly string[];
  /** What the preview shows as changing, by property. */
  readonly details: Record<string, string>;
  /** What was printed for the person at the terminal. */
  readonly printed: string;
}

/**
 * One resource as the engine manages it, without the engine: it keeps the checked inputs and the outputs of the last
 * run, hands them over as the engine does, and starts a new provider process for each run.
 */
export class ManagedResource {
  inputs: ResourceProperties = {};
  properties: ResourceProperties | undefined;
  id = "";
  readonly #tenant: { readonly provider: ServesRuns };
  readonly #handler: HandlerName;
  readonly #name: string;
  readonly #sharesRuns: boolean;
  #hasFailed = false;

  /** @param options with `sharesRuns`, whoever has several resources begins each run of theirs (`provider.nextRun`). */
  constructor(
    tenant: { readonly provider: ServesRuns },
    handler: HandlerName,
    { name = "list", sharesRuns = false } = {},
  ) {
    this.#tenant = tenant;
    this.#handler = handler;
    this.#name = name;
    this.#sharesRuns = sharesRuns;
  }

  /** `pulumi up --skip-preview`. @param seconds how long the change may take, by `customTimeouts`. */
  async up(args: ResourceProperties, seconds = 0): Promise<Up> {
    return await this.#run(async () => {
      const resource = this.#resource;
      const before = this.inputs;
      const isUpdate = this.properties !== undefined;
      const { inputs, failures } = await resource.check(args, before);
      if (Object.keys(failures).length > 0) return { outcome: "refused", failures };
      try {
        if (this.properties === undefined) {
          const created = await resource.create(inputs, { seconds });
          Object.assign(this, { id: created.id, properties: created.properties, inputs });
          return { outcome: "created", failures };
        }
        const { changes } = await resource.diff(this.id, this.properties, inputs, before);
        const details = (await resource.diffDetails(this.id, this.properties, inputs, before)) ?? {};
        // The engine updates what failed halfway before, whatever the diff says.
        if (changes || this.#hasFailed) {
          this.properties = await resource.update(this.id, this.properties, inputs, before, { seconds });
          this.inputs = inputs;
          this.#hasFailed = false;
          return { outcome: "updated", failures, details };
        }
        this.inputs = inputs;
        return { outcome: "same", failures };
      } catch (error) {
        if (!(error instanceof InitFailed)) return { outcome: "failed", failures: { "": (error as Error).message } };
        Object.assign(this, { id: error.id, properties: error.properties, inputs });
        // After an update that failed halfway, the engine keeps the inputs of the run before.
        if (isUpdate) this.inputs = before;
        this.#hasFailed = true;
        return { outcome: "partial", failures: { "": error.message }, reasons: error.reasons };
      }
    });
  }

  /** Runs `pulumi refresh`. The next `up` recreates a resource that is gone. */
  async refresh(): Promise<void> {
    await this.#run(async () => {
      const found = await this.#resource.read(this.id, this.properties ?? {}, this.inputs);
      if (found === undefined) {
        this.properties = undefined;
        return { outcome: "same", failures: {} };
      }
      Object.assign(this, { id: found.id, properties: found.properties });
      // Without inputs, the engine keeps those it has.
      if (Object.keys(found.inputs).length > 0) this.inputs = found.inputs;
      this.#hasFailed = false;
      return { outcome: "same", failures: {} };
    });
  }

  /** `pulumi destroy`. */
  async destroy(): Promise<Up> {
    return await this.#run(async () => {
      try {
        await this.#resource.delete(this.id, this.properties ?? {}, this.inputs);
        this.properties = undefined;
        this.inputs = {};
        return { outcome: "updated", failures: {} };
      } catch (error) {
        return { outcome: "failed", failures: { "": (error as Error).message } };
      }
    });
  }

  get #resource(): Served {
    return this.#tenant.provider.resource(this.#handler, this.#name);
  }

  async #run(work: () => Promise<Omit<Up, "printed" | "reasons" | "details"> & Partial<Up>>): Promise<Up> {
    const { provider } = this.#tenant;
    if (!this.#sharesRuns) await provider.nextRun();
    const before = provider.printed.length;
    const up = await work();
    const printed = provider instanceof ProviderProcess ? await provider.printedSoFar() : provider.printed;
    return { reasons: [], details: {}, ...up, printed: printed.slice(before).join("\n") };
  }
}

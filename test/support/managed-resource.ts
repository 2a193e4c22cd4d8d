import type { HandlerName } from "../../provider/resources/serialized-provider";
import { InitFailed, type ResourceProperties } from "./provider-call";
import { ProviderProcess, type ProviderResource } from "./provider-process";

/** Serves the resources of a run. */
export interface RunServer extends Pick<ProviderProcess, "startNextRun" | "printed"> {
  getResource(handler: HandlerName, name?: string): ResourceCalls;
}

/** The engine's calls for one kind of resource. */
export type ResourceCalls = Pick<
  ProviderResource,
  "check" | "diff" | "diffDetails" | "create" | "read" | "update" | "delete"
>;

/** The result of an `up` of one resource. */
export interface ResourceUpResult {
  readonly outcome: "created" | "updated" | "same" | "refused" | "failed" | "partial";
  /** The failures of check by property, or the error message. */
  readonly failures: Record<string, string>;
  /** The reasons reported to the engine for a partially completed run, one per problem. */
  readonly reasons: readonly string[];
  /** The changes that the preview shows, by property. */
  readonly details: Record<string, string>;
  /** The text printed for the person at the terminal. */
  readonly printed: string;
}

/**
 * One resource, managed as the engine does but without the engine. It keeps the checked inputs and the outputs of the
 * last run, passes them on as the engine does, and starts a new provider process for each run.
 */
export class ManagedResource {
  inputs: ResourceProperties = {};
  properties: ResourceProperties | undefined;
  id = "";
  readonly #tenant: { readonly provider: RunServer };
  readonly #handler: HandlerName;
  readonly #name: string;
  readonly #sharesRuns: boolean;
  #hasFailed = false;

  /**
   * @param options with `sharesRuns`, the caller starts each run itself (`provider.startNextRun`), for several resources at
   * once.
   */
  constructor(
    tenant: { readonly provider: RunServer },
    handler: HandlerName,
    { name = "list", sharesRuns = false } = {},
  ) {
    this.#tenant = tenant;
    this.#handler = handler;
    this.#name = name;
    this.#sharesRuns = sharesRuns;
  }

  /**
   * Runs `pulumi up --skip-preview`.
   *
   * @param seconds the time limit of the change, from `customTimeouts`.
   */
  async up(args: ResourceProperties, seconds = 0): Promise<ResourceUpResult> {
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
        // The engine updates a resource that failed partway, whatever the diff says.
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
        // After a partly failed update, the engine keeps the inputs of the previous run.
        if (isUpdate) this.inputs = before;
        this.#hasFailed = true;
        return { outcome: "partial", failures: { "": error.message }, reasons: error.reasons };
      }
    });
  }

  /** Runs `pulumi refresh`. The next `up` recreates a resource that is gone. */
  async refresh(): Promise<void> {
    await this.#run(async () => {
      const readResult = await this.#resource.read(this.id, this.properties ?? {}, this.inputs);
      if (readResult === undefined) {
        this.properties = undefined;
        return { outcome: "same", failures: {} };
      }
      Object.assign(this, { id: readResult.id, properties: readResult.properties });
      // If the read returns no inputs, the engine keeps the existing ones.
      if (Object.keys(readResult.inputs).length > 0) this.inputs = readResult.inputs;
      this.#hasFailed = false;
      return { outcome: "same", failures: {} };
    });
  }

  async destroy(): Promise<ResourceUpResult> {
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

  get #resource(): ResourceCalls {
    return this.#tenant.provider.getResource(this.#handler, this.#name);
  }

  async #run(
    work: () => Promise<Omit<ResourceUpResult, "printed" | "reasons" | "details"> & Partial<ResourceUpResult>>,
  ): Promise<ResourceUpResult> {
    const { provider } = this.#tenant;
    if (!this.#sharesRuns) await provider.startNextRun();
    const before = provider.printed.length;
    const up = await work();
    const printed = provider instanceof ProviderProcess ? await provider.readPrintedLines() : provider.printed;
    return { reasons: [], details: {}, ...up, printed: printed.slice(before).join("\n") };
  }
}

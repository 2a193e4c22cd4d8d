import type { HandlerName } from "../../provider/resources/serialized-provider";
import { InitFailed, type ResourceProperties } from "./provider-call";
import { ProviderProcess, type ProviderProcessOptions } from "./provider-process";

/** A resource of a program. */
export interface ProgramResource {
  readonly handler: HandlerName;
  readonly args: ResourceProperties;
}

/** A program: its resources by name, in order of declaration. */
export type DeclaredProgram = Readonly<Record<string, ProgramResource>>;

/** A resource in the stack's state. Plain data. */
export interface StoredResource {
  readonly handler: HandlerName;
  readonly id: string;
  readonly inputs: ResourceProperties;
  readonly properties: ResourceProperties;
  /** Whether the last run was only partly applied; the next run then updates the resource, whatever the diff says. */
  readonly isHalfMade: boolean;
}

/** The stack's state. Plain data. */
export interface ManagedStackState {
  readonly resources: ReadonlyMap<string, StoredResource>;
  /** Replaced resources that could not be deleted yet. */
  readonly doomed: readonly StoredResource[];
}

export type ResourceOutcome = "created" | "updated" | "replaced" | "same" | "deleted" | "failed" | "half-made";

/** The result of an `up`. */
export interface ProgramUp {
  readonly outcomes: Readonly<Record<string, ResourceOutcome>>;
  /** The error message of each resource that failed, by its name. */
  readonly failures: Readonly<Record<string, string>>;
}

export interface UpOptions {
  /** Default: true; false behaves like `--parallel 1`. */
  readonly parallel?: boolean;
  /** Called before each create, update or delete of a resource. */
  readonly onStep?: () => void;
}

const EMPTY: ManagedStackState = { resources: new Map(), doomed: [] };

/**
 * A program with several resources, managed as the engine does but without the engine. Each run uses one provider
 * process, concurrently or one resource at a time. Undeclared resources are deleted last, if nothing has failed.
 */
export class ManagedProgram implements AsyncDisposable {
  readonly #options: ProviderProcessOptions;
  readonly #resources: Map<string, StoredResource>;
  #doomed: readonly StoredResource[];
  #process: ProviderProcess | undefined;

  /** @param stack the state that runs of another instance left behind. */
  constructor(options: ProviderProcessOptions, stack: ManagedStackState = EMPTY) {
    this.#options = options;
    this.#resources = new Map(stack.resources);
    this.#doomed = stack.doomed;
  }

  get stack(): ManagedStackState {
    return { resources: new Map(this.#resources), doomed: this.#doomed };
  }

  /** Runs `pulumi up --skip-preview`. */
  async up(program: DeclaredProgram, { parallel = true, onStep = () => {} }: UpOptions = {}): Promise<ProgramUp> {
    const provider = await this.#nextRun();
    const outcomes: Record<string, ResourceOutcome> = {};
    const failures: Record<string, string> = {};
    const attempt = async (name: string, work: () => Promise<ResourceOutcome>): Promise<void> => {
      try {
        outcomes[name] = await work();
      } catch (error) {
        outcomes[name] = error instanceof InitFailed ? "half-made" : "failed";
        const reasons = error instanceof InitFailed ? error.reasons : [(error as Error).message];
        failures[name] = reasons.join("\n");
      }
    };
    const runSteps = async (steps: readonly (() => Promise<void>)[]): Promise<void> => {
      if (parallel) await Promise.all(steps.map((step) => step()));
      else for (const step of steps) await step();
    };
    const declared = Object.entries(program);
    await runSteps(
      declared.map(
        ([name, resource]) =>
          () =>
            attempt(name, () => this.#bring(name, resource, { provider, onStep })),
      ),
    );
    if (Object.keys(failures).length > 0) return { outcomes, failures };

    const removedResources = [...this.#resources].filter(([name]) => program[name] === undefined);
    await runSteps([
      ...removedResources.map(
        ([name, kept]) =>
          () =>
            attempt(name, async () => {
              onStep();
              await provider.getResource(kept.handler, name).delete(kept.id, kept.properties, kept.inputs);
              this.#resources.delete(name);
              return "deleted";
            }),
      ),
      ...this.#doomed.map(
        (kept) => () =>
          attempt(`the replaced ${kept.id}`, async () => {
            onStep();
            await provider.getResource(kept.handler).delete(kept.id, kept.properties, kept.inputs);
            this.#doomed = this.#doomed.filter((other) => other !== kept);
            return "deleted";
          }),
      ),
    ]);
    return { outcomes, failures };
  }

  /** Runs `pulumi refresh --preview-only`: reads each resource in the process of the last run. */
  async read(): Promise<Map<string, ResourceProperties | undefined>> {
    const readProperties = new Map<string, ResourceProperties | undefined>();
    const provider = this.#process ?? (await this.#nextRun());
    await Promise.all(
      [...this.#resources].map(async ([name, { handler, id, properties, inputs }]) => {
        const resource = provider.getResource(handler, name);
        readProperties.set(name, (await resource.read(id, properties, inputs))?.properties);
      }),
    );
    return readProperties;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process?.[Symbol.asyncDispose]();
  }

  async #nextRun(): Promise<ProviderProcess> {
    await this.#process?.[Symbol.asyncDispose]();
    this.#process = await ProviderProcess.start(this.#options);
    return this.#process;
  }

  async #bring(
    name: string,
    { handler, args }: ProgramResource,
    { provider, onStep }: { provider: ProviderProcess; onStep: () => void },
  ): Promise<ResourceOutcome> {
    const resource = provider.getResource(handler, name);
    const check = async (olds?: ResourceProperties): Promise<ResourceProperties> => {
      const { inputs, failures } = await resource.check(args, olds);
      if (Object.keys(failures).length > 0) throw new Error(JSON.stringify(failures));
      return inputs;
    };
    const create = async (inputs: ResourceProperties): Promise<void> => {
      onStep();
      try {
        const createdResource = await resource.create(inputs);
        this.#resources.set(name, { handler, ...createdResource, inputs, isHalfMade: false });
      } catch (error) {
        if (error instanceof InitFailed) {
          const { id, properties } = error;
          this.#resources.set(name, { handler, id, inputs, properties, isHalfMade: true });
        }
        throw error;
      }
    };
    const before = this.#resources.get(name);
    if (before === undefined) {
      await create(await check());
      return "created";
    }
    const inputs = await check(before.inputs);
    const { changes, replaces } = await resource.diff(before.id, before.properties, inputs, before.inputs);
    if (replaces.length > 0) {
      try {
        await create(await check());
      } finally {
        if (this.#resources.get(name) !== before) this.#doomed = [...this.#doomed, before];
      }
      return "replaced";
    }
    if (!changes && !before.isHalfMade) {
      this.#resources.set(name, { ...before, inputs });
      return "same";
    }
    onStep();
    try {
      const properties = await resource.update(before.id, before.properties, inputs, before.inputs);
      this.#resources.set(name, { ...before, inputs, properties, isHalfMade: false });
      return "updated";
    } catch (error) {
      if (error instanceof InitFailed) {
        // After a partly failed update, the engine keeps the inputs of the previous run.
        const { id, properties } = error;
        this.#resources.set(name, { ...before, id, properties, isHalfMade: true });
      }
      throw error;
    }
  }
}

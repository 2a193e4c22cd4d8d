import type { CompletedCommand } from "#bench/command";
import { type Bench, computeStatePerEntry, type Operation, type StateSize } from "#bench/measurement";
import { BenchProject } from "#bench/pulumi-project";
import { BenchService, type Requests } from "#bench/service";

export interface Subject {
  readonly count: number;
  /** Returns the source of a program that declares `count` entries. */
  program(count: number): string;
  /** Extra environment variables for the first `up`. */
  readonly environment?: Record<string, string>;
  readonly variant?: string;
}

/**
 * Measures the first `up`, `up` with nothing to do (without and with a refresh first), and `refresh` of a program, on a
 * new service and a new stack; also measures how much an entry adds to its state.
 */
export async function measureOperations(bench: Bench, subject: Subject): Promise<void> {
  const { count, program, environment, variant } = subject;
  await using service = await BenchService.start();
  await using project = await BenchProject.create(program(count), service.environment);
  const recordOperation = async (operation: Operation, work: () => Promise<CompletedCommand>): Promise<void> => {
    const { seconds, requests } = await countRequests(service, work);
    bench.record({ operation, count, seconds, requests, ...(variant && { variant }) });
  };

  await recordOperation("first up", () => project.up({ environment }));
  await recordOperation("no-op up", () => project.upUnchanged());
  await recordOperation("looking up", () => project.upAfterRefresh());
  await recordOperation("refresh", () => project.refresh());
  if (bench.isStateKnown) return;
  const listState = await project.measureState();
  const entryState = await measureSingleEntryState(subject);
  bench.record({
    operation: "state",
    count,
    stateAnEntry: computeStatePerEntry(listState, count, entryState),
    ...(variant && { variant }),
  });
}

/** Measures how much one entry adds to a program's state, without any times. */
export async function measureState(bench: Bench, subject: Subject): Promise<void> {
  if (bench.isStateKnown) return;
  const { count, program, variant } = subject;
  await using service = await BenchService.start();
  await using project = await BenchProject.create(program(count), service.environment);
  await project.up({ environment: subject.environment });
  const added = computeStatePerEntry(await project.measureState(), count, await measureSingleEntryState(subject));
  bench.record({ operation: "state", count, stateAnEntry: added, ...(variant && { variant }) });
}

async function measureSingleEntryState({ program }: Subject): Promise<StateSize> {
  await using service = await BenchService.start();
  await using project = await BenchProject.create(program(1), service.environment);
  await project.up();
  return await project.measureState();
}

/** Runs an action and counts the requests to the service meanwhile. */
export async function countRequests(
  service: BenchService,
  work: () => Promise<CompletedCommand>,
): Promise<CompletedCommand & { requests: Requests }> {
  const before = await service.countRequests();
  const finished = await work();
  const after = await service.countRequests();
  const requests = { reads: after.reads - before.reads, writes: after.writes - before.writes };
  return { ...finished, requests };
}

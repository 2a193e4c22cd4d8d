import fc from "fast-check";
import type { Company } from "./company";
import { aChangeInConsole, aConsoleEdit, type ConsoleEdit, performConsoleEdit } from "./console-edits";
import {
  checkEveryRun,
  checkQuietRun,
  DeclarationHistory,
  findObstacles,
  findProgramMistakes,
  isContested,
  parseHoldings,
  type RunFacts,
  readModelTenant,
} from "./guarantees";
import {
  aBeginning,
  aProgramEdit,
  applyProgramEdit,
  buildDeclarations,
  entryEdit,
  formatEntryKey,
  type ModelProgram,
  NOTHING,
  type ProgramEdit,
} from "./program";
import type { ModelStack, StackRun, StackRunOptions } from "./stack";

/** A tenant's sequence: its initial contents, followed by rounds of edits on both sides and runs. */
export interface RunSequence {
  readonly first: { readonly program: readonly ProgramEdit[]; readonly console: readonly ConsoleEdit[] };
  readonly rounds: readonly SequenceRound[];
}

interface SequenceRound {
  readonly program: readonly ProgramEdit[];
  readonly console: readonly ConsoleEdit[];
  /** Changes that both sides make to the same entry. */
  readonly clash: Clash | undefined;
  /**
   * A run in which the colleague acts at the given requests. Any result is acceptable unless it violates a guarantee.
   */
  readonly concurrentRun: (StackRunOptions & { readonly at: readonly ConcurrentEdit[] }) | undefined;
  /** The options of the run without concurrent console changes. */
  readonly quietOptions: Pick<StackRunOptions, "parallel" | "preview">;
}

interface Clash {
  readonly console: ConsoleEdit;
  readonly program: Extract<ProgramEdit, { readonly pick: number }>;
}

interface ConcurrentEdit {
  /** The number of the request; the action takes place before its answer. */
  readonly request: number;
  readonly edit: ConsoleEdit;
}

const runOptions = { parallel: fc.boolean(), preview: fc.boolean() };

const anyRound: fc.Arbitrary<SequenceRound> = fc.record({
  program: fc.array(aProgramEdit, { minLength: 1, maxLength: 4 }),
  console: fc.array(aConsoleEdit, { maxLength: 3 }),
  clash: fc.option(fc.record({ console: aChangeInConsole, program: entryEdit }), {
    nil: undefined,
    freq: 1,
  }) as fc.Arbitrary<Clash | undefined>,
  concurrentRun: fc.option(
    fc.record({
      ...runOptions,
      refresh: fc.boolean(),
      at: fc.array(fc.record({ request: fc.integer({ min: 1, max: 12 }), edit: aConsoleEdit }), {
        maxLength: 3,
      }),
    }),
    { nil: undefined },
  ),
  quietOptions: fc.record(runOptions),
});

export function generateRunSequence({ rounds }: { readonly rounds: number }): fc.Arbitrary<RunSequence> {
  return fc.record({
    first: fc.record({
      program: fc.array(aBeginning, { maxLength: 7 }),
      console: fc.array(aConsoleEdit, { maxLength: 4 }),
    }),
    rounds: fc.array(anyRound, { minLength: 1, maxLength: rounds }),
  });
}

/**
 * Plays a sequence and checks every run against the guarantees.
 *
 * @throws {Error} with the whole sequence as text, and the violated guarantees.
 */
export async function playRuns(sequence: RunSequence, company: Company, stack: ModelStack): Promise<void> {
  const runner = new SequenceRunner(company, stack);
  for (const edit of sequence.first.console) await runner.console(edit);
  for (const edit of sequence.first.program) runner.edit(edit);
  for (const [index, { program, console, clash, concurrentRun, quietOptions }] of sequence.rounds.entries()) {
    for (const edit of console) await runner.console(edit);
    if (clash !== undefined) await runner.clash(clash);
    for (const edit of program) runner.edit(edit);
    if (concurrentRun !== undefined) await runner.runWithConcurrentEdits(concurrentRun, concurrentRun.at);
    await runner.settle({ ...quietOptions, refresh: true }, index === sequence.rounds.length - 1);
  }
}

/** The maximum number of times that obstacles are removed before a run must succeed. */
const MAX_ATTEMPTS = 4;

class SequenceRunner {
  readonly #company: Company;
  readonly #stack: ModelStack;
  readonly #memory = new DeclarationHistory();
  readonly #log: string[] = [];
  #program: ModelProgram = NOTHING;
  #lastGood: ModelProgram = NOTHING;

  constructor(company: Company, stack: ModelStack) {
    this.#company = company;
    this.#stack = stack;
  }

  edit(edit: ProgramEdit): void {
    this.#program = applyProgramEdit(this.#program, edit);
  }

  async clash({ console, program }: Clash): Promise<void> {
    const { entries } = this.#program;
    const entry = entries[program.pick % Math.max(1, entries.length)];
    const actual = readModelTenant(this.#company).entries.find(
      ({ key }) => entry !== undefined && key === formatEntryKey(entry),
    );
    const row = this.#company.listEntries().find(({ id }) => id === actual?.id);
    if (row !== undefined) this.#log.push(await performConsoleEdit(this.#company, console, row));
    this.edit(program);
  }

  async console(edit: ConsoleEdit): Promise<void> {
    this.#log.push(await performConsoleEdit(this.#company, edit));
  }

  /** Runs while the console makes changes. */
  async runWithConcurrentEdits(options: StackRunOptions, edits: readonly ConcurrentEdit[]): Promise<void> {
    let requests = 0;
    this.#company.setRequestHook(async () => {
      requests += 1;
      const now = requests;
      for (const { request, edit } of edits) {
        if (request === now) this.#log.push(`  at request ${now}, ${await performConsoleEdit(this.#company, edit)}`);
      }
    });
    const facts = await this.#run(options);
    this.#company.setRequestHook(undefined);
    this.#assertNone(checkEveryRun(facts));
    this.#memory.learn(facts);
  }

  /** Runs until the program is applied or turns out to be a mistake; then once more, which must change nothing. */
  async settle(options: StackRunOptions, isLast: boolean): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const facts = await this.#run(options);
      this.#assertNone([...checkEveryRun(facts), ...checkQuietRun(facts)]);
      this.#memory.learn(facts);
      if (facts.run.result === "ok" && !isContested(facts)) break;
      if (findProgramMistakes(this.#program, facts.holdings).length > 0) {
        // The person sees the mistake and reverts the program.
        this.#program = this.#lastGood;
        return;
      }
      if (attempt === MAX_ATTEMPTS) this.#assertNone(["it does not come to an end"]);
      await this.#removeObstacles(facts);
    }
    this.#lastGood = this.#program;
    const again = await this.#run({ ...options, refresh: false });
    this.#assertNone([...checkEveryRun(again), ...checkRepeatedRun(again)]);
    if (!isLast && !Object.values(this.#program.lists).some(({ mode }) => mode !== "additive")) return;
    // After a refresh, an exclusive list shows undeclared entries; the next run removes them, and then nothing changes
    // any more.
    const output = await this.#run(options);
    this.#assertNone([...checkEveryRun(output), ...checkQuietRun(output)]);
    const hasShown = [...output.holdings.entries, ...output.holdings.vips].some((entry) => entry.isUnmanaged);
    if (!hasShown && output.run.result === "ok") this.#assertNone(checkRepeatedRun(output));
  }

  async #removeObstacles({ program, before, holdings, after }: RunFacts): Promise<void> {
    for (const { entry, email, duplicate } of findObstacles(program, before, holdings)) {
      if (duplicate !== undefined) {
        this.#program = {
          ...this.#program,
          entries: this.#program.entries.filter((placedEntry) => placedEntry !== duplicate),
        };
      }
      if (email !== undefined) {
        this.#program = { ...this.#program, vips: this.#program.vips.filter((vip) => vip.email !== email) };
      }
      if (entry === undefined || !after.entries.some(({ id }) => id === entry.id)) continue;
      await this.#company.sendFromConsole("DELETE", `/allow_deny_entries/${entry.id}`);
      this.#log.push(`console: delete ${entry.list} ${entry.key}, an obstacle`);
    }
  }

  async #run(options: StackRunOptions): Promise<RunFacts> {
    const program = this.#program;
    this.#memory.declare(program);
    const before = readModelTenant(this.#company);
    const auditLength = this.#company.auditLength;
    const stackItems = await this.#stack.listResources();
    this.#company.takeRequests();
    const declared = buildDeclarations(program);
    const run = await this.#stack.up(declared, options);
    const history = this.#company.readHistory(auditLength);
    const facts: RunFacts = {
      program,
      before,
      after: readModelTenant(this.#company),
      holdings: parseHoldings(run.refreshed ?? stackItems),
      holdingsAfter: parseHoldings(await this.#stack.listResources()),
      run,
      isPreviewed: options.preview,
      audit: history.filter(({ keyLabel }) => keyLabel === "ci"),
      history,
      requests: this.#company.takeRequests(),
      memory: this.#memory,
    };
    this.#log.push(describeRun(facts, options));
    return facts;
  }

  #assertNone(broken: readonly string[]): void {
    if (broken.length === 0) return;
    throw new Error(
      `\n${this.#log.join("\n")}\nThe tenant:\n${formatLines(readModelTenant(this.#company))}\n\nBROKEN:\n- ${broken.join("\n- ")}`,
    );
  }
}

/** A run directly after one without changes must do nothing. */
function checkRepeatedRun({ run, audit, requests }: RunFacts): string[] {
  const broken: string[] = [];
  if (run.result !== "ok") broken.push(`the run after it ${run.result}: ${run.messages.join("\n")}`);
  if (run.steps.length > 0) broken.push(`the run after it has steps: ${run.steps.join(", ")}`);
  const writes = requests.filter(({ method }) => method !== "GET").length;
  if (audit.length + writes > 0) broken.push(`the run after it makes ${writes} writes`);
  return broken;
}

function describeRun({ program, run, audit, holdings }: RunFacts, options: StackRunOptions): string {
  const declared = buildDeclarations(program).map(
    ({ kind, name, args }) => `    ${kind} ${name} ${JSON.stringify(args)}`,
  );
  const flags = [
    options.refresh ? "--refresh" : "",
    options.preview ? "" : "--skip-preview",
    options.parallel ? "" : "--parallel 1",
  ].filter((flag) => flag !== "");
  const state = [...holdings.entries, ...holdings.vips].map(
    ({ resource, key, list, comment, isUnmanaged }) =>
      `${resource}: ${isUnmanaged ? "(unmanaged) " : ""}${list} ${key} "${comment}"`,
  );
  const writes = audit.map(
    ({ action, before, after }) => `    ${action} ${formatShortly(before)} -> ${formatShortly(after)}`,
  );
  return [
    `up ${flags.join(" ")}`,
    ...declared,
    `  state: ${state.join(", ")}`,
    ...writes,
    `  ${describeOutcome(run)}`,
  ].join("\n");
}

function describeOutcome({ result, steps, messages }: StackRun): string {
  return `${result}: ${steps.join(", ") || "no steps"}${messages.map((message) => `\n    ${message}`).join("")}`;
}

function formatShortly(row: unknown): string {
  if (row === null) return "nothing";
  const { created_at, created_by, date_added, updated_at, added_by, ...rest } = row as Record<string, unknown>;
  return JSON.stringify(rest);
}

function formatLines(tenant: object): string {
  return Object.entries(tenant)
    .map(([name, rows]) => `  ${name}: ${JSON.stringify(rows)}`)
    .join("\n");
}

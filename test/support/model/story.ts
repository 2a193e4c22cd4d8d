import fc from "fast-check";
import { aChangeInConsole, aConsoleEdit, type ConsoleEdit, doInConsole } from "./colleague";
import type { Company } from "./company";
import {
  aBeginning,
  aChangeOfEntry,
  aProgramEdit,
  edited,
  keyOf,
  NOTHING,
  type Program,
  type ProgramEdit,
  resourcesOf,
} from "./program";
import {
  brokenAlways,
  brokenWhenQuiet,
  holdingsOf,
  isContested,
  Memory,
  mistakesIn,
  obstaclesOf,
  type RunFacts,
  tenantOf,
} from "./promises";
import type { Run, RunOptions, Stack } from "./stack";

/** A tenant's story: what is there first, and then, again and again, edits on both sides and runs. */
export interface Story {
  readonly first: { readonly program: readonly ProgramEdit[]; readonly console: readonly ConsoleEdit[] };
  readonly chapters: readonly Chapter[];
}

interface Chapter {
  readonly program: readonly ProgramEdit[];
  readonly console: readonly ConsoleEdit[];
  /** What both sides do to one and the same entry. */
  readonly clash: Clash | undefined;
  /** A run into which the colleague meddles, at the given requests; it may come to anything but harm. */
  readonly meddled: (RunOptions & { readonly at: readonly Meddling[] }) | undefined;
  /** How the run is made that nobody meddles with. */
  readonly quiet: Pick<RunOptions, "parallel" | "preview">;
}

interface Clash {
  readonly console: ConsoleEdit;
  readonly program: Extract<ProgramEdit, { readonly pick: number }>;
}

interface Meddling {
  /** The number of the request before whose answer it happens. */
  readonly request: number;
  readonly edit: ConsoleEdit;
}

const runOptions = { parallel: fc.boolean(), preview: fc.boolean() };

const aChapter: fc.Arbitrary<Chapter> = fc.record({
  program: fc.array(aProgramEdit, { minLength: 1, maxLength: 4 }),
  console: fc.array(aConsoleEdit, { maxLength: 3 }),
  clash: fc.option(fc.record({ console: aChangeInConsole, program: aChangeOfEntry }), {
    nil: undefined,
    freq: 1,
  }) as fc.Arbitrary<Clash | undefined>,
  meddled: fc.option(
    fc.record({
      ...runOptions,
      refresh: fc.boolean(),
      at: fc.array(fc.record({ request: fc.integer({ min: 1, max: 12 }), edit: aConsoleEdit }), {
        maxLength: 3,
      }),
    }),
    { nil: undefined },
  ),
  quiet: fc.record(runOptions),
});

export function aStory({ chapters }: { readonly chapters: number }): fc.Arbitrary<Story> {
  return fc.record({
    first: fc.record({
      program: fc.array(aBeginning, { maxLength: 7 }),
      console: fc.array(aConsoleEdit, { maxLength: 4 }),
    }),
    chapters: fc.array(aChapter, { minLength: 1, maxLength: chapters }),
  });
}

/**
 * Plays a story and holds each run to what is promised.
 *
 * @throws {Error} with the whole story, in words, and what was broken.
 */
export async function play(story: Story, company: Company, stack: Stack): Promise<void> {
  const teller = new Teller(company, stack);
  for (const edit of story.first.console) await teller.console(edit);
  for (const edit of story.first.program) teller.edit(edit);
  for (const [at, { program, console, clash, meddled, quiet }] of story.chapters.entries()) {
    for (const edit of console) await teller.console(edit);
    if (clash !== undefined) await teller.clash(clash);
    for (const edit of program) teller.edit(edit);
    if (meddled !== undefined) await teller.runMeddled(meddled, meddled.at);
    await teller.settle({ ...quiet, refresh: true }, at === story.chapters.length - 1);
  }
}

/** How often obstacles are taken out of the way before a run must succeed. */
const MOST_TRIES = 4;

class Teller {
  readonly #company: Company;
  readonly #stack: Stack;
  readonly #memory = new Memory();
  readonly #told: string[] = [];
  #program: Program = NOTHING;
  #lastGood: Program = NOTHING;

  constructor(company: Company, stack: Stack) {
    this.#company = company;
    this.#stack = stack;
  }

  edit(edit: ProgramEdit): void {
    this.#program = edited(this.#program, edit);
  }

  async clash({ console, program }: Clash): Promise<void> {
    const { entries } = this.#program;
    const entry = entries[program.pick % Math.max(1, entries.length)];
    const there = tenantOf(this.#company).entries.find(({ key }) => entry !== undefined && key === keyOf(entry));
    const row = this.#company.entries().find(({ id }) => id === there?.id);
    if (row !== undefined) this.#told.push(await doInConsole(this.#company, console, row));
    this.edit(program);
  }

  async console(edit: ConsoleEdit): Promise<void> {
    this.#told.push(await doInConsole(this.#company, edit));
  }

  /** A run during which the console goes on. */
  async runMeddled(options: RunOptions, at: readonly Meddling[]): Promise<void> {
    let requests = 0;
    this.#company.atRequest(async () => {
      requests += 1;
      const now = requests;
      for (const { request, edit } of at) {
        if (request === now) this.#told.push(`  at request ${now}, ${await doInConsole(this.#company, edit)}`);
      }
    });
    const facts = await this.#run(options);
    this.#company.atRequest(undefined);
    this.#hold(brokenAlways(facts));
    this.#memory.learn(facts);
  }

  /** Runs until the program is brought about, or is seen to be a mistake; then once more, for nothing. */
  async settle(options: RunOptions, isLast: boolean): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      const facts = await this.#run(options);
      this.#hold([...brokenAlways(facts), ...brokenWhenQuiet(facts)]);
      this.#memory.learn(facts);
      if (facts.run.result === "ok" && !isContested(facts)) break;
      if (mistakesIn(this.#program, facts.holdings).length > 0) {
        // Who sees that takes it back.
        this.#program = this.#lastGood;
        return;
      }
      if (tries === MOST_TRIES) this.#hold(["it does not come to an end"]);
      await this.#clearTheWay(facts);
    }
    this.#lastGood = this.#program;
    const again = await this.#run({ ...options, refresh: false });
    this.#hold([...brokenAlways(again), ...brokenIfNotEmpty(again)]);
    if (!isLast && !Object.values(this.#program.lists).some(({ mode }) => mode !== "additive")) return;
    // An exclusive list shows at a refresh what else there is, and removes it; and then it is quiet.
    const shown = await this.#run(options);
    this.#hold([...brokenAlways(shown), ...brokenWhenQuiet(shown)]);
    const hasShown = [...shown.holdings.entries, ...shown.holdings.vips].some((one) => one.isUnmanaged);
    if (!hasShown && shown.run.result === "ok") this.#hold(brokenIfNotEmpty(shown));
  }

  async #clearTheWay({ program, before, holdings, after }: RunFacts): Promise<void> {
    for (const { entry, email, twin } of obstaclesOf(program, before, holdings)) {
      if (twin !== undefined) {
        this.#program = { ...this.#program, entries: this.#program.entries.filter((one) => one !== twin) };
      }
      if (email !== undefined) {
        this.#program = { ...this.#program, vips: this.#program.vips.filter((one) => one.email !== email) };
      }
      if (entry === undefined || !after.entries.some(({ id }) => id === entry.id)) continue;
      await this.#company.console("DELETE", `/allow_deny_entries/${entry.id}`);
      this.#told.push(`console: delete ${entry.list} ${entry.key}, which was in the way`);
    }
  }

  async #run(options: RunOptions): Promise<RunFacts> {
    const program = this.#program;
    this.#memory.declare(program);
    const before = tenantOf(this.#company);
    const auditLength = this.#company.auditLength;
    const held = await this.#stack.held();
    this.#company.takeRequests();
    const declared = resourcesOf(program);
    const run = await this.#stack.up(declared, options);
    const history = this.#company.history(auditLength);
    const facts: RunFacts = {
      program,
      before,
      after: tenantOf(this.#company),
      holdings: holdingsOf(run.refreshed ?? held),
      holdingsAfter: holdingsOf(await this.#stack.held()),
      run,
      isPreviewed: options.preview,
      audit: history.filter(({ keyLabel }) => keyLabel === "ci"),
      history,
      requests: this.#company.takeRequests(),
      memory: this.#memory,
    };
    this.#told.push(describeRun(facts, options));
    return facts;
  }

  #hold(broken: readonly string[]): void {
    if (broken.length === 0) return;
    throw new Error(
      `\n${this.#told.join("\n")}\nThe tenant:\n${inLines(tenantOf(this.#company))}\n\nBROKEN:\n- ${broken.join("\n- ")}`,
    );
  }
}

/** A run after which nothing had changed does nothing. */
function brokenIfNotEmpty({ run, audit, requests }: RunFacts): string[] {
  const broken: string[] = [];
  if (run.result !== "ok") broken.push(`the run after it ${run.result}: ${run.messages.join("\n")}`);
  if (run.steps.length > 0) broken.push(`the run after it has steps: ${run.steps.join(", ")}`);
  const writes = requests.filter(({ method }) => method !== "GET").length;
  if (audit.length + writes > 0) broken.push(`the run after it makes ${writes} writes`);
  return broken;
}

function describeRun({ program, run, audit, holdings }: RunFacts, options: RunOptions): string {
  const declared = resourcesOf(program).map(({ kind, name, args }) => `    ${kind} ${name} ${JSON.stringify(args)}`);
  const flags = [
    options.refresh ? "--refresh" : "",
    options.preview ? "" : "--skip-preview",
    options.parallel ? "" : "--parallel 1",
  ].filter((flag) => flag !== "");
  const state = [...holdings.entries, ...holdings.vips].map(
    ({ by, key, list, comment, isUnmanaged }) =>
      `${by}: ${isUnmanaged ? "(unmanaged) " : ""}${list} ${key} "${comment}"`,
  );
  const writes = audit.map(({ action, before, after }) => `    ${action} ${shortly(before)} -> ${shortly(after)}`);
  return [
    `up ${flags.join(" ")}`,
    ...declared,
    `  state: ${state.join(", ")}`,
    ...writes,
    `  ${describeOutcome(run)}`,
  ].join("\n");
}

function describeOutcome({ result, steps, messages }: Run): string {
  return `${result}: ${steps.join(", ") || "no steps"}${messages.map((message) => `\n    ${message}`).join("")}`;
}

function shortly(row: unknown): string {
  if (row === null) return "nothing";
  const { created_at, created_by, date_added, updated_at, added_by, ...rest } = row as Record<string, unknown>;
  return JSON.stringify(rest);
}

function inLines(tenant: object): string {
  return Object.entries(tenant)
    .map(([name, rows]) => `  ${name}: ${JSON.stringify(rows)}`)
    .join("\n");
}

import { writeFileSync } from "node:fs";
import fc from "fast-check";
import { expect, it } from "vitest";
import { SettingsClient } from "../../../provider/client";
import { getHost } from "../../../provider/gitops/plan-tenant";
import { parseListPattern } from "../../../provider/model/list-pattern";
import { buildDesiredState, type StackList, type StackLists } from "../../../provider/plan/desired-state";
import { buildEmptyEvidence } from "../../../provider/plan/mail-evidence";
import { makePlan } from "../../../provider/plan/make-plan";
import { readObservedState } from "../../../provider/plan/observed-state";
import type { Plan, PlanChange, PlanEntryState } from "../../../provider/plan/plan";
import { formatPlanJson } from "../../../provider/plan/render/plan-json";
import { toEntryArguments, toMemberArguments } from "../../../provider/settings-files/declaration-parser";
import { readSettings } from "../../../provider/settings-files/read-settings";
import type { Settings } from "../../../provider/settings-files/settings-model";
import { ManagedResource, type ResourceUpResult, type RunServer } from "../../support/managed-resource";
import { getPropertyOptions, getRunCount, getTimeLimit, selectSize } from "../../support/matrix-sampling";
import { Companies, type Company } from "../../support/model/company";
import { aConsoleEdit, type ConsoleEdit, performConsoleEdit } from "../../support/model/console-edits";
import { formatEntryKey } from "../../support/model/program";
import { canonicalize, getEntryType } from "../../support/model/sample-values";
import { ProviderProcess } from "../../support/provider-process";
import { createTestDirectory, type TestDirectory } from "../../support/test-directory";
import { InProcessProvider } from "./in-process-provider";
import {
  applyEdit,
  aSettingsEdit,
  type DeclaredSettings,
  formatSettings,
  listDeclaredKeys,
  NOTHING_DECLARED,
  type SettingsEdit,
} from "./settings-edit";

/**
 * A fixed seed, so that every `npm test` runs the same sequences and doesn't fail one day after passing the day before.
 */
const SEED = { seed: 20_261_121 };

/** Successive dates, so that entries with an expiry date expire in between. */
const DAYS = ["2026-11-21", "2026-11-28", "2026-12-05"];

interface PlanRound {
  /** Whether the stack is refreshed before the console is used. */
  readonly refreshes: boolean;
  readonly console: readonly ConsoleEdit[];
  readonly settings: readonly SettingsEdit[];
  /** Whether the run enforces the plan. */
  readonly isHeld: boolean;
  /** The index of the planned change that the console makes stale before a run that enforces the plan. */
  readonly staleChange: number | undefined;
}

const anySequence: fc.Arbitrary<readonly PlanRound[]> = fc
  .tuple(
    ...DAYS.map((_, index) =>
      fc.record({
        refreshes: fc.boolean(),
        console: fc.array(aConsoleEdit, { maxLength: index === 0 ? 6 : 4 }),
        settings: fc.array(aSettingsEdit, { minLength: index === 0 ? 2 : 0, maxLength: index === 0 ? 9 : 5 }),
        isHeld: fc.boolean(),
        staleChange: fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.nat(20) }),
      }),
    ),
  )
  .map((rounds) => rounds);

const QUIET: PlanRound = { refreshes: false, console: [], settings: [], isHeld: false, staleChange: undefined };

const buildEntryEdit = (list: "allow" | "deny", scope: "global" | "graymail", comment = ""): SettingsEdit => ({
  edit: "entry",
  entry: {
    value: "evil.example",
    scope,
    list,
    comment,
    expires: undefined,
    acceptRisk: undefined,
    spelling: 0,
  },
});

/** Sequences that random generation rarely produces. */
const RARE_SEQUENCES: readonly (readonly PlanRound[])[] = [
  // Two scopes of a value move to the other list, and an entry that the state doesn't know conflicts with them.
  [
    { ...QUIET, settings: [buildEntryEdit("deny", "global")] },
    {
      ...QUIET,
      console: [{ console: "add", list: "deny", value: "evil.example", scope: "graymail", comment: "INC-1" }],
      settings: [buildEntryEdit("allow", "global"), buildEntryEdit("allow", "graymail")],
    },
  ],
  // A refresh shows an exclusive list an entry that is then declared with another comment.
  [
    {
      ...QUIET,
      settings: [{ edit: "entries options", options: { mode: "exclusive", maxRemovalFraction: 1 } }],
    },
    {
      ...QUIET,
      console: [{ console: "add", list: "deny", value: "evil.example", scope: "global", comment: "INC-1" }],
      settings: [buildEntryEdit("deny", "global", "INC-2")],
    },
  ],
];

type StartProvider = (company: Company, environment: Record<string, string>) => Promise<RunServer & AsyncDisposable>;

const createInProcessProvider: StartProvider = async (company, environment) =>
  new InProcessProvider(company, environment);

const startOwnProvider: StartProvider = async ({ url, apiKey }, environment) =>
  await ProviderProcess.start({
    environment: { EMAIL_SECURITY_BASE_URL: url, EMAIL_SECURITY_API_KEY: apiKey, ...environment },
  });

/* A failure prints its seed and path. Pass them to fast-check as `seed` and `path` to replay only that sequence. */

it.each([
  {
    location: "in this process, values as canonical",
    begin: createInProcessProvider,
    propertyOptions: getPropertyOptions("plan-sequences", { numRuns: getRunCount(32), ...SEED }),
    echoValue: "canonical",
  },
  {
    location: "in this process, values as sent",
    begin: createInProcessProvider,
    propertyOptions: getPropertyOptions("plan-as-sent", { numRuns: getRunCount(8), ...SEED }),
    echoValue: "as-sent",
  },
  {
    location: "in the real provider process",
    begin: startOwnProvider,
    propertyOptions: getPropertyOptions("plan-processes", { numRuns: 1, ...SEED }),
    echoValue: "canonical",
  },
] as const)(
  "plans exactly what the next run does, $location",
  { timeout: getTimeLimit(300_000) },
  async ({ begin, propertyOptions, echoValue }) => {
    await using companies = new Companies({ echoValue });
    const property = fc.asyncProperty(fc.noBias(anySequence), async (sequence) => {
      // Starting a process for each run is expensive.
      const isShort = begin === startOwnProvider && selectSize("plan-processes", false, true);
      await runSequence(isShort ? sequence.slice(0, 2) : sequence, await companies.next(), begin);
    });
    const { seed, counterexamplePath, counterexample, errorInstance } = await fc.check(property, {
      ...propertyOptions,
      examples: begin === createInProcessProvider ? RARE_SEQUENCES.map((sequence) => [sequence]) : [],
    });
    const failure = errorInstance instanceof Error ? errorInstance.message : "";
    const sequence = failure === "" ? "" : `\n${JSON.stringify(counterexample)}`;
    expect(failure, `seed ${seed}, path ${counterexamplePath}${sequence}`).toBe("");
  },
);

async function runSequence(sequence: readonly PlanRound[], company: Company, begin: StartProvider): Promise<void> {
  using directory = createTestDirectory({});
  const client = new SettingsClient({ baseUrl: company.url, apiKey: company.apiKey });
  const runner = new PlanSequenceRunner(company, client, directory, begin);
  try {
    for (const [index, round] of sequence.entries()) await runner.play(round, DAYS[index] ?? "");
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${runner.log.join("\n")}`, { cause: error });
  } finally {
    await client.close();
  }
}

/** The handlers of both lists, by the kind of a planned change. */
const HANDLERS = { entry: "allowDenyList", vip: "vipList" } as const;
type ListKind = keyof typeof HANDLERS;
const KINDS: readonly ListKind[] = ["entry", "vip"];

/** A stack with a `TenantSettings` and its company. */
class PlanSequenceRunner {
  readonly log: string[] = [];
  readonly #company: Company;
  readonly #client: SettingsClient;
  readonly #directory: TestDirectory;
  readonly #begin: StartProvider;
  readonly #run: { provider: RunServer };
  readonly #lists: Readonly<Record<ListKind, ManagedResource>>;
  #declared: DeclaredSettings = NOTHING_DECLARED;

  constructor(company: Company, client: SettingsClient, directory: TestDirectory, begin: StartProvider) {
    this.#company = company;
    this.#client = client;
    this.#directory = directory;
    this.#begin = begin;
    this.#run = { provider: undefined as unknown as RunServer };
    const createManagedList = (kind: ListKind) => new ManagedResource(this.#run, HANDLERS[kind], { sharesRuns: true });
    this.#lists = { entry: createManagedList("entry"), vip: createManagedList("vip") };
  }

  async play({ refreshes, console, settings, isHeld, staleChange }: PlanRound, today: string): Promise<void> {
    if (refreshes) await this.#refresh();
    for (const edit of console) this.log.push(await performConsoleEdit(this.#company, edit));
    this.#declared = settings.reduce(applyEdit, this.#declared);
    this.#directory.write("acme.yaml", formatSettings(this.#declared, today));
    const read = readSettings(this.#directory.at("acme.yaml"), { today });
    this.log.push(`declared on ${today}: ${JSON.stringify(read.lists)}`);
    for (const { key, text } of [...read.entries, ...read.vips]) this.log.push(`  ${key}: ${text}`);

    if (staleChange !== undefined) await this.#makeStale(staleChange, read);
    const before = this.#holds();
    const plan = await this.#plan(read);
    const ups = await this.#up(read, isHeld ? plan : undefined);
    const after = this.#holds();
    this.#compare(plan, ups, listDifferences(before, after));
    const isDone = plan.blockers.length === 0;
    this.#compareRest(plan, read, today, before, isDone);
    if (isDone) await this.#compareNext(plan, read);
  }

  /** Asserts that the plan contains exactly the changes that were made, or the reasons why they weren't. */
  #compare(
    { changes, blockers }: Plan,
    ups: Readonly<Record<ListKind, ResourceUpResult>>,
    done: readonly string[],
  ): void {
    const planned: string[] = [];
    for (const kind of KINDS) {
      const { outcome, failures, reasons } = ups[kind];
      const messages = [...Object.entries(failures).flat(), ...reasons].join("\n");
      const own = blockers.filter(({ message }) => /^The VIP list/.test(message) === (kind === "vip"));
      const refusals = own.map(({ code }) => code).filter((code) => code !== "exists");
      expect(outcome === "refused" ? listBlockerKinds(failures) : [], `refusals of ${kind}: ${messages}`).toEqual(
        [...new Set(refusals)].sort(),
      );
      if (outcome === "refused") continue;
      const lines = changes.filter((change) => change.kind === kind).map(changeLine);
      const exist = own.length - refusals.length;
      // Changes that wait for a conflicting entry are reported too.
      expect(/ERR_EXISTS/.test(messages), `what is there already, of ${kind}: ${messages}`).toBe(exist > 0);
      if (exist === 0) {
        expect(["created", "updated", "same"], `${kind}: ${messages}`).toContain(outcome);
        planned.push(...lines);
        continue;
      }
      // Conflicting entries stay, and the changes that they block aren't made.
      const ownLines = done.filter((line) => line.startsWith(`${kind} `));
      expect(lines).toEqual(expect.arrayContaining(ownLines));
      planned.push(...ownLines);
    }
    expect(done).toEqual(planned.sort());
  }

  /** Compares the parts of a plan about unchanged entries. */
  #compareRest(
    { changes, unmanaged, counts }: Plan,
    { lists }: Settings,
    today: string,
    before: ReadonlyMap<string, string>,
    isDone: boolean,
  ): void {
    const touched = new Set(changes.map(({ kind, key }) => `${kind} ${key}`));
    const declared = listDeclaredKeys(this.#declared, today);
    expect(counts.unchanged, "unchanged").toBe(declared.filter((key) => !touched.has(key)).length);
    const isIgnored = (name: string, text: string): boolean => {
      const [kind = "", key = ""] = name.split(" ");
      const target = kind === "vip" ? { value: key } : { value: key, list: text.split(":")[0] as "deny" };
      return (lists[kind === "vip" ? "vips" : "entries"]?.ignore ?? []).some((candidate) => {
        const pattern = parseListPattern(candidate);
        return pattern.ok && pattern.value.matches(target);
      });
    };
    const untouchedRows = [...before].filter(
      ([name, text]) =>
        !touched.has(name) && !declared.includes(name) && text !== "VIP (auto)" && !isIgnored(name, text),
    );
    if (!isDone) return;
    expect(
      unmanaged.map(({ kind, key, before: row }) => `${kind} ${key}: ${formatEntry(kind, row)}`).sort(),
      "unmanaged",
    ).toEqual(untouchedRows.map(([name, text]) => `${name}: ${text}`).sort());
    expect(counts).toMatchObject({ unmanaged: untouchedRows.length });
  }

  /** Asserts that nothing is left to do after a run, except for entries that an exclusive list has only just seen. */
  async #compareNext(plan: Plan, read: Settings): Promise<void> {
    const next = await this.#plan(read);
    const later = plan.findings
      .filter(({ code }) => code === "pruning-deferred")
      .map(({ message }) => Number(/(\d+)(?: allows?)? (?:is|are) undeclared at the tenant/.exec(message)?.[1]));
    const isLater = ({ operation }: PlanChange): boolean => operation === "remove";
    expect(next.changes.filter(isLater).length, "what goes later").toBe(later.reduce((sum, item) => sum + item, 0));
    if (later.length === 0) expect(next.blockers.map(({ message }) => message)).toEqual([]);
    const more = next.changes.filter((change) => !isLater(change));
    expect(more.map(changeLine), "the next plan").toEqual([]);
  }

  /**
   * Makes a planned change stale in the console, and asserts that the run, which enforces the plan, writes nothing to
   * that list.
   */
  async #makeStale(pick: number, read: Settings): Promise<void> {
    const plan = await this.#plan(read);
    const change = plan.changes[pick % Math.max(1, plan.changes.length)];
    if (change === undefined) return;
    if (!(await this.#changedInConsole(change))) return;
    this.log.push(`console: makes stale: ${changeLine(change)}`);
    this.#company.takeRequests();
    const isRefused = plan.blockers.some(
      ({ code, message }) => code !== "exists" && /^The VIP list/.test(message) === (change.kind === "vip"),
    );
    const ups = await this.#up(read, plan);
    const { failures, reasons } = ups[change.kind];
    const path = change.kind === "vip" ? "/vip_employees" : "/allow_deny_entries";
    const writes = this.#company
      .takeRequests()
      .filter((request) => request.method !== "GET" && request.path.includes(path));
    if (!isRefused) expect([...Object.values(failures), ...reasons].join()).toContain("ERR_PLAN_STALE");
    if (change.reason?.startsWith("is replaced by")) {
      // Such an entry is only detected when it blocks another one, so other changes may have been made by then.
      const row = this.#company.listEntries().find((entry) => formatRowKey(entry) === change.key);
      expect(row).toMatchObject({ list: change.before?.list, comment: expect.stringContaining("meantime") });
      return;
    }
    expect(writes.map(({ method, path, body }) => [method, path, body])).toEqual([]);
  }

  /**
   * Changes an entry or VIP in the console so that it differs from the plan's view. Returns whether that was possible.
   */
  async #changedInConsole({ kind, key, value, verdictScope, after }: PlanChange): Promise<boolean> {
    const comment = `in the meantime, ${this.log.length}`;
    const company = this.#company;
    const isDone = (status: number): boolean => status < 300;
    if (kind === "vip") {
      const added = await company.sendFromConsole("POST", "/vip_employees", { emails: [value], comment });
      return (
        isDone(added) && isDone(await company.sendFromConsole("PATCH", "/vip_employees", { email: value, comment }))
      );
    }
    const row = company.listEntries().find((entry) => formatRowKey(entry) === key);
    const path = "/allow_deny_entries";
    if (row !== undefined) return isDone(await company.sendFromConsole("PATCH", `${path}/${row.id}`, { comment }));
    const entry_type = getEntryType(value);
    const createdEntry = { list: after?.list, entry_type, value, verdict_scope: verdictScope, comment };
    return isDone(await company.sendFromConsole("POST", path, createdEntry));
  }

  async #plan(read: Settings): Promise<Plan> {
    const observed = await readObservedState(this.#client);
    return makePlan({
      desired: buildDesiredState(read, this.#known()),
      observed,
      tenant: { host: getHost(this.#client), name: "acme" },
      source: { kind: "files", files: ["acme.yaml"] },
      mail: buildEmptyEvidence(observed.readAt, "not requested"),
    });
  }

  /** Returns the lists in the state, as they would be read from an exported stack. */
  #known(): StackLists {
    const getStackList = (kind: ListKind, property: string): StackList => {
      const { properties, inputs } = this.#lists[kind];
      const { confirmRemovals } = inputs as { confirmRemovals?: number };
      return {
        content: (properties?.[property] ?? {}) as StackList["content"],
        exists: properties !== undefined,
        ...(confirmRemovals === undefined ? {} : { lastConfirmedRemovals: confirmRemovals }),
        ...(properties === undefined ? {} : { options: properties }),
      };
    };
    return { entries: getStackList("entry", "entries"), vips: getStackList("vip", "members") };
  }

  /** Runs `pulumi up --refresh`. If a plan is given, it is enforced through the environment. */
  async #up(read: Settings, plan: Plan | undefined): Promise<Readonly<Record<ListKind, ResourceUpResult>>> {
    const environment: Record<string, string> = {};
    if (plan !== undefined) {
      environment["EMAIL_SECURITY_PLAN"] = this.#directory.at("plan.json");
      writeFileSync(this.#directory.at("plan.json"), formatPlanJson(plan));
    }
    await using provider = await this.#begin(this.#company, environment);
    this.#run.provider = provider;
    await this.#refreshAll();
    const { entries, vips } = read.lists;
    const [entry, vip] = await Promise.all([
      this.#lists.entry.up({ ...entries, entries: read.entries.map(toEntryArguments) }),
      this.#lists.vip.up({ ...vips, members: read.vips.map(toMemberArguments) }),
    ]);
    for (const { outcome, failures, reasons } of [entry, vip])
      this.log.push(`run: ${outcome} ${[...Object.entries(failures).flat(), ...reasons].join("\n")}`);
    return { entry, vip };
  }

  async #refresh(): Promise<void> {
    await using provider = await this.#begin(this.#company, {});
    this.#run.provider = provider;
    await this.#refreshAll();
    this.log.push("refresh");
  }

  async #refreshAll(): Promise<void> {
    const known = Object.values(this.#lists).filter(({ properties }) => properties !== undefined);
    await Promise.all(known.map((list) => list.refresh()));
  }

  /** Returns all entries and VIPs of the tenant, as text. */
  #holds(): ReadonlyMap<string, string> {
    const entries = this.#company
      .listEntries()
      .map((row) => [`entry ${formatRowKey(row)}`, formatEntry("entry", row)] as const);
    const vips = this.#company.listVips().flatMap(({ email, comment, source }) => {
      const text = source === "auto" ? "VIP (auto)" : formatEntry("vip", { comment });
      return email === null || email === "" ? [] : [[`vip ${email}`, text] as const];
    });
    return new Map([...entries, ...vips].sort());
  }
}

function formatRowKey({ value, verdict_scope }: { value: string; verdict_scope: string }): string {
  return formatEntryKey({ value: canonicalize(value), scope: verdict_scope });
}

function formatEntry(kind: string, item: { readonly list?: string; readonly comment?: string } | undefined): string {
  if (item === undefined) return "nothing";
  return [kind === "vip" ? "VIP" : item.list, item.comment].filter(Boolean).join(": ");
}

function changeLine({ kind, key, before, after }: PlanChange): string {
  const formatState = (entryState: PlanEntryState | undefined): string => formatEntry(kind, entryState);
  return `${kind} ${key}: ${formatState(before)} -> ${formatState(after)}`;
}

function listDifferences(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  // A VIP who is both detected and added manually counts the same.
  const getState = (holds: ReadonlyMap<string, string>, name: string) =>
    holds.get(name)?.replace(" (auto)", "") ?? "nothing";
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((name) => getState(before, name) !== getState(after, name))
    .map((name) => `${name}: ${getState(before, name)} -> ${getState(after, name)}`)
    .sort();
}

/** Returns the kinds of blockers that failures of a check name. */
function listBlockerKinds(failures: Readonly<Record<string, string>>): string[] {
  const kinds = Object.entries(failures)
    .flatMap(([property, reason]) => (property === "" ? reason.split("\n") : [`${property} ${reason}`]))
    .flatMap((line) => {
      if (/^\s*(?:entries|members) would lose /.test(line)) return ["removal-guard"];
      const [, property] = /^\s*(protect|ignore) contains /.exec(line) ?? [];
      return property === undefined ? [] : [property];
    });
  return [...new Set(kinds)].sort();
}

import { writeFileSync } from "node:fs";
import fc from "fast-check";
import { expect, it } from "vitest";
import { SettingsClient } from "../../../provider/client";
import { toEntryArguments, toMemberArguments } from "../../../provider/files/declaration-parser";
import { readSettings } from "../../../provider/files/read-settings";
import type { Settings } from "../../../provider/files/settings-model";
import { getHost } from "../../../provider/gitops/plan-tenant";
import { buildDesiredState, type StackList, type StackLists } from "../../../provider/plan/desired-state";
import { buildEmptyEvidence } from "../../../provider/plan/mail-evidence";
import { makePlan } from "../../../provider/plan/make-plan";
import { readObservedState } from "../../../provider/plan/observed-state";
import type { Plan, PlanChange, PlanEntryState } from "../../../provider/plan/plan";
import { formatPlanJson } from "../../../provider/plan/render/plan-json";
import { parseListPattern } from "../../../provider/settings/list-pattern";
import { ManagedResource, type ServesRuns, type Up } from "../../support/managed-resource";
import { getPropertyOptions, sized, timeLimit } from "../../support/matrix-sampling";
import { Companies, type Company } from "../../support/model/company";
import { aConsoleEdit, type ConsoleEdit, doInConsole } from "../../support/model/console-edits";
import { keyOf } from "../../support/model/program";
import { canonicalize, entryTypeOf } from "../../support/model/world";
import { ProviderProcess } from "../../support/provider-process";
import { createTestDirectory, type TestDirectory } from "../../support/test-directory";
import { InProcessProvider } from "./in-process-provider";
import {
  aSettingsEdit,
  type DeclaredSettings,
  declaredKeys,
  editedSettings,
  NOTHING_DECLARED,
  type SettingsEdit,
  settingsText,
} from "./settings-edit";

/**
 * A fixed seed, so that every `npm test` runs the same stories and doesn't fail one day after passing the day before.
 */
const SEED = { seed: 20_261_121 };

/** Successive dates, so that entries with an expiry date expire in between. */
const DAYS = ["2026-11-21", "2026-11-28", "2026-12-05"];

interface Chapter {
  /** Whether the stack is refreshed before the console is used. */
  readonly refreshes: boolean;
  readonly console: readonly ConsoleEdit[];
  readonly settings: readonly SettingsEdit[];
  /** Whether the run enforces the plan. */
  readonly isHeld: boolean;
  /** The index of the planned change that the console makes stale before a run that enforces the plan. */
  readonly overtaken: number | undefined;
}

const aStory: fc.Arbitrary<readonly Chapter[]> = fc
  .tuple(
    ...DAYS.map((_, at) =>
      fc.record({
        refreshes: fc.boolean(),
        console: fc.array(aConsoleEdit, { maxLength: at === 0 ? 6 : 4 }),
        settings: fc.array(aSettingsEdit, { minLength: at === 0 ? 2 : 0, maxLength: at === 0 ? 9 : 5 }),
        isHeld: fc.boolean(),
        overtaken: fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.nat(20) }),
      }),
    ),
  )
  .map((chapters) => chapters);

const QUIET: Chapter = { refreshes: false, console: [], settings: [], isHeld: false, overtaken: undefined };

const declare = (list: "allow" | "deny", scope: "global" | "graymail", comment = ""): SettingsEdit => ({
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

/** Stories that random generation rarely produces. */
const SELDOM: readonly (readonly Chapter[])[] = [
  // Two scopes of a value move to the other list, and an entry that the state doesn't know conflicts with them.
  [
    { ...QUIET, settings: [declare("deny", "global")] },
    {
      ...QUIET,
      console: [{ console: "add", list: "deny", value: "evil.example", scope: "graymail", comment: "INC-1" }],
      settings: [declare("allow", "global"), declare("allow", "graymail")],
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
      settings: [declare("deny", "global", "INC-2")],
    },
  ],
];

type Begin = (company: Company, environment: Record<string, string>) => Promise<ServesRuns & AsyncDisposable>;

const inThisProcess: Begin = async (company, environment) => new InProcessProvider(company, environment);

const inItsOwn: Begin = async ({ url, apiKey }, environment) =>
  await ProviderProcess.start({
    environment: { EMAIL_SECURITY_BASE_URL: url, EMAIL_SECURITY_API_KEY: apiKey, ...environment },
  });

/* A failure prints its seed and path. Pass them to fast-check as `seed` and `path` to replay only that story. */

it.each([
  {
    where: "in this process, values as canonical",
    begin: inThisProcess,
    told: getPropertyOptions("plan-stories", { numRuns: 32, ...SEED }),
    echoValue: "canonical",
  },
  {
    where: "in this process, values as sent",
    begin: inThisProcess,
    told: getPropertyOptions("plan-as-sent", { numRuns: 8, ...SEED }),
    echoValue: "as-sent",
  },
  {
    where: "in the real provider process",
    begin: inItsOwn,
    told: getPropertyOptions("plan-processes", { numRuns: 1, ...SEED }),
    echoValue: "canonical",
  },
] as const)(
  "plans exactly what the next run does, $where",
  { timeout: timeLimit(300_000) },
  async ({ begin, told: storyOptions, echoValue }) => {
    await using companies = new Companies({ echoValue });
    const property = fc.asyncProperty(fc.noBias(aStory), async (story) => {
      // Starting a process for each run is expensive.
      const isShort = begin === inItsOwn && sized("plan-processes", false, true);
      await play(isShort ? story.slice(0, 2) : story, await companies.next(), begin);
    });
    const { seed, counterexamplePath, counterexample, errorInstance } = await fc.check(property, {
      ...storyOptions,
      examples: begin === inThisProcess ? SELDOM.map((story) => [story]) : [],
    });
    const failure = errorInstance instanceof Error ? errorInstance.message : "";
    const story = failure === "" ? "" : `\n${JSON.stringify(counterexample)}`;
    expect(failure, `seed ${seed}, path ${counterexamplePath}${story}`).toBe("");
  },
);

async function play(story: readonly Chapter[], company: Company, begin: Begin): Promise<void> {
  using directory = createTestDirectory({});
  const client = new SettingsClient({ baseUrl: company.url, apiKey: company.apiKey });
  const scene = new Scene(company, client, directory, begin);
  try {
    for (const [at, chapter] of story.entries()) await scene.play(chapter, DAYS[at] ?? "");
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${scene.log.join("\n")}`, { cause: error });
  } finally {
    await client.close();
  }
}

/** The handlers of both lists, by the kind of a planned change. */
const HANDLERS = { entry: "allowDenyList", vip: "vipList" } as const;
type Kind = keyof typeof HANDLERS;
const KINDS: readonly Kind[] = ["entry", "vip"];

/** A stack with a `TenantSettings` and its company. */
class Scene {
  readonly log: string[] = [];
  readonly #company: Company;
  readonly #client: SettingsClient;
  readonly #directory: TestDirectory;
  readonly #begin: Begin;
  readonly #run: { provider: ServesRuns };
  readonly #lists: Readonly<Record<Kind, ManagedResource>>;
  #declared: DeclaredSettings = NOTHING_DECLARED;

  constructor(company: Company, client: SettingsClient, directory: TestDirectory, begin: Begin) {
    this.#company = company;
    this.#client = client;
    this.#directory = directory;
    this.#begin = begin;
    this.#run = { provider: undefined as unknown as ServesRuns };
    const list = (kind: Kind) => new ManagedResource(this.#run, HANDLERS[kind], { sharesRuns: true });
    this.#lists = { entry: list("entry"), vip: list("vip") };
  }

  async play({ refreshes, console, settings, isHeld, overtaken }: Chapter, today: string): Promise<void> {
    if (refreshes) await this.#refresh();
    for (const edit of console) this.log.push(await doInConsole(this.#company, edit));
    this.#declared = settings.reduce(editedSettings, this.#declared);
    this.#directory.write("acme.yaml", settingsText(this.#declared, today));
    const read = readSettings(this.#directory.at("acme.yaml"), { today });
    this.log.push(`declared on ${today}: ${JSON.stringify(read.lists)}`);
    for (const { key, text } of [...read.entries, ...read.vips]) this.log.push(`  ${key}: ${text}`);

    if (overtaken !== undefined) await this.#overtake(overtaken, read);
    const before = this.#holds();
    const plan = await this.#plan(read);
    const ups = await this.#up(read, isHeld ? plan : undefined);
    const after = this.#holds();
    this.#compare(plan, ups, differences(before, after));
    const isDone = plan.blockers.length === 0;
    this.#compareRest(plan, read, today, before, isDone);
    if (isDone) await this.#compareNext(plan, read);
  }

  /** Asserts that the plan contains exactly the changes that were made, or the reasons why they weren't. */
  #compare({ changes, blockers }: Plan, ups: Readonly<Record<Kind, Up>>, done: readonly string[]): void {
    const planned: string[] = [];
    for (const kind of KINDS) {
      const { outcome, failures, reasons } = ups[kind];
      const messages = [...Object.entries(failures).flat(), ...reasons].join("\n");
      const own = blockers.filter(({ message }) => /^The VIP list/.test(message) === (kind === "vip"));
      const refusals = own.map(({ code }) => code).filter((code) => code !== "exists");
      expect(outcome === "refused" ? refusalsIn(failures) : [], `refusals of ${kind}: ${messages}`).toEqual(
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
      const own_ = done.filter((line) => line.startsWith(`${kind} `));
      expect(lines).toEqual(expect.arrayContaining(own_));
      planned.push(...own_);
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
    const declared = declaredKeys(this.#declared, today);
    expect(counts.unchanged, "unchanged").toBe(declared.filter((key) => !touched.has(key)).length);
    const isIgnored = (name: string, text: string): boolean => {
      const [kind = "", key = ""] = name.split(" ");
      const target = kind === "vip" ? { value: key } : { value: key, list: text.split(":")[0] as "deny" };
      return (lists[kind === "vip" ? "vips" : "entries"]?.ignore ?? []).some((one) => {
        const pattern = parseListPattern(one);
        return pattern.ok && pattern.value.matches(target);
      });
    };
    const left = [...before].filter(
      ([name, text]) =>
        !touched.has(name) && !declared.includes(name) && text !== "VIP (auto)" && !isIgnored(name, text),
    );
    if (!isDone) return;
    expect(
      unmanaged.map(({ kind, key, before: row }) => `${kind} ${key}: ${formatEntry(kind, row)}`).sort(),
      "unmanaged",
    ).toEqual(left.map(([name, text]) => `${name}: ${text}`).sort());
    expect(counts).toMatchObject({ unmanaged: left.length });
  }

  /** Asserts that nothing is left to do after a run, except for entries that an exclusive list has only just seen. */
  async #compareNext(plan: Plan, read: Settings): Promise<void> {
    const next = await this.#plan(read);
    const later = plan.findings
      .filter(({ code }) => code === "exclusive-later")
      .map(({ message }) => Number(/(\d+)(?: allows?)? (?:is|are) undeclared at the tenant/.exec(message)?.[1]));
    const isLater = ({ sign }: PlanChange): boolean => sign === "remove";
    expect(next.changes.filter(isLater).length, "what goes later").toBe(later.reduce((sum, one) => sum + one, 0));
    if (later.length === 0) expect(next.blockers.map(({ message }) => message)).toEqual([]);
    const more = next.changes.filter((change) => !isLater(change));
    expect(more.map(changeLine), "the next plan").toEqual([]);
  }

  /**
   * Makes a planned change stale in the console, and asserts that the run, which enforces the plan, writes nothing to
   * that list.
   */
  async #overtake(pick: number, read: Settings): Promise<void> {
    const plan = await this.#plan(read);
    const change = plan.changes[pick % Math.max(1, plan.changes.length)];
    if (change === undefined) return;
    if (!(await this.#changedInConsole(change))) return;
    this.log.push(`console: overtakes ${changeLine(change)}`);
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
      const row = this.#company.entries().find((one) => keyOfRow(one) === change.key);
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
      const added = await company.console("POST", "/vip_employees", { emails: [value], comment });
      return isDone(added) && isDone(await company.console("PATCH", "/vip_employees", { email: value, comment }));
    }
    const row = company.entries().find((one) => keyOfRow(one) === key);
    const path = "/allow_deny_entries";
    if (row !== undefined) return isDone(await company.console("PATCH", `${path}/${row.id}`, { comment }));
    const entry_type = entryTypeOf(value);
    const made = { list: after?.list, entry_type, value, verdict_scope: verdictScope, comment };
    return isDone(await company.console("POST", path, made));
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
    const of = (kind: Kind, property: string): StackList => {
      const { properties, inputs } = this.#lists[kind];
      const { confirmRemovals } = inputs as { confirmRemovals?: number };
      return {
        content: (properties?.[property] ?? {}) as StackList["content"],
        exists: properties !== undefined,
        ...(confirmRemovals === undefined ? {} : { lastConfirmedRemovals: confirmRemovals }),
        ...(properties === undefined ? {} : { options: properties }),
      };
    };
    return { entries: of("entry", "entries"), vips: of("vip", "members") };
  }

  /** Runs `pulumi up --refresh`. If a plan is given, it is enforced through the environment. */
  async #up(read: Settings, plan: Plan | undefined): Promise<Readonly<Record<Kind, Up>>> {
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
      .entries()
      .map((row) => [`entry ${keyOfRow(row)}`, formatEntry("entry", row)] as const);
    const vips = this.#company.vips().flatMap(({ email, comment, source }) => {
      const text = source === "auto" ? "VIP (auto)" : formatEntry("vip", { comment });
      return email === null || email === "" ? [] : [[`vip ${email}`, text] as const];
    });
    return new Map([...entries, ...vips].sort());
  }
}

function keyOfRow({ value, verdict_scope }: { value: string; verdict_scope: string }): string {
  return keyOf({ value: canonicalize(value), scope: verdict_scope });
}

function formatEntry(kind: string, one: { readonly list?: string; readonly comment?: string } | undefined): string {
  if (one === undefined) return "nothing";
  return [kind === "vip" ? "VIP" : one.list, one.comment].filter(Boolean).join(": ");
}

function changeLine({ kind, key, before, after }: PlanChange): string {
  const as = (standing: PlanEntryState | undefined): string => formatEntry(kind, standing);
  return `${kind} ${key}: ${as(before)} -> ${as(after)}`;
}

function differences(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  // A VIP who is both detected and added manually counts the same.
  const of = (holds: ReadonlyMap<string, string>, name: string) => holds.get(name)?.replace(" (auto)", "") ?? "nothing";
  return [...new Set([...before.keys(), ...after.keys()])]
    .filter((name) => of(before, name) !== of(after, name))
    .map((name) => `${name}: ${of(before, name)} -> ${of(after, name)}`)
    .sort();
}

/** Returns the kinds of blockers that failures of a check name. */
function refusalsIn(failures: Readonly<Record<string, string>>): string[] {
  const kinds = Object.entries(failures)
    .flatMap(([property, reason]) => (property === "" ? reason.split("\n") : [`${property} ${reason}`]))
    .flatMap((line) => {
      if (/^\s*(?:entries|members) would lose /.test(line)) return ["removal-guard"];
      const [, property] = /^\s*(protect|ignore) contains /.exec(line) ?? [];
      return property === undefined ? [] : [property];
    });
  return [...new Set(kinds)].sort();
}

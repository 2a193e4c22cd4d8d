import type { AllowDenyEntryRow, AuditRow, RecordedRequest, VipEmployeeRow } from "../../../provider/sandbox";
import type { Company } from "./company";
import {
  isListPlace,
  isPruned,
  keyOf,
  type ModelListOptions,
  type ModelProgram,
  nameOf,
  PLAIN,
  type PlacedEntry,
} from "./program";
import type { Held, StackRun } from "./stack";
import { canonicalize, EXTERNAL_MAILBOX } from "./world";

/*
 * The guarantees that the docs make about a tenant, written independently of the implementation: what a run may write,
 * what exists afterwards, and when a run may be refused or fail.
 */

/** A snapshot of a tenant's contents. */
export interface Tenant {
  readonly entries: readonly ModelEntry[];
  readonly vips: readonly Vip[];
  readonly exclusions: readonly string[];
}

export interface ModelEntry {
  readonly id: string;
  /** Value and scope. */
  readonly key: string;
  readonly value: string;
  readonly scope: string;
  readonly list: string;
  readonly comment: string;
}

export interface Vip {
  readonly email: string;
  readonly comment: string;
}

export function tenantOf(company: Company): Tenant {
  const vips = company.vips().filter(({ email }) => email !== "");
  return {
    entries: company.entries().map(entryOf),
    vips: vips.map(({ email, comment }: VipEmployeeRow) => ({ email, comment: comment.trim() })),
    exclusions: company.exclusions(),
  };
}

function entryOf(row: AllowDenyEntryRow): ModelEntry {
  const value = canonicalize(row.value);
  const { id, list, verdict_scope: scope, comment } = row;
  return { id, key: keyOf({ value, scope }), value, scope, list, comment: comment.trim() };
}

/** An entry or VIP in the stack's state. */
interface HeldThing {
  /** The resource's name. */
  readonly by: string;
  readonly isList: boolean;
  /** Value and scope of an entry, or a mailbox. */
  readonly key: string;
  /** Only for an entry. */
  readonly list: string;
  readonly comment: string;
  /** Only for a single entry. */
  readonly id: string | undefined;
  /** Whether it is undeclared and a refresh has shown it. */
  readonly isUnmanaged: boolean;
  readonly isReplaced: boolean;
  readonly keep: boolean;
}

/** The contents of the stack's state. */
export interface Holdings {
  readonly entries: readonly HeldThing[];
  readonly vips: readonly HeldThing[];
}

const UNMANAGED = "(unmanaged) ";

export function holdingsOf(held: readonly Held[]): Holdings {
  const entries: HeldThing[] = [];
  const vips: HeldThing[] = [];
  for (const { kind, name, id, outputs, isReplaced } of held) {
    const common = { by: name, isReplaced, keep: outputs["onDelete"] === "keep" };
    const text = (property: string): string => String(outputs[property] ?? "").trim();
    if (kind === "allowDenyEntry") {
      const key = keyOf({ value: canonicalize(text("value")), scope: text("verdictScope") });
      const single = { id: text("entryId") || id, isList: false, isUnmanaged: false };
      entries.push({ ...common, ...single, key, list: text("list"), comment: text("comment") });
    } else if (kind === "vipEmployee") {
      const single = { id: undefined, isList: false, isUnmanaged: false, list: "" };
      vips.push({ ...common, ...single, key: canonicalize(text("email")), comment: text("comment") });
    } else {
      const content = outputs[kind === "vipList" ? "members" : "entries"] as Record<string, string>;
      for (const [key, whole] of Object.entries(content)) {
        const isUnmanaged = whole.startsWith(UNMANAGED);
        const plainValue = isUnmanaged ? whole.slice(UNMANAGED.length) : whole;
        const listed = { ...common, id: undefined, isList: true, isUnmanaged, key };
        if (kind === "vipList") vips.push({ ...listed, list: "", comment: plainValue });
        else {
          const [, list = "", comment = ""] = /^(\w+)(?:: (.*))?$/s.exec(plainValue) ?? [];
          entries.push({ ...listed, list, comment });
        }
      }
    }
  }
  return { entries, vips };
}

/** Returns the value of an entry's key; a mailbox is returned unchanged. */
function valueOfKey(key: string): string {
  return key.replace(/ \(.*$/, "");
}

/** The model's memory of a stack: everything it has ever declared, and its current contents. */
export class Memory {
  readonly values = new Set<string>();
  readonly emails = new Set<string>();
  /** The keys of the entries that the stack has created or adopted, and neither removed nor released since. */
  #held = new Set<string>();

  declare({ entries, vips }: ModelProgram): void {
    for (const { value } of entries) this.values.add(value);
    for (const { email } of vips) this.emails.add(email);
  }

  /** Returns the entries that the state must hold after a refresh at this moment. */
  mustHold({ entries }: Tenant): readonly ModelEntry[] {
    return entries.filter(({ key }) => this.#held.has(key));
  }

  /** Updates the memory with the outcome of a run. */
  learn({ program, before, after, holdings, holdingsAfter, run, audit }: RunFacts): void {
    if (run.result === "ok") {
      this.#held = new Set(program.entries.map(keyOf));
      return;
    }
    // An entry that a refresh did not find no longer belongs to the stack, whoever recreates it. The same holds for an
    // entry that a colleague moved from one list to the other between the reads of the two.
    const placeIn = ({ entries }: Tenant, key: string): string | undefined => {
      const row = entries.find((one) => one.key === key);
      return row && `${row.id} ${row.list}`;
    };
    const isThere = (key: string): boolean =>
      placeIn(before, key) !== undefined && placeIn(before, key) === placeIn(after, key);
    if (run.refreshed !== undefined) this.#held = new Set([...this.#held].filter(isThere));
    for (const { action, before: was, after: is } of audit) {
      if (action === "allow_deny_entry.delete") this.#held.delete(entryOf(was as AllowDenyEntryRow).key);
      if (action === "allow_deny_entry.create") this.#held.add(entryOf(is as AllowDenyEntryRow).key);
    }
    for (const held of holdings.entries) {
      const isDeclared = program.entries.some((one) => keyOf(one) === held.key);
      const isLeft = isLetGo(held, valueOfKey(held.key), program) === "stays";
      if (!isDeclared && isLeft) this.#held.delete(held.key);
      // A list releases an entry that another resource declares, even if that resource fails to adopt it.
      const isStill = holdingsAfter.entries.some(({ key }) => key === held.key);
      if (isDeclared && held.isList && !isStill) this.#held.delete(held.key);
      // An entry that is gone when its resource is deleted may have been recreated by somebody else, who then owns it.
      const isGone = !held.isList && !after.entries.some(({ id }) => id === held.id);
      if (!isDeclared && isGone && !isStill) this.#held.delete(held.key);
    }
  }
}

/** A run and its surroundings. */
export interface RunFacts {
  readonly program: ModelProgram;
  readonly before: Tenant;
  readonly after: Tenant;
  /** The state when the writes began, and at the end of the run. */
  readonly holdings: Holdings;
  readonly holdingsAfter: Holdings;
  readonly run: StackRun;
  /** Whether a preview had to pass before anything was written. */
  readonly isPreviewed: boolean;
  /** The provider's writes. */
  readonly audit: readonly AuditRow[];
  /** The writes of the provider and the console. */
  readonly history: readonly AuditRow[];
  readonly requests: readonly RecordedRequest[];
  readonly memory: Memory;
}

/**
 * Returns the violated guarantees among those that hold for every run, whatever the console changes meanwhile and
 * however the run ends.
 */
export function brokenAlways(facts: RunFacts): string[] {
  const { program, holdings, audit, holdingsAfter, memory } = facts;
  const broken: string[] = [];
  /** The entries that this run has already written. */
  const own = new Set<string>();
  for (const { action, before, after, target } of audit) {
    switch (action) {
      case "allow_deny_entry.create": {
        const made = entryOf(after as AllowDenyEntryRow);
        own.add(target);
        if (!program.entries.some((one) => isSame(one, made)))
          broken.push(`made ${formatEntry(made)}, which nobody declares`);
        break;
      }
      case "allow_deny_entry.update": {
        const [was, is] = [entryOf(before as AllowDenyEntryRow), entryOf(after as AllowDenyEntryRow)];
        // A concurrent change in the console appears in the response; a second update reverts it.
        const isDeclared = program.entries.some((one) => one.value === is.value);
        if (!isDeclared) broken.push(`changed ${formatEntry(was)} to ${formatEntry(is)}, which nobody declares`);
        // An entry that was recreated by hand still belongs to the resource.
        const isHeld = own.has(target) || holdings.entries.some(({ key }) => valueOfKey(key) === was.value);
        own.add(target);
        if (!isHeld && !program.entries.some((one) => one.value === was.value && mayAdopt(one, program))) {
          broken.push(`changed ${formatEntry(was)}, which this stack did not hold, and nobody said to adopt it`);
        }
        break;
      }
      case "allow_deny_entry.delete": {
        const was = entryOf(before as AllowDenyEntryRow);
        // No client of this service can see changes that the console makes between the read and the deletion.
        const meanwhile = facts.history.filter((one) => one.target === target && one.before !== null);
        const seen = [
          was,
          ...meanwhile.map((one) => entryOf(one.before as AllowDenyEntryRow)),
          ...facts.before.entries.filter(({ id, key }) => id === was.id || key === was.key),
        ];
        const holders = holdings.entries.filter((held) => seen.some((one) => isHeldBy(held, one)));
        const isShown = (held: HeldThing): boolean =>
          seen.some(({ list, comment }) => list === held.list && (!held.isList || comment === held.comment));
        const isManaged = holders.some((one) => !one.isUnmanaged);
        // The replacement in the same run may have been added first, in place.
        const isOwnMove = program.entries.some((one) => one.value === was.value);
        if (holders.length === 0) broken.push(`deleted ${formatEntry(was)}, which the state did not hold`);
        else if (!holders.some(isShown) && !isOwnMove) {
          broken.push(`deleted ${formatEntry(was)}, which was shown otherwise`);
        }
        if (isManaged && !memory.values.has(was.value)) {
          broken.push(`deleted ${formatEntry(was)}, which was never declared`);
        }
        if (!isManaged && !isPrunedNow(program, holders)) {
          broken.push(`deleted ${formatEntry(was)}, which was only shown, by a list that does not remove it`);
        }
        break;
      }
      case "vip_employee.add":
      case "vip_employee.edit_comment":
        if (!program.vips.some(({ email }) => email === target)) {
          broken.push(`${action} ${target}, which nobody declares`);
        }
        break;
      case "vip_employee.remove": {
        const holders = holdings.vips.filter(({ key }) => key === target);
        if (holders.length === 0) broken.push(`excluded ${target}, which the state did not hold`);
        if (holders.some((one) => !one.isUnmanaged) && !memory.emails.has(target)) {
          broken.push(`excluded ${target}, which was never declared`);
        }
        if (holders.every((one) => one.isUnmanaged) && !isPrunedNow(program, holders)) {
          broken.push(`excluded ${target}, which was only shown, by a list that does not remove it`);
        }
        break;
      }
    }
  }
  for (const { key, isUnmanaged } of holdingsAfter.entries) {
    const value = valueOfKey(key);
    if (!isUnmanaged && !memory.values.has(value)) broken.push(`the state holds ${key}, which was never declared`);
  }
  for (const { key, isUnmanaged } of holdingsAfter.vips) {
    if (!isUnmanaged && !memory.emails.has(key)) broken.push(`the state holds ${key}, which was never declared`);
  }
  return broken;
}

/** Returns whether the object in state is this entry: a single entry by its id, a list's entry by value and scope. */
function isHeldBy({ id, key }: HeldThing, entry: ModelEntry): boolean {
  return id === entry.id || key === entry.key;
}

function isPrunedNow(program: ModelProgram, holders: readonly HeldThing[]): boolean {
  return holders.some(({ by, isUnmanaged, list }) => isUnmanaged && isPruned(optionsOf(program, by)?.mode, list));
}

/**
 * Returns the violated guarantees among those that hold for a run without concurrent console changes, from its refresh
 * to its end.
 */
export function brokenWhenQuiet(facts: RunFacts): string[] {
  const { program, before, holdings, run, isPreviewed } = facts;
  const broken = [...brokenReading(before, holdings), ...forgotten(facts), ...brokenRequests(facts)];
  const mistakes = mistakesIn(program, holdings);
  const obstacles = obstaclesOf(program, before, holdings);
  const reasons = `(mistakes: ${mistakes.join("; ") || "none"}; obstacles: ${obstacles.map(({ why }) => why).join("; ") || "none"})`;
  // Without a preview, the run starts the resources that precede the mistake, and one of them may fail first.
  const mayFail = !isPreviewed && obstacles.length > 0;
  if ((run.result === "refused") !== mistakes.length > 0 && !(run.result === "failed" && mayFail)) {
    broken.push(`the run was ${run.result} ${reasons}: ${run.messages.join("\n")}`);
  }
  if (run.result === "failed" && obstacles.length === 0) {
    broken.push(`the run failed without a reason ${reasons}: ${run.messages.join("\n")}`);
  }
  if (run.result === "ok" && !isContested(facts)) {
    const sure = obstacles.filter(({ isSure }) => isSure);
    if (sure.length > 0) broken.push(`the run succeeded over ${sure.map(({ why }) => why).join("; ")}`);
    broken.push(...brokenResult(facts));
  } else if (run.result !== "ok" && !isContested(facts)) {
    broken.push(...brokenByFailure(facts));
  }
  return broken;
}

/**
 * Returns whether two resources hold the same entry, or one holds an entry that another declares (for example after a
 * colleague's change) and they declare its value in two scopes. The first to run takes the entry; the second only sees
 * in the next run that its own is missing.
 */
export function isContested({ program, before, holdings }: RunFacts): boolean {
  return before.entries.some((row) => {
    const declared = program.entries.filter(({ value }) => value === row.value);
    if (new Set(declared.map(keyOf)).size < 2) return false;
    const holders = holdings.entries.filter((held) => isHeldBy(held, row) && !held.isUnmanaged);
    const ofAnotherKey = declared.some(
      (one) =>
        keyOf(one) !== row.key && holders.some(({ by, id }) => id === row.id && by === nameOf(program, one.place)),
    );
    return new Set(holders.map(({ by }) => by)).size > 1 || ofAnotherKey;
  });
}

/** Returns where the state after a refresh differs from the tenant's contents. */
function brokenReading({ entries, vips }: Tenant, holdings: Holdings): string[] {
  const broken: string[] = [];
  for (const held of holdings.entries) {
    const row = entries.find(({ id, key }) => (held.id === undefined ? key === held.key : id === held.id));
    const isRight = row?.key === held.key && row.list === held.list && row.comment === held.comment;
    if (!isRight) broken.push(`the state of ${held.by} holds ${formatEntry(held)}, but there is ${formatEntry(row)}`);
  }
  for (const held of holdings.vips) {
    const row = vips.find(({ email }) => email === held.key);
    if (row?.comment !== held.comment) {
      broken.push(`the state of ${held.by} holds ${held.key} "${held.comment}", but there is ${JSON.stringify(row)}`);
    }
  }
  return broken;
}

/**
 * Returns entries that the stack created and its state forgot. An entry that was deleted and recreated by hand still
 * belongs to the stack.
 */
function forgotten({ before, holdings, memory }: RunFacts): string[] {
  const isHeld = (row: ModelEntry): boolean =>
    holdings.entries.some(({ key, id, isList, isUnmanaged }) => {
      // A single resource keeps its own row, whatever that row has become.
      const isBusy = !isList && id !== row.id && valueOfKey(key) === row.value;
      return isBusy || (key === row.key && !isUnmanaged);
    });
  return memory
    .mustHold(before)
    .filter((row) => !isHeld(row))
    .map((row) => `the state has forgotten ${formatEntry(row)}`);
}

/** Returns requests that create an existing object again: a service that permits it would hold duplicates. */
function brokenRequests({ before, audit, requests }: RunFacts): string[] {
  const broken: string[] = [];
  const gone = new Set(audit.flatMap(({ action, target }) => (action === "allow_deny_entry.delete" ? [target] : [])));
  const moved = new Set(audit.flatMap(({ action, target }) => (action === "allow_deny_entry.update" ? [target] : [])));
  const made = new Set<string>();
  for (const { method, path, body, status } of requests) {
    if (method !== "POST" || !path.endsWith("/allow_deny_entries")) continue;
    const { value, verdict_scope: scope } = body as { value: string; verdict_scope: string };
    const key = keyOf({ value: canonicalize(value), scope });
    const there = before.entries.find((one) => one.key === key);
    if (there !== undefined && !gone.has(there.id) && !moved.has(there.id)) {
      broken.push(`${key} was created (${status}), though it was there`);
    }
    if (status < 300 && made.has(key) && gone.size === 0) broken.push(`${key} was created twice`);
    if (status < 300) made.add(key);
  }
  return broken;
}

/** Returns the errors of an invalid program, which the preview reports. */
export function mistakesIn(program: ModelProgram, holdings: Holdings): string[] {
  const mistakes: string[] = [];
  const { entries, vips, lists } = program;
  for (const [at, one] of entries.entries()) {
    for (const other of entries.slice(at + 1)) {
      const areInLists = isListPlace(one.place) || isListPlace(other.place);
      const isTwice = keyOf(one) === keyOf(other);
      if (isTwice && (areInLists || one.list !== other.list || one.comment !== other.comment)) {
        mistakes.push(`${keyOf(one)} is declared twice`);
      }
      if (!isTwice && one.value === other.value && one.list !== other.list) {
        mistakes.push(`${one.value} is on both lists`);
      }
    }
  }
  for (const [at, one] of vips.entries()) {
    for (const other of vips.slice(at + 1)) {
      const areInLists = isListPlace(one.place) || isListPlace(other.place);
      const areAlike = one.comment === other.comment && one.keep === other.keep;
      if (one.email === other.email && (areInLists || !areAlike)) mistakes.push(`${one.email} is declared twice`);
    }
  }
  for (const place of ["A", "B", "V", "W"] as const) {
    const options = lists[place];
    if (options === undefined) continue;
    const isVips = place === "V" || place === "W";
    const things = isVips
      ? vips.map((vip) => ({ place: vip.place as string, name: vip.email, key: vip.email, list: undefined }))
      : entries.map((entry) => ({
          place: entry.place as string,
          name: entry.value,
          key: keyOf(entry),
          list: entry.list,
        }));
    const own = things.filter((thing) => thing.place === place);
    const ignored = options.ignore;
    for (const other of things) {
      const isForeign = other.place !== place && !own.some(({ key }) => key === other.key);
      if (isForeign && isPruned(options.mode, other.list) && !ignored.includes(other.name))
        mistakes.push(`${place} would remove ${other.key}`);
    }
    if (isVips && isPruned(options.mode) && options.keep) mistakes.push(`${place} is exclusive and keeps`);
    if (own.some(({ name }) => ignored.includes(name))) mistakes.push(`${place} ignores what it declares`);
    const before = (isVips ? holdings.vips : holdings.entries).filter(
      ({ by, isReplaced }) => by === nameOf(program, place) && !isReplaced,
    );
    const lost = before.filter(
      ({ key, isUnmanaged, list }) =>
        !own.some((one) => one.key === key) &&
        !ignored.includes(valueOfKey(key)) &&
        (!isUnmanaged || isPruned(options.mode, list)) &&
        !(isVips && options.keep),
    );
    for (const name of options.protect) {
      const isThere = own.some((one) => one.name === name);
      const isLost = lost.some(({ key }) => valueOfKey(key) === name);
      if (!isThere || isLost) mistakes.push(`${place} protects ${name}`);
    }
    if (!options.mayBeEmptied && own.length === 0 && lost.length > 0) mistakes.push(`${place} is emptied`);
  }
  return mistakes;
}

/** An obstacle to applying a program. */
export interface Obstacle {
  readonly why: string;
  /** Whether the obstacle always makes a run fail; otherwise the run may or may not fail. */
  readonly isSure: boolean;
  /** The entry that a colleague would remove in the console. */
  readonly entry?: ModelEntry;
  /** The declaration that would have to be removed. */
  readonly duplicate?: PlacedEntry;
  readonly email?: string;
}

export function obstaclesOf(program: ModelProgram, { entries }: Tenant, holdings: Holdings): Obstacle[] {
  const obstacles: Obstacle[] = [];
  for (const one of program.entries) {
    const by = nameOf(program, one.place);
    const own = holdings.entries.find((held) => held.by === by && !held.isReplaced && !held.isList);
    const isAnother = own !== undefined && own.key !== keyOf(one) && valueOfKey(own.key) === one.value;
    if (isAnother && program.entries.some((other) => other !== one && keyOf(other) === keyOf(one))) {
      const why = `${by} holds another entry than the one that is declared twice alike`;
      obstacles.push({ why, isSure: false, duplicate: one });
    }
    for (const row of entries.filter(({ value }) => value === one.value)) {
      const holders = holdings.entries.filter(({ id, key }) => (id === undefined ? key === row.key : id === row.id));
      const isOwn = holders.some((held) => held.by === by && !held.isReplaced);
      if (row.key === keyOf(one)) {
        const isMoved = own !== undefined && valueOfKey(own.key) === one.value && own.id !== row.id;
        if (isMoved)
          obstacles.push({ why: `${by} holds another entry than ${formatEntry(row)}`, isSure: false, entry: row });
        if (isSame(one, row) || isOwn || mayAdopt(one, program)) continue;
        const isSure = holders.length === 0 && !isMoved;
        obstacles.push({ why: `there is ${formatEntry(row)}, not as declared`, isSure, entry: row });
      } else if (row.list !== one.list) {
        const isOfTheList = isOwn && isListPlace(one.place);
        if (!isOfTheList) obstacles.push({ why: `there is ${formatEntry(row)} in the way`, isSure: false, entry: row });
      }
    }
  }
  for (const { email } of program.vips) {
    if (email === EXTERNAL_MAILBOX) obstacles.push({ why: `${email} is a stranger`, isSure: true, email });
  }
  return obstacles;
}

/** Returns deviations from the exact result of a successful run. */
function brokenResult(facts: RunFacts): string[] {
  const { program, before, after, holdings, holdingsAfter } = facts;
  const broken: string[] = [];

  for (const one of program.entries) {
    const rows = after.entries.filter(({ key }) => key === keyOf(one));
    if (rows.length !== 1 || !rows.every((row) => isSame(one, row))) {
      broken.push(
        `${formatEntry({ ...one, key: keyOf(one) })} is declared, and there is ${rows.map(formatEntry).join(", ") || "nothing"}`,
      );
    }
  }
  for (const row of before.entries) {
    const fate = fateOfEntry(row, program, holdings);
    const now = after.entries.find(({ key }) => key === row.key);
    if (fate === "declared" || fate === "either") continue;
    if (fate === "goes" && now !== undefined)
      broken.push(`${formatEntry(row)} should be gone, and there is ${formatEntry(now)}`);
    if (fate === "stays" && JSON.stringify(now) !== JSON.stringify(row)) {
      broken.push(`${formatEntry(row)} is nobody's to change, and there is ${formatEntry(now)}`);
    }
  }
  for (const row of after.entries) {
    const isDeclared = program.entries.some((one) => keyOf(one) === row.key);
    const wasThere = before.entries.some(({ key }) => key === row.key);
    if (!isDeclared && !wasThere) broken.push(`${formatEntry(row)} has come from nowhere`);
  }

  const excluded = new Set(before.exclusions);
  const vips = new Map(before.vips.map((vip) => [vip.email, vip]));
  for (const { email } of before.vips) {
    if (fateOfVip(email, program, holdings) !== "goes") continue;
    vips.delete(email);
    excluded.add(email);
  }
  for (const { email, comment } of program.vips) {
    vips.set(email, { email, comment });
    excluded.delete(email);
  }
  const sorted = (some: Iterable<Vip>): string =>
    JSON.stringify([...some].toSorted((one, other) => (one.email < other.email ? -1 : 1)));
  if (sorted(vips.values()) !== sorted(after.vips)) {
    broken.push(`the VIPs should be ${sorted(vips.values())}, and are ${sorted(after.vips)}`);
  }
  const exclusions = [...excluded].sort().join(", ");
  if (exclusions !== after.exclusions.join(", ")) {
    broken.push(`the exclusions should be ${exclusions}, and are ${after.exclusions.join(", ")}`);
  }

  broken.push(...brokenState(program, holdingsAfter), ...brokenReading(after, holdingsAfter));
  return broken;
}

/** Returns where the state differs from the declaration after a successful run. */
function brokenState(program: ModelProgram, { entries, vips }: Holdings): string[] {
  const held = [...entries, ...vips].map(({ by, key }) => `${by} ${key}`).sort();
  const declared = [
    ...program.entries.map((one) => `${nameOf(program, one.place)} ${keyOf(one)}`),
    ...program.vips.map((one) => `${nameOf(program, one.place)} ${one.email}`),
  ].sort();
  if (held.join("\n") === declared.join("\n")) return [];
  return [`the state holds ${held.join(", ")}, and declared is ${declared.join(", ")}`];
}

/** Returns changes to objects of others, and differences between state and tenant, after a refused or failed run. */
function brokenByFailure(facts: RunFacts): string[] {
  const { program, before, after, holdings, holdingsAfter, run, isPreviewed } = facts;
  if (run.result === "refused" && isPreviewed) {
    return JSON.stringify(before) === JSON.stringify(after) ? [] : ["a run that its preview refused has written"];
  }
  // Without a preview, the run applied the resources that precede the mistake as if they were the whole program.
  if (mistakesIn(program, holdings).length > 0) return [];
  const broken: string[] = [];
  for (const row of before.entries) {
    const fate = fateOfEntry(row, program, holdings);
    const now = after.entries.find(({ id }) => id === row.id);
    const isAnybodys = fate === "stays" || (fate === "declared" && isForeign(row, program, holdings));
    if (isAnybodys && JSON.stringify(now) !== JSON.stringify(row)) {
      broken.push(`${formatEntry(row)} is nobody's to change, and there is ${formatEntry(now)}`);
    }
  }
  for (const { email, comment } of before.vips) {
    const now = after.vips.find((vip) => vip.email === email);
    if (fateOfVip(email, program, holdings) === "stays" && now?.comment !== comment) {
      broken.push(`the VIP ${email} is nobody's to change, and there is ${JSON.stringify(now)}`);
    }
  }
  // An entry that moves between resources stays in the state of the first until that resource's turn.
  const isElsewhere = ({ by, key }: HeldThing): boolean =>
    program.entries.some((one) => keyOf(one) === key && nameOf(program, one.place) !== by) ||
    program.vips.some(({ email, place }) => email === key && nameOf(program, place) !== by) ||
    [...holdings.entries, ...holdings.vips].some((other) => other.key === key && other.by !== by);
  const entries = holdingsAfter.entries.filter((held) => !isElsewhere(held));
  const vips = holdingsAfter.vips.filter((held) => !isElsewhere(held));
  broken.push(...brokenReading(after, { entries, vips }));
  return broken;
}

/** Returns whether an entry occupies a declared place, doesn't belong to the stack and may not be adopted. */
function isForeign(row: ModelEntry, program: ModelProgram, { entries }: Holdings): boolean {
  const isHeld = entries.some(({ id, key }) => key === row.key || id === row.id);
  return !isHeld && !program.entries.some((one) => one.value === row.value && mayAdopt(one, program));
}

type Fate = "declared" | "goes" | "stays" | "either";

/** Returns what happens to an entry when a program is applied. */
function fateOfEntry(row: ModelEntry, program: ModelProgram, holdings: Holdings): Fate {
  if (program.entries.some((one) => keyOf(one) === row.key)) return "declared";
  const holders = holdings.entries.filter(({ id, key }) => (id === undefined ? key === row.key : id === row.id));
  if (holders.some((held) => isLetGo(held, row.value, program) === "goes")) return "goes";
  // The service may report a conflict with this entry. It never does so for two entries with different scopes on the
  // same list.
  const isTaken = program.entries.some(
    (one) => one.value === row.value && one.list !== row.list && mayAdopt(one, program),
  );
  return isTaken ? "either" : "stays";
}

function fateOfVip(email: string, program: ModelProgram, holdings: Holdings): Fate {
  if (program.vips.some((one) => one.email === email)) return "declared";
  const holders = holdings.vips.filter(({ key }) => key === email);
  return holders.some((held) => isLetGo(held, email, program) === "goes") ? "goes" : "stays";
}

/** Returns what a resource does with an undeclared entry that it holds. */
function isLetGo(held: HeldThing, name: string, program: ModelProgram): "goes" | "stays" {
  const options = held.isReplaced ? undefined : optionsOf(program, held.by);
  if (held.isUnmanaged) {
    return isPruned(options?.mode, held.list) && !options?.ignore.includes(name) ? "goes" : "stays";
  }
  if (!held.isList || options === undefined) return held.keep ? "stays" : "goes";
  return options.keep || options.ignore.includes(name) ? "stays" : "goes";
}

/** Returns the options of a declared list, by the resource's name. */
function optionsOf(program: ModelProgram, name: string): ModelListOptions | undefined {
  for (const place of ["A", "B", "V", "W"] as const) {
    if (nameOf(program, place) === name) return program.lists[place];
  }
  return undefined;
}

function mayAdopt(one: PlacedEntry, program: ModelProgram): boolean {
  return isListPlace(one.place) ? (program.lists[one.place] ?? PLAIN).adopt : one.adopt;
}

function isSame(one: PlacedEntry, row: ModelEntry): boolean {
  return keyOf(one) === row.key && one.list === row.list && one.comment === row.comment;
}

function formatEntry(one: Pick<ModelEntry, "key" | "list" | "comment"> | undefined): string {
  if (one === undefined) return "nothing";
  return `${one.list} ${one.key}${one.comment === "" ? "" : ` "${one.comment}"`}`;
}

import type { AllowDenyEntryRow, AuditRow, RecordedRequest, VipEmployeeRow } from "../../../provider/sandbox";
import type { Company } from "./company";
import {
  formatEntryKey,
  getResourceName,
  isListPlace,
  isPruned,
  type ModelListOptions,
  type ModelProgram,
  PLAIN,
  type PlacedEntry,
} from "./program";
import { canonicalize, EXTERNAL_MAILBOX } from "./sample-values";
import type { StackItem, StackRun } from "./stack";

/*
 * The guarantees that the docs make about a tenant, written independently of the implementation: what a run may write,
 * what exists afterwards, and when a run may be refused or fail.
 */

/** A snapshot of a tenant's contents. */
export interface TenantSnapshot {
  readonly entries: readonly ModelEntry[];
  readonly vips: readonly ModelVip[];
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

export interface ModelVip {
  readonly email: string;
  readonly comment: string;
}

export function readModelTenant(company: Company): TenantSnapshot {
  const vips = company.listVips().filter(({ email }) => email !== "");
  return {
    entries: company.listEntries().map(parseModelEntry),
    vips: vips.map(({ email, comment }: VipEmployeeRow) => ({ email, comment: comment.trim() })),
    exclusions: company.listExclusions(),
  };
}

function parseModelEntry(row: AllowDenyEntryRow): ModelEntry {
  const value = canonicalize(row.value);
  const { id, list, verdict_scope: scope, comment } = row;
  return { id, key: formatEntryKey({ value, scope }), value, scope, list, comment: comment.trim() };
}

/** An entry or VIP in the stack's state. */
interface ManagedItem {
  /** The resource's name. */
  readonly resource: string;
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
export interface StackContents {
  readonly entries: readonly ManagedItem[];
  readonly vips: readonly ManagedItem[];
}

const UNMANAGED = "(unmanaged) ";

export function parseHoldings(stackItems: readonly StackItem[]): StackContents {
  const entries: ManagedItem[] = [];
  const vips: ManagedItem[] = [];
  for (const { kind, name, id, outputs, isReplaced } of stackItems) {
    const common = { resource: name, isReplaced, keep: outputs["onDelete"] === "keep" };
    const getText = (property: string): string => String(outputs[property] ?? "").trim();
    if (kind === "allowDenyEntry") {
      const key = formatEntryKey({ value: canonicalize(getText("value")), scope: getText("verdictScope") });
      const single = { id: getText("entryId") || id, isList: false, isUnmanaged: false };
      entries.push({ ...common, ...single, key, list: getText("list"), comment: getText("comment") });
    } else if (kind === "vipEmployee") {
      const single = { id: undefined, isList: false, isUnmanaged: false, list: "" };
      vips.push({ ...common, ...single, key: canonicalize(getText("email")), comment: getText("comment") });
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
function parseKeyValue(key: string): string {
  return key.replace(/ \(.*$/, "");
}

/** The model's memory of a stack: everything it has ever declared, and its current contents. */
export class DeclarationHistory {
  readonly values = new Set<string>();
  readonly emails = new Set<string>();
  /** The keys of the entries that the stack has created or adopted, and neither removed nor released since. */
  #ownedKeys = new Set<string>();

  declare({ entries, vips }: ModelProgram): void {
    for (const { value } of entries) this.values.add(value);
    for (const { email } of vips) this.emails.add(email);
  }

  /** Returns the entries that the state must hold after a refresh at this moment. */
  listRequiredEntries({ entries }: TenantSnapshot): readonly ModelEntry[] {
    return entries.filter(({ key }) => this.#ownedKeys.has(key));
  }

  /** Updates the memory with the outcome of a run. */
  learn({ program, before, after, holdings, holdingsAfter, run, audit }: RunFacts): void {
    if (run.result === "ok") {
      this.#ownedKeys = new Set(program.entries.map(formatEntryKey));
      return;
    }
    // An entry that a refresh did not find no longer belongs to the stack, whoever recreates it. The same holds for an
    // entry that a colleague moved from one list to the other between the reads of the two.
    const findPlacement = ({ entries }: TenantSnapshot, key: string): string | undefined => {
      const row = entries.find((entry) => entry.key === key);
      return row && `${row.id} ${row.list}`;
    };
    const isThere = (key: string): boolean =>
      findPlacement(before, key) !== undefined && findPlacement(before, key) === findPlacement(after, key);
    if (run.refreshed !== undefined) this.#ownedKeys = new Set([...this.#ownedKeys].filter(isThere));
    for (const { action, before: was, after: is } of audit) {
      if (action === "allow_deny_entry.delete") this.#ownedKeys.delete(parseModelEntry(was as AllowDenyEntryRow).key);
      if (action === "allow_deny_entry.create") this.#ownedKeys.add(parseModelEntry(is as AllowDenyEntryRow).key);
    }
    for (const heldItem of holdings.entries) {
      const isDeclared = program.entries.some((entry) => formatEntryKey(entry) === heldItem.key);
      const isLeft = predictRemoval(heldItem, parseKeyValue(heldItem.key), program) === "stays";
      if (!isDeclared && isLeft) this.#ownedKeys.delete(heldItem.key);
      // A list releases an entry that another resource declares, even if that resource fails to adopt it.
      const isStill = holdingsAfter.entries.some(({ key }) => key === heldItem.key);
      if (isDeclared && heldItem.isList && !isStill) this.#ownedKeys.delete(heldItem.key);
      // An entry that is gone when its resource is deleted may have been recreated by somebody else, who then owns it.
      const isGone = !heldItem.isList && !after.entries.some(({ id }) => id === heldItem.id);
      if (!isDeclared && isGone && !isStill) this.#ownedKeys.delete(heldItem.key);
    }
  }
}

/** A run and its surroundings. */
export interface RunFacts {
  readonly program: ModelProgram;
  readonly before: TenantSnapshot;
  readonly after: TenantSnapshot;
  /** The state when the writes began, and at the end of the run. */
  readonly holdings: StackContents;
  readonly holdingsAfter: StackContents;
  readonly run: StackRun;
  /** Whether a preview had to pass before anything was written. */
  readonly isPreviewed: boolean;
  /** The provider's writes. */
  readonly audit: readonly AuditRow[];
  /** The writes of the provider and the console. */
  readonly history: readonly AuditRow[];
  readonly requests: readonly RecordedRequest[];
  readonly memory: DeclarationHistory;
}

/**
 * Returns the violated guarantees among those that hold for every run, whatever the console changes meanwhile and
 * however the run ends.
 */
export function checkEveryRun(facts: RunFacts): string[] {
  const { program, holdings, audit, holdingsAfter, memory } = facts;
  const broken: string[] = [];
  /** The entries that this run has already written. */
  const own = new Set<string>();
  for (const { action, before, after, target } of audit) {
    switch (action) {
      case "allow_deny_entry.create": {
        const createdEntry = parseModelEntry(after as AllowDenyEntryRow);
        own.add(target);
        if (!program.entries.some((entry) => isSame(entry, createdEntry)))
          broken.push(`made ${formatEntry(createdEntry)}, which nobody declares`);
        break;
      }
      case "allow_deny_entry.update": {
        const [was, is] = [parseModelEntry(before as AllowDenyEntryRow), parseModelEntry(after as AllowDenyEntryRow)];
        // A concurrent change in the console appears in the response; a second update reverts it.
        const isDeclared = program.entries.some((entry) => entry.value === is.value);
        if (!isDeclared) broken.push(`changed ${formatEntry(was)} to ${formatEntry(is)}, which nobody declares`);
        // An entry that was recreated by hand still belongs to the resource.
        const isHeld = own.has(target) || holdings.entries.some(({ key }) => parseKeyValue(key) === was.value);
        own.add(target);
        if (!isHeld && !program.entries.some((entry) => entry.value === was.value && canAdopt(entry, program))) {
          broken.push(`changed ${formatEntry(was)}, which this stack did not hold, and nobody said to adopt it`);
        }
        break;
      }
      case "allow_deny_entry.delete": {
        const was = parseModelEntry(before as AllowDenyEntryRow);
        // No client of this service can see changes that the console makes between the read and the deletion.
        const meanwhile = facts.history.filter((row) => row.target === target && row.before !== null);
        const seen = [
          was,
          ...meanwhile.map((row) => parseModelEntry(row.before as AllowDenyEntryRow)),
          ...facts.before.entries.filter(({ id, key }) => id === was.id || key === was.key),
        ];
        const holders = holdings.entries.filter((heldItem) => seen.some((entry) => isManagedBy(heldItem, entry)));
        const isShown = (heldItem: ManagedItem): boolean =>
          seen.some(
            ({ list, comment }) => list === heldItem.list && (!heldItem.isList || comment === heldItem.comment),
          );
        const isManaged = holders.some((holder) => !holder.isUnmanaged);
        // The replacement in the same run may have been added first, in place.
        const isOwnMove = program.entries.some((entry) => entry.value === was.value);
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
        if (holders.some((holder) => !holder.isUnmanaged) && !memory.emails.has(target)) {
          broken.push(`excluded ${target}, which was never declared`);
        }
        if (holders.every((holder) => holder.isUnmanaged) && !isPrunedNow(program, holders)) {
          broken.push(`excluded ${target}, which was only shown, by a list that does not remove it`);
        }
        break;
      }
    }
  }
  for (const { key, isUnmanaged } of holdingsAfter.entries) {
    const value = parseKeyValue(key);
    if (!isUnmanaged && !memory.values.has(value)) broken.push(`the state holds ${key}, which was never declared`);
  }
  for (const { key, isUnmanaged } of holdingsAfter.vips) {
    if (!isUnmanaged && !memory.emails.has(key)) broken.push(`the state holds ${key}, which was never declared`);
  }
  return broken;
}

/** Returns whether the object in state is this entry: a single entry by its id, a list's entry by value and scope. */
function isManagedBy({ id, key }: ManagedItem, entry: ModelEntry): boolean {
  return id === entry.id || key === entry.key;
}

function isPrunedNow(program: ModelProgram, holders: readonly ManagedItem[]): boolean {
  return holders.some(
    ({ resource, isUnmanaged, list }) => isUnmanaged && isPruned(findListOptions(program, resource)?.mode, list),
  );
}

/**
 * Returns the violated guarantees among those that hold for a run without concurrent console changes, from its refresh
 * to its end.
 */
export function checkQuietRun(facts: RunFacts): string[] {
  const { program, before, holdings, run, isPreviewed } = facts;
  const broken = [...compareRefresh(before, holdings), ...findForgottenEntries(facts), ...findRepeatedCreates(facts)];
  const mistakes = findProgramMistakes(program, holdings);
  const obstacles = findObstacles(program, before, holdings);
  const reasons = `(mistakes: ${mistakes.join("; ") || "none"}; obstacles: ${obstacles.map(({ reason }) => reason).join("; ") || "none"})`;
  // Without a preview, the run starts the resources that precede the mistake, and one of them may fail first.
  const mayFail = !isPreviewed && obstacles.length > 0;
  if ((run.result === "refused") !== mistakes.length > 0 && !(run.result === "failed" && mayFail)) {
    broken.push(`the run was ${run.result} ${reasons}: ${run.messages.join("\n")}`);
  }
  if (run.result === "failed" && obstacles.length === 0) {
    broken.push(`the run failed without a reason ${reasons}: ${run.messages.join("\n")}`);
  }
  if (run.result === "ok" && !isContested(facts)) {
    const sure = obstacles.filter(({ isCertain }) => isCertain);
    if (sure.length > 0) broken.push(`the run succeeded over ${sure.map(({ reason }) => reason).join("; ")}`);
    broken.push(...checkResult(facts));
  } else if (run.result !== "ok" && !isContested(facts)) {
    broken.push(...checkFailure(facts));
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
    if (new Set(declared.map(formatEntryKey)).size < 2) return false;
    const holders = holdings.entries.filter((heldItem) => isManagedBy(heldItem, row) && !heldItem.isUnmanaged);
    const hasOtherKey = declared.some(
      (entry) =>
        formatEntryKey(entry) !== row.key &&
        holders.some(({ resource, id }) => id === row.id && resource === getResourceName(program, entry.place)),
    );
    return new Set(holders.map(({ resource }) => resource)).size > 1 || hasOtherKey;
  });
}

/** Returns where the state after a refresh differs from the tenant's contents. */
function compareRefresh({ entries, vips }: TenantSnapshot, holdings: StackContents): string[] {
  const broken: string[] = [];
  for (const heldItem of holdings.entries) {
    const row = entries.find(({ id, key }) => (heldItem.id === undefined ? key === heldItem.key : id === heldItem.id));
    const isRight = row?.key === heldItem.key && row.list === heldItem.list && row.comment === heldItem.comment;
    if (!isRight)
      broken.push(`the state of ${heldItem.resource} holds ${formatEntry(heldItem)}, but there is ${formatEntry(row)}`);
  }
  for (const heldItem of holdings.vips) {
    const row = vips.find(({ email }) => email === heldItem.key);
    if (row?.comment !== heldItem.comment) {
      broken.push(
        `the state of ${heldItem.resource} holds ${heldItem.key} "${heldItem.comment}", but there is ${JSON.stringify(row)}`,
      );
    }
  }
  return broken;
}

/**
 * Returns entries that the stack created and its state forgot. An entry that was deleted and recreated by hand still
 * belongs to the stack.
 */
function findForgottenEntries({ before, holdings, memory }: RunFacts): string[] {
  const isHeld = (row: ModelEntry): boolean =>
    holdings.entries.some(({ key, id, isList, isUnmanaged }) => {
      // A single resource keeps its own row, whatever that row has become.
      const isBusy = !isList && id !== row.id && parseKeyValue(key) === row.value;
      return isBusy || (key === row.key && !isUnmanaged);
    });
  return memory
    .listRequiredEntries(before)
    .filter((row) => !isHeld(row))
    .map((row) => `the state has forgotten ${formatEntry(row)}`);
}

/** Returns requests that create an existing object again: a service that permits it would hold duplicates. */
function findRepeatedCreates({ before, audit, requests }: RunFacts): string[] {
  const broken: string[] = [];
  const removedIds = new Set(
    audit.flatMap(({ action, target }) => (action === "allow_deny_entry.delete" ? [target] : [])),
  );
  const moved = new Set(audit.flatMap(({ action, target }) => (action === "allow_deny_entry.update" ? [target] : [])));
  const createdIds = new Set<string>();
  for (const { method, path, body, status } of requests) {
    if (method !== "POST" || !path.endsWith("/allow_deny_entries")) continue;
    const { value, verdict_scope: scope } = body as { value: string; verdict_scope: string };
    const key = formatEntryKey({ value: canonicalize(value), scope });
    const there = before.entries.find((entry) => entry.key === key);
    if (there !== undefined && !removedIds.has(there.id) && !moved.has(there.id)) {
      broken.push(`${key} was created (${status}), though it was there`);
    }
    if (status < 300 && createdIds.has(key) && removedIds.size === 0) broken.push(`${key} was created twice`);
    if (status < 300) createdIds.add(key);
  }
  return broken;
}

/** Returns the errors of an invalid program, which the preview reports. */
export function findProgramMistakes(program: ModelProgram, holdings: StackContents): string[] {
  const mistakes: string[] = [];
  const { entries, vips, lists } = program;
  for (const [index, entry] of entries.entries()) {
    for (const other of entries.slice(index + 1)) {
      const areInLists = isListPlace(entry.place) || isListPlace(other.place);
      const isTwice = formatEntryKey(entry) === formatEntryKey(other);
      if (isTwice && (areInLists || entry.list !== other.list || entry.comment !== other.comment)) {
        mistakes.push(`${formatEntryKey(entry)} is declared twice`);
      }
      if (!isTwice && entry.value === other.value && entry.list !== other.list) {
        mistakes.push(`${entry.value} is on both lists`);
      }
    }
  }
  for (const [index, vip] of vips.entries()) {
    for (const other of vips.slice(index + 1)) {
      const areInLists = isListPlace(vip.place) || isListPlace(other.place);
      const areAlike = vip.comment === other.comment && vip.keep === other.keep;
      if (vip.email === other.email && (areInLists || !areAlike)) mistakes.push(`${vip.email} is declared twice`);
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
          key: formatEntryKey(entry),
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
      ({ resource, isReplaced }) => resource === getResourceName(program, place) && !isReplaced,
    );
    const lost = before.filter(
      ({ key, isUnmanaged, list }) =>
        !own.some((candidate) => candidate.key === key) &&
        !ignored.includes(parseKeyValue(key)) &&
        (!isUnmanaged || isPruned(options.mode, list)) &&
        !(isVips && options.keep),
    );
    for (const name of options.protect) {
      const isThere = own.some((candidate) => candidate.name === name);
      const isLost = lost.some(({ key }) => parseKeyValue(key) === name);
      if (!isThere || isLost) mistakes.push(`${place} protects ${name}`);
    }
    if (!options.mayBeEmptied && own.length === 0 && lost.length > 0) mistakes.push(`${place} is emptied`);
  }
  return mistakes;
}

/** An obstacle to applying a program. */
export interface Obstacle {
  readonly reason: string;
  /** Whether the obstacle always makes a run fail; otherwise the run may or may not fail. */
  readonly isCertain: boolean;
  /** The entry that a colleague would remove in the console. */
  readonly entry?: ModelEntry;
  /** The declaration that would have to be removed. */
  readonly duplicate?: PlacedEntry;
  readonly email?: string;
}

export function findObstacles(program: ModelProgram, { entries }: TenantSnapshot, holdings: StackContents): Obstacle[] {
  const obstacles: Obstacle[] = [];
  for (const entry of program.entries) {
    const resourceName = getResourceName(program, entry.place);
    const own = holdings.entries.find(
      (heldItem) => heldItem.resource === resourceName && !heldItem.isReplaced && !heldItem.isList,
    );
    const isAnother = own !== undefined && own.key !== formatEntryKey(entry) && parseKeyValue(own.key) === entry.value;
    if (
      isAnother &&
      program.entries.some((other) => other !== entry && formatEntryKey(other) === formatEntryKey(entry))
    ) {
      const reason = `${resourceName} holds another entry than the one that is declared twice alike`;
      obstacles.push({ reason, isCertain: false, duplicate: entry });
    }
    for (const row of entries.filter(({ value }) => value === entry.value)) {
      const holders = holdings.entries.filter(({ id, key }) => (id === undefined ? key === row.key : id === row.id));
      const isOwn = holders.some((heldItem) => heldItem.resource === resourceName && !heldItem.isReplaced);
      if (row.key === formatEntryKey(entry)) {
        const isMoved = own !== undefined && parseKeyValue(own.key) === entry.value && own.id !== row.id;
        if (isMoved)
          obstacles.push({
            reason: `${resourceName} holds another entry than ${formatEntry(row)}`,
            isCertain: false,
            entry: row,
          });
        if (isSame(entry, row) || isOwn || canAdopt(entry, program)) continue;
        const isCertain = holders.length === 0 && !isMoved;
        obstacles.push({ reason: `there is ${formatEntry(row)}, not as declared`, isCertain, entry: row });
      } else if (row.list !== entry.list) {
        const isOfTheList = isOwn && isListPlace(entry.place);
        if (!isOfTheList)
          obstacles.push({ reason: `there is ${formatEntry(row)} in the way`, isCertain: false, entry: row });
      }
    }
  }
  for (const { email } of program.vips) {
    if (email === EXTERNAL_MAILBOX) obstacles.push({ reason: `${email} is a stranger`, isCertain: true, email });
  }
  return obstacles;
}

/** Returns deviations from the exact result of a successful run. */
function checkResult(facts: RunFacts): string[] {
  const { program, before, after, holdings, holdingsAfter } = facts;
  const broken: string[] = [];

  for (const entry of program.entries) {
    const rows = after.entries.filter(({ key }) => key === formatEntryKey(entry));
    if (rows.length !== 1 || !rows.every((row) => isSame(entry, row))) {
      broken.push(
        `${formatEntry({ ...entry, key: formatEntryKey(entry) })} is declared, and there is ${rows.map(formatEntry).join(", ") || "nothing"}`,
      );
    }
  }
  for (const row of before.entries) {
    const fate = predictEntryFate(row, program, holdings);
    const now = after.entries.find(({ key }) => key === row.key);
    if (fate === "declared" || fate === "either") continue;
    if (fate === "goes" && now !== undefined)
      broken.push(`${formatEntry(row)} should be gone, and there is ${formatEntry(now)}`);
    if (fate === "stays" && JSON.stringify(now) !== JSON.stringify(row)) {
      broken.push(`${formatEntry(row)} is nobody's to change, and there is ${formatEntry(now)}`);
    }
  }
  for (const row of after.entries) {
    const isDeclared = program.entries.some((entry) => formatEntryKey(entry) === row.key);
    const wasThere = before.entries.some(({ key }) => key === row.key);
    if (!isDeclared && !wasThere) broken.push(`${formatEntry(row)} has come from nowhere`);
  }

  const excluded = new Set(before.exclusions);
  const vips = new Map(before.vips.map((vip) => [vip.email, vip]));
  for (const { email } of before.vips) {
    if (predictVipFate(email, program, holdings) !== "goes") continue;
    vips.delete(email);
    excluded.add(email);
  }
  for (const { email, comment } of program.vips) {
    vips.set(email, { email, comment });
    excluded.delete(email);
  }
  const serializeVips = (some: Iterable<ModelVip>): string =>
    JSON.stringify([...some].toSorted((a, b) => (a.email < b.email ? -1 : 1)));
  if (serializeVips(vips.values()) !== serializeVips(after.vips)) {
    broken.push(`the VIPs should be ${serializeVips(vips.values())}, and are ${serializeVips(after.vips)}`);
  }
  const exclusions = [...excluded].sort().join(", ");
  if (exclusions !== after.exclusions.join(", ")) {
    broken.push(`the exclusions should be ${exclusions}, and are ${after.exclusions.join(", ")}`);
  }

  broken.push(...compareState(program, holdingsAfter), ...compareRefresh(after, holdingsAfter));
  return broken;
}

/** Returns where the state differs from the declaration after a successful run. */
function compareState(program: ModelProgram, { entries, vips }: StackContents): string[] {
  const heldKeys = [...entries, ...vips].map(({ resource, key }) => `${resource} ${key}`).sort();
  const declared = [
    ...program.entries.map((entry) => `${getResourceName(program, entry.place)} ${formatEntryKey(entry)}`),
    ...program.vips.map((vip) => `${getResourceName(program, vip.place)} ${vip.email}`),
  ].sort();
  if (heldKeys.join("\n") === declared.join("\n")) return [];
  return [`the state holds ${heldKeys.join(", ")}, and declared is ${declared.join(", ")}`];
}

/** Returns changes to objects of others, and differences between state and tenant, after a refused or failed run. */
function checkFailure(facts: RunFacts): string[] {
  const { program, before, after, holdings, holdingsAfter, run, isPreviewed } = facts;
  if (run.result === "refused" && isPreviewed) {
    return JSON.stringify(before) === JSON.stringify(after) ? [] : ["a run that its preview refused has written"];
  }
  // Without a preview, the run applied the resources that precede the mistake as if they were the whole program.
  if (findProgramMistakes(program, holdings).length > 0) return [];
  const broken: string[] = [];
  for (const row of before.entries) {
    const fate = predictEntryFate(row, program, holdings);
    const now = after.entries.find(({ id }) => id === row.id);
    const isAnybodys = fate === "stays" || (fate === "declared" && isForeign(row, program, holdings));
    if (isAnybodys && JSON.stringify(now) !== JSON.stringify(row)) {
      broken.push(`${formatEntry(row)} is nobody's to change, and there is ${formatEntry(now)}`);
    }
  }
  for (const { email, comment } of before.vips) {
    const now = after.vips.find((vip) => vip.email === email);
    if (predictVipFate(email, program, holdings) === "stays" && now?.comment !== comment) {
      broken.push(`the VIP ${email} is nobody's to change, and there is ${JSON.stringify(now)}`);
    }
  }
  // An entry that moves between resources stays in the state of the first until that resource's turn.
  const isElsewhere = ({ resource, key }: ManagedItem): boolean =>
    program.entries.some(
      (entry) => formatEntryKey(entry) === key && getResourceName(program, entry.place) !== resource,
    ) ||
    program.vips.some(({ email, place }) => email === key && getResourceName(program, place) !== resource) ||
    [...holdings.entries, ...holdings.vips].some((other) => other.key === key && other.resource !== resource);
  const entries = holdingsAfter.entries.filter((heldItem) => !isElsewhere(heldItem));
  const vips = holdingsAfter.vips.filter((heldItem) => !isElsewhere(heldItem));
  broken.push(...compareRefresh(after, { entries, vips }));
  return broken;
}

/** Returns whether an entry occupies a declared place, doesn't belong to the stack and may not be adopted. */
function isForeign(row: ModelEntry, program: ModelProgram, { entries }: StackContents): boolean {
  const isHeld = entries.some(({ id, key }) => key === row.key || id === row.id);
  return !isHeld && !program.entries.some((entry) => entry.value === row.value && canAdopt(entry, program));
}

type EntryFate = "declared" | "goes" | "stays" | "either";

/** Returns what happens to an entry when a program is applied. */
function predictEntryFate(row: ModelEntry, program: ModelProgram, holdings: StackContents): EntryFate {
  if (program.entries.some((entry) => formatEntryKey(entry) === row.key)) return "declared";
  const holders = holdings.entries.filter(({ id, key }) => (id === undefined ? key === row.key : id === row.id));
  if (holders.some((heldItem) => predictRemoval(heldItem, row.value, program) === "goes")) return "goes";
  // The service may report a conflict with this entry. It never does so for two entries with different scopes on the
  // same list.
  const isTaken = program.entries.some(
    (entry) => entry.value === row.value && entry.list !== row.list && canAdopt(entry, program),
  );
  return isTaken ? "either" : "stays";
}

function predictVipFate(email: string, program: ModelProgram, holdings: StackContents): EntryFate {
  if (program.vips.some((vip) => vip.email === email)) return "declared";
  const holders = holdings.vips.filter(({ key }) => key === email);
  return holders.some((heldItem) => predictRemoval(heldItem, email, program) === "goes") ? "goes" : "stays";
}

/** Returns what a resource does with an undeclared entry that it holds. */
function predictRemoval(heldItem: ManagedItem, name: string, program: ModelProgram): "goes" | "stays" {
  const options = heldItem.isReplaced ? undefined : findListOptions(program, heldItem.resource);
  if (heldItem.isUnmanaged) {
    return isPruned(options?.mode, heldItem.list) && !options?.ignore.includes(name) ? "goes" : "stays";
  }
  if (!heldItem.isList || options === undefined) return heldItem.keep ? "stays" : "goes";
  return options.keep || options.ignore.includes(name) ? "stays" : "goes";
}

/** Returns the options of a declared list, by the resource's name. */
function findListOptions(program: ModelProgram, name: string): ModelListOptions | undefined {
  for (const place of ["A", "B", "V", "W"] as const) {
    if (getResourceName(program, place) === name) return program.lists[place];
  }
  return undefined;
}

function canAdopt(entry: PlacedEntry, program: ModelProgram): boolean {
  return isListPlace(entry.place) ? (program.lists[entry.place] ?? PLAIN).adopt : entry.adopt;
}

function isSame(entry: PlacedEntry, row: ModelEntry): boolean {
  return formatEntryKey(entry) === row.key && entry.list === row.list && entry.comment === row.comment;
}

function formatEntry(entry: Pick<ModelEntry, "key" | "list" | "comment"> | undefined): string {
  if (entry === undefined) return "nothing";
  return `${entry.list} ${entry.key}${entry.comment === "" ? "" : ` "${entry.comment}"`}`;
}

import { z } from "zod";
import type { RawArguments } from "../../settings/arguments";
import { sameListText } from "../../settings/comparable";
import { cutByDanger } from "../../settings/danger";
import { type EmailSecurityError, withCode } from "../../settings/email-security-error";
import { asUnmanaged, isUnmanaged, type KeyedList, sortedByKey } from "../../settings/keyed-list";
import type { ListKind } from "../../settings/list-arguments";
import { checkList } from "../../settings/list-check";
import { type ListMode, prunes, prunesAny } from "../../settings/list-mode";
import { ignoring, judge, pruning, readPatterns, removals } from "../../settings/list-safeguards";
import type { PatternTarget } from "../../settings/pattern";
import { keyPath } from "../../settings/property-path";
import { printable, quote } from "../../settings/text";
import { UNKNOWN } from "../../settings/unknown";
import type { OnlyRemoves } from "../reviewed-plan";
import { NotTriedError } from "./attempt-all";
import {
  GuardError,
  ListNotAppliedError,
  NotImportableError,
  PRUNED_BY_NEXT_RUN,
  PrunedByNextRunError,
} from "./errors";
import { holdToPlan, isHeld } from "./held-to-plan";
import {
  type Change,
  type Context,
  changeOf,
  type Declaration,
  type DeclaredThing,
  isDefined,
  type Lifecycle,
  PartialFailure,
  type TenantList,
} from "./lifecycle";

/** What every list takes; its content is under the property of its kind. */
export interface ListInputs {
  readonly mode?: ListMode;
  readonly ignore?: readonly string[];
  readonly onDelete?: "exclude" | "keep";
}

/** What tells one kind of whole list from another. */
export interface ListResource<Inputs extends ListInputs> {
  readonly kind: ListKind;
  readonly list: TenantList;
  /** The id of every resource of this kind: a list has none of its own at the service. */
  readonly id: string;
  /** The declared thing of a key. */
  readonly thing: (key: string, text: string, inputs: Inputs) => DeclaredThing | undefined;
  /** The key in the list of a declared thing's subject, and of its own key; undefined for those of another kind. */
  readonly keyOfSubject: (subject: string) => string | undefined;
  readonly keyOfDeclared: (key: string) => string | undefined;
  /** Whether this kind of list holds such things as other resources declare. */
  readonly holds: (target: PatternTarget) => boolean;
  /** The ids of a content, where they are known without a request. */
  readonly ids: (content: KeyedList) => readonly string[];
  /** What a person should know before these are removed, sentence by sentence. */
  readonly warnOfRemoval: (names: readonly string[], mode: string | undefined) => readonly string[];
  /** The keys of what is beside a list's own content and contradicts it. A run fails while it is there. */
  readonly conflicts: (known: KeyedList, others: KeyedList) => readonly string[];
  /** What the tenant holds under an id for an import, as it can be declared; undefined for an id of something else. */
  readonly lookUp: (id: string, context: Context) => Promise<LookedUp> | undefined;
  /** The ids that {@link lookUp} takes, as a message tells them. */
  readonly importIds: string;
  /** What the tenant holds: of the given keys, and beside them. */
  readonly observe: (known: KeyedList, context: Context, how: ObserveOptions) => Promise<Observed>;
  /** Makes the tenant hold what is declared and no more what is removed; answers what could not be done. */
  readonly apply: (plan: ListPlan, inputs: Inputs, context: Context) => Promise<readonly Failure[]>;
}

export interface ObserveOptions {
  /** Whether a list that misses a key is read again before the key counts as gone. */
  readonly sure: boolean;
  /** Whether a key should be there, so that a list which misses it may lag. Default: every key. */
  readonly isExpected?: (key: string) => boolean;
}

export interface Observed {
  /** The given keys that are there, with their texts as they are now. */
  readonly known: KeyedList;
  /** What is there beside them. */
  readonly others: KeyedList;
}

/** What an import finds. */
export interface LookedUp {
  readonly content: KeyedList;
  /** What no program can declare, each with the reason. */
  readonly left: readonly string[];
}

/** What one run does to a list. It removes nothing but what the state holds, so nothing that its preview did not show. */
export interface ListPlan {
  readonly declared: KeyedList;
  /** What the state holds, from an earlier run or a refresh. */
  readonly known: KeyedList;
  readonly removed: readonly (readonly [key: string, text: string])[];
}

/** One that could not be done. */
export interface Failure {
  readonly key: string;
  readonly name: string;
  readonly error: unknown;
  /** What is there instead; undefined when nothing is. */
  readonly there: string | undefined;
  /** How dangerous it is that this is not as declared: 0 for the most. */
  readonly danger: number;
  /** What came to be there under other keys, which the state must hold so that it is not forgotten. Default: nothing. */
  readonly others?: KeyedList;
}

type State = Readonly<Record<string, unknown>>;

/** Says in state that what is declared is not all there: the last run did only a part, or a refresh found a conflict. */
const INCOMPLETE = "incomplete";

/** What all whole lists do; a kind of list adds how it is read and written. */
export function listLifecycle<Inputs extends ListInputs>(
  resource: ListResource<Inputs>,
): Lifecycle<Inputs, State> {
  const { kind, id } = resource;
  const contentOf = (properties: unknown): KeyedList =>
    ((properties as RawArguments)[kind.property] ?? {}) as KeyedList;

  return {
    check: (raw, previous, ownDomains) =>
      checkList(kind, raw, previous, kind.refusal === undefined ? undefined : ownDomains?.()),

    checkRemoval(previous, onlyRemoves) {
      const content = without(contentOf(previous), onlyRemoves);
      return {
        inputs: { ...previous, [kind.property]: content },
        failures: judge(kind, previous, content, previous),
      };
    },

    complete: (inputs) => inputs as unknown as Inputs,

    declare(inputs) {
      const content = contentOf(inputs);
      const thingOf = (key: string | undefined): DeclaredThing | undefined => {
        // A text, such as a comment, that a preview does not know yet is no text.
        const text = key !== undefined && Object.hasOwn(content, key) ? content[key] : undefined;
        // What a refresh has shown, nobody declared.
        if (key === undefined || text === undefined || isUnmanaged(String(text))) return undefined;
        return resource.thing(key, text, inputs);
      };
      const declaration: Declaration = {
        isList: true,
        *things() {
          for (const key of Object.keys(content)) {
            const thing = thingOf(key);
            if (thing !== undefined) yield thing;
          }
        },
        find: (subject) => thingOf(resource.keyOfSubject(subject)),
        has: (key) => thingOf(resource.keyOfDeclared(key))?.key === key,
        refusals: (held) => refusalsOf(held, inputs),
      };
      const { mode } = inputs;
      if (mode === undefined || !prunesAny(mode)) return declaration;
      const ignored = readPatterns(inputs.ignore);
      return {
        ...declaration,
        mode,
        removesOthers: ignored.length === 0,
        wouldRemove: ({ target }) =>
          resource.holds(target) &&
          prunes(mode, target.list) &&
          !ignored.some((pattern) => pattern.matches(target)),
      };
    },

    warn(state, inputs) {
      if (!isKnown(inputs, kind)) return [];
      const removed = removals(kind, contentOf(state), contentOf(inputs), inputs);
      const names = removed.map(([key, text]) => kind.describe(key, text));
      return names.length === 0 ? [] : resource.warnOfRemoval(names, inputs.mode);
    },

    diff(state, inputs) {
      const options = [...new Set([...Object.keys(state), ...Object.keys(inputs)])]
        .filter((name) => name !== kind.property)
        .map((name) => changeOf(name, comparableOption(state, name), comparableOption(inputs, name)))
        .filter(isDefined);
      if (!isKnown(inputs, kind)) {
        // As "add", which is shown in a line; an "update" would show all that was there as gone.
        return [...options, { property: kind.property, kind: "add", replace: false }];
      }
      refuseByState(state, inputs);
      const content = contentChanges(kind, contentOf(state), contentOf(inputs));
      return [...content, ...options];
    },

    ids: (_id, _state, inputs) => (isKnown(inputs, kind) ? resource.ids(contentOf(inputs)) : []),

    foresee: (inputs) => ({ ...inputs }),

    async create(inputs, context) {
      const declared = contentOf(inputs);
      const { state, failures } = await sync({}, inputs, context);
      if (failures.length === 0) return { id, state };
      const count = Object.keys(declared).length;
      const error = notApplied(kind, failures, count);
      const isNothingThere =
        failures.length === count &&
        failures.every(({ there, others }) => there === undefined && others === undefined);
      // Only a list that is in state is refreshed.
      const isShownByRefresh = failures.some((failure) => failure.error instanceof PrunedByNextRunError);
      if (isNothingThere && !isShownByRefresh)
        throw new ListNotAppliedError(`${error.message}\n${reasonsOf(failures).join("\n")}`);
      throw new PartialFailure(id, state, error, [withCode(error), ...reasonsOf(failures)]);
    },

    async lookUp(given, context) {
      const looking = resource.lookUp(given.trim(), context);
      if (looking === undefined) {
        throw new NotImportableError(
          `${quote(given)} names no whole list; it is imported by the id ${resource.importIds}. Nothing was imported.`,
        );
      }
      const { content, left } = await looking;
      if (left.length > 0) {
        context.say(
          `Left out of the import, and as before at the service: ${counted(left.length, kind)} that can't be declared: ${fewOf(left, " | ")}`,
        );
      }
      const inputs = { [kind.property]: sortedByKey(content) };
      return { id, state: { ...inputs }, inputs };
    },

    query: z.strictObject({}),

    list: async () => [{ id, name: id }],

    async read(_id, { [INCOMPLETE]: isIncomplete, confirmRemovals, ...rest }, context) {
      // What was confirmed for a run that did only a part is still to be done.
      const isUsed = confirmRemovals !== undefined && !isIncomplete;
      const state: State = isUsed ? { ...rest, confirmRemovals } : rest;
      const before = contentOf(state);
      const { known, others } = await resource.observe(before, context, { sure: true });
      await context.confirmTenant(resource.list);
      const content = sortedByKey(withShown(known, others, state as ListInputs));
      const fresh = { ...state, [kind.property]: content };
      const inputs = state as ListInputs;
      // A list that prunes allows removes them.
      const isIgnored = prunes(inputs.mode, "allow") ? () => true : ignoring(kind, inputs);
      const staying = Object.fromEntries(Object.entries(others).filter((one) => !isIgnored(...one)));
      const conflicts = resource.conflicts(known, staying);
      if (conflicts.length > 0) {
        const names = conflicts.map((key) => kind.describe(key, others[key] ?? ""));
        context.say(
          `At the tenant beside what is declared, which it contradicts: ${fewOf(names)}. The next \`up\` fails until that is removed.`,
        );
        return { id, state: { ...fresh, [INCOMPLETE]: true }, inputs: { ...fresh } };
      }
      const isAsBefore = !isIncomplete && contentChanges(kind, before, content).length === 0;
      // Thousands of entries, to say what the engine knows, would take it as long again as the reading took.
      return isAsBefore ? { id, state: fresh } : { id, state: fresh, inputs: { ...fresh } };
    },

    async update(_id, before, inputs, context) {
      const onlyRemoves = context.reviewed?.()?.onlyRemoves;
      if (onlyRemoves !== undefined) return await removeOnly(before, inputs, onlyRemoves, context);
      refuseByState(before, inputs);
      const changes = contentChanges(kind, contentOf(before), contentOf(inputs));
      if (changes.length === 0 && !before[INCOMPLETE]) return stateOf(inputs, contentOf(inputs));
      const { state, failures } = await sync(contentOf(before), inputs, context);
      if (failures.length === 0) return state;
      const error = notApplied(kind, failures, Math.max(changes.length, failures.length));
      throw new PartialFailure(id, state, error, [withCode(error), ...reasonsOf(failures)]);
    },

    async delete(_id, state, context) {
      const content = contentOf(state);
      const entries = Object.entries(content);
      const own = Object.fromEntries(entries.filter(([, text]) => !isUnmanaged(text)));
      const others = entries.length - Object.keys(own).length;
      const inputs = state as unknown as Inputs;
      if (others > 0) context.say(`${counted(others, kind)} that this list never declared stay as they are.`);
      if (inputs.onDelete === "keep") {
        sayKept(own, {}, context);
        return;
      }
      if (context.successor?.refusals !== undefined)
        await refuseReplacement(own, context.successor.refusals, context);
      sayDeclaredElsewhere(own, inputs, context);
      const plan = { declared: {}, known: content, removed: Object.entries(own) };
      if (isHeld(context)) await refuseUnreviewed(plan, inputs, context);
      await context.confirmTenant(resource.list, { removes: true });
      const failures = await resource.apply(plan, inputs, context);
      if (failures.length === 0) return;
      const error = notApplied(kind, failures, entries.length - others);
      throw new ListNotAppliedError(`${error.message}\n${reasonsOf(failures).join("\n")}`);
    },
  };

  /** What of a content a run leaves that only removes; what nobody declared, it never removes. */
  function without(content: KeyedList, onlyRemoves: OnlyRemoves): KeyedList {
    const kept = Object.entries(content).filter(
      ([key, text]) => isUnmanaged(text) || !onlyRemoves(kind.subjectKind, key),
    );
    return Object.fromEntries(kept);
  }

  /** A run that only removes: whatever else differs from what is declared stays as it is, in state too. */
  async function removeOnly(
    before: State,
    inputs: Inputs,
    onlyRemoves: OnlyRemoves,
    context: Context,
  ): Promise<State> {
    const known = contentOf(before);
    const kept = without(known, onlyRemoves);
    const refusals = judge(kind, before, kept, before).map(({ property, reason }) => `${property} ${reason}`);
    if (refusals.length > 0) throw new GuardError(refusals.join("\n"));
    const removed = removals(kind, known, kept, inputs);
    const there = await refuseUnreviewed({ declared: {}, known, removed }, inputs, context);
    await context.confirmTenant(resource.list, { removes: true });
    // The plan told how each is at the tenant, which may be otherwise than the state has it.
    const plan = { declared: {}, known: { ...known, ...there }, removed: fromThere(removed, there) };
    const failures = await resource.apply(plan, inputs, context);
    const content = { ...kept };
    for (const failure of failures) if (failure.there !== undefined) content[failure.key] = failure.there;
    const { [INCOMPLETE]: _incomplete, ...rest } = before;
    const state: State = { ...rest, [kind.property]: sortedByKey(content) };
    if (failures.length === 0) {
      // An earlier run may have left more undone than this one does.
      const isWhole = contentChanges(kind, content, contentOf(inputs)).length === 0;
      return isWhole || !before[INCOMPLETE] ? state : { ...state, [INCOMPLETE]: true };
    }
    const error = notApplied(kind, failures, removed.length);
    throw new PartialFailure(id, { ...state, [INCOMPLETE]: true }, error, [
      withCode(error),
      ...reasonsOf(failures),
    ]);
  }

  /**
   * Check judges what a run removes by the arguments of the run before. After one that did only a part, the engine holds
   * older ones, and the state has more to lose: then it is judged once more.
   */
  function refuseByState(state: State, inputs: Inputs): void {
    if (!state[INCOMPLETE] || !isKnown(inputs, kind)) return;
    const refusals = refusalsOf(contentOf(state), inputs);
    if (refusals.length > 0) throw new GuardError(refusals.join("\n"));
  }

  function refusalsOf(held: KeyedList, inputs: Inputs): string[] {
    const judged = judge(kind, inputs as unknown as RawArguments, contentOf(inputs), {
      [kind.property]: held,
    });
    return judged.map(({ property, reason }) => `${property} ${reason}`);
  }

  /**
   * What the engine is told to replace (`--replace`), it has checked as if there were no list before: then what the new one
   * leaves out is judged when the old one is to go.
   */
  async function refuseReplacement(
    own: KeyedList,
    refusalsFor: (held: KeyedList) => readonly string[],
    context: Context,
  ): Promise<void> {
    const { known } = await resource.observe(own, context, { sure: true });
    const refusals = refusalsFor(known);
    if (refusals.length === 0) return;
    throw new GuardError(
      `The list is replaced, and what it leaves out was not removed:\n${refusals.join("\n").replaceAll("Nothing was changed.", "Nothing was removed.")}`,
    );
  }

  async function sync(
    known: KeyedList,
    inputs: Inputs,
    context: Context,
  ): Promise<{ state: State; failures: readonly Failure[] }> {
    const declared = contentOf(inputs);
    const removed = removals(kind, known, declared, inputs);
    if (isHeld(context)) await refuseUnreviewed({ declared, known, removed }, inputs, context);
    await context.confirmTenant(resource.list);
    const failures = await resource.apply({ declared, known, removed }, inputs, context);
    const content: Record<string, string> = { ...declared };
    for (const { key, there, others } of failures) {
      if (there === undefined) delete content[key];
      else content[key] = there;
      for (const [other, text] of Object.entries(others ?? {})) content[other] ??= text;
    }
    if (inputs.onDelete === "keep") sayKept(known, declared, context);
    const isContradicted =
      prunesAny(inputs.mode) && (await reportOthers({ ...known, ...declared }, inputs, context));
    const state = stateOf(inputs, sortedByKey(content));
    const isWhole = failures.length === 0 && !isContradicted;
    return { state: isWhole ? state : { ...state, [INCOMPLETE]: true }, failures };
  }

  /**
   * Where the run is held to a plan that was reviewed, nothing is written unless all of this list was in it just so.
   *
   * @returns what is there of it.
   */
  async function refuseUnreviewed(plan: ListPlan, inputs: Inputs, context: Context): Promise<KeyedList> {
    const { declared, known, removed } = plan;
    const going = Object.fromEntries(removed);
    const isExpected = (key: string) => Object.hasOwn(known, key);
    const observed = await resource.observe({ ...going, ...declared }, context, { sure: true, isExpected });
    holdToPlan(
      kind,
      [
        ...Object.entries(declared).map(([key, text]) => ({ key, before: observed.known[key], after: text })),
        ...removed
          .filter(([key, text]) => !context.isDeclared(resource.thing(key, text, inputs)?.key ?? ""))
          .map(([key]) => ({ key, before: observed.known[key], after: undefined })),
      ],
      context,
    );
    return observed.known;
  }

  function sayKept(known: KeyedList, declared: KeyedList, { say }: Context): void {
    const kept = Object.keys(known).filter((key) => !Object.hasOwn(declared, key));
    if (kept.length === 0) return;
    const forgets = kept.length === 1 ? "forgets it" : "forgets them";
    say(`${counted(kept.length, kind)} stay (onDelete: "keep"): only the stack ${forgets}.`);
  }

  function sayDeclaredElsewhere(content: KeyedList, inputs: Inputs, { say, isDeclared }: Context): void {
    const staying = Object.entries(content).filter(([key, text]) =>
      isDeclared(resource.thing(key, text, inputs)?.key ?? ""),
    );
    if (staying.length === 0) return;
    const names = staying.map(([key, text]) => kind.describe(key, text));
    const stays = staying.length === 1 ? "stays: the program declares it" : "stay: the program declares them";
    say(`${counted(staying.length, kind)} ${stays} (${fewOf(names)}).`);
  }

  /**
   * What was found at the tenant and neither the state nor the program knows is left, and said.
   *
   * @returns whether some of it contradicts what is declared: then the next run looks again, and says so too.
   */
  async function reportOthers(known: KeyedList, inputs: Inputs, context: Context): Promise<boolean> {
    const observed = await resource.observe(known, context, { sure: false }).catch((error: unknown) => error);
    if (!isObserved(observed)) {
      // What was applied is applied; that there may be more is no reason to forget it.
      context.say(`What else the tenant holds could not be read: ${withCode(observed)}`);
      return false;
    }
    const left = prunable(observed.others, inputs);
    const contradicting = new Set(resource.conflicts(observed.known, left));
    if (contradicting.size > 0) {
      const names = [...contradicting].map((key) => kind.describe(key, left[key] ?? ""));
      context.say(
        `At the tenant beside what is declared, which it contradicts: ${fewOf(names)}. ${PRUNED_BY_NEXT_RUN}`,
      );
    }
    const found = Object.entries(left).filter(([key]) => !contradicting.has(key));
    if (found.length === 0) return contradicting.size > 0;
    const { shown, more } = cutByDanger(found, FEW, ([key, text]) => ({
      to: kind.subjectKind === "vip" ? "vip" : kind.standing(key, text)?.list,
    }));
    const names = [
      ...shown.map(([key, text]) => printable(kind.describe(key, text))),
      ...(more === undefined ? [] : [`… and ${more}`]),
    ];
    context.say(
      `Left alone: ${counted(found.length, kind)} that no preview has shown (${names.join(", ")}). A refresh shows them, and the run after it removes what is not declared then.`,
    );
    return contradicting.size > 0;
  }

  /**
   * The known content with what the list prunes. An entry that was shown before and has moved to a list which isn't pruned
   * is left out: the run would not remove it.
   */
  function withShown(known: KeyedList, others: KeyedList, inputs: ListInputs): KeyedList {
    const isPruned = pruning(kind, inputs);
    const kept = Object.entries(known).filter(([key, text]) => !isUnmanaged(text) || isPruned(key, text));
    const shown = Object.entries(prunable(others, inputs)).map(([key, text]) => [key, asUnmanaged(text)]);
    return Object.fromEntries([...kept, ...shown]);
  }

  function prunable(content: KeyedList, inputs: ListInputs): KeyedList {
    const isPruned = pruning(kind, inputs);
    return Object.fromEntries(Object.entries(content).filter(([key, text]) => isPruned(key, text)));
  }

  function stateOf(inputs: Inputs, content: KeyedList): State {
    return { ...inputs, [kind.property]: content };
  }
}

/** What goes, as it is at the tenant where it is there. */
function fromThere(removed: ListPlan["removed"], there: KeyedList): ListPlan["removed"] {
  return removed.map(([key, text]) => [key, there[key] ?? text]);
}

/** The changes of a list's content, key by key. */
function contentChanges(kind: ListKind, before: KeyedList, after: KeyedList): Change[] {
  if (isSameContent(before, after)) return [];
  const changes: Change[] = [];
  const note = (key: string, change: Change["kind"]): void => {
    changes.push({ property: keyPath(kind.property, key), kind: change, replace: false });
  };
  for (const [key, text] of Object.entries(after)) {
    if (!Object.hasOwn(before, key)) note(key, "add");
    else if (!sameListText(before[key] ?? "", text)) note(key, "update");
  }
  for (const key of Object.keys(before)) {
    if (!Object.hasOwn(after, key)) note(key, "delete");
  }
  return changes;
}

/** Whether two contents, both in the order of their keys, are the same: most are, and thousands are looked up for nothing. */
function isSameContent(before: KeyedList, after: KeyedList): boolean {
  const keys = Object.keys(before);
  const others = Object.keys(after);
  return (
    keys.length === others.length && keys.every((key, at) => key === others[at] && before[key] === after[key])
  );
}

function isObserved(observed: unknown): observed is Observed {
  return typeof observed === "object" && observed !== null && "others" in observed;
}

/** Whether the content is known: in a preview it may not be. */
function isKnown(inputs: unknown, kind: ListKind): boolean {
  return (inputs as RawArguments)[kind.property] !== UNKNOWN;
}

function comparableOption(properties: unknown, name: string): unknown {
  const value = (properties as RawArguments)[name];
  return Array.isArray(value) ? JSON.stringify(value) : value;
}

function notApplied(kind: ListKind, failures: readonly Failure[], of: number): EmailSecurityError {
  const rest =
    failures.length < of
      ? "Everything else is as declared, and the stack's state holds what the service said is there."
      : "The stack's state holds what the service said is there.";
  return new ListNotAppliedError(
    `${failures.length} of ${of} ${kind.noun[1]} could not be brought to what is declared; the reasons are below. ${rest} Fix what the reasons name, then run again: a run does only what is left.`,
  );
}

/** So many that failed alike are told one by one; more are told together. */
const TOLD_APART = 5;

/**
 * A reason for each that failed. Those that failed alike, as when the service went down, are told in one; so is what was
 * not even tried.
 */
function reasonsOf(unsorted: readonly Failure[]): string[] {
  const byName = unsorted.toSorted(
    (one, other) => one.danger - other.danger || (one.name < other.name ? -1 : 1),
  );
  // What was not even tried comes last.
  const failures = byName.toSorted((one, other) => Number(isNotTried(one)) - Number(isNotTried(other)));
  const alike = Map.groupBy(failures, kindOf);
  return [...alike.values()].flatMap((group) => {
    const [first] = group;
    const isTried = first !== undefined && !isNotTried(first);
    if (first === undefined || (isTried && group.length <= TOLD_APART)) {
      return group.map(({ name, error }) => `${printable(name)}: ${withCode(error)}`);
    }
    const names = fewOf(group.map(({ name }) => name));
    return [`${group.length} ${isTried ? "alike" : "more"} (${names}): ${withCode(first.error)}`];
  });
}

/** The same for failures that differ only in counts, ids and the request, as those of many entries do. */
function kindOf(failure: Failure): string {
  if (isNotTried(failure)) return "";
  return withCode(failure.error).replace(/\b(?:GET|POST|PATCH|DELETE) \S+|\d+/g, "");
}

function isNotTried({ error }: Failure): boolean {
  return error instanceof NotTriedError;
}

function counted(count: number, kind: ListKind): string {
  return `${count} ${count === 1 ? kind.noun[0] : kind.noun[1]}`;
}

/** So many are named. */
const FEW = 5;

export function fewOf(names: readonly string[], between = ", "): string {
  const shown = names.slice(0, FEW).map(printable).join(between);
  return names.length > FEW ? `${shown}${between}… and ${names.length - FEW} more` : shown;
}

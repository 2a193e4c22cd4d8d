import { z } from "zod";
import type { RawArguments } from "../../settings/arguments";
import { withCode } from "../../settings/email-security-error";
import { isUnmanaged, type KeyedList, sortedByKey } from "../../settings/keyed-list";
import { checkList } from "../../settings/list-check";
import { prunes, prunesAny } from "../../settings/list-mode";
import { ignoring, judge, readPatterns, removals } from "../../settings/list-safeguards";
import { quote } from "../../settings/text";
import { withoutUndefined } from "../../settings/without-undefined";
import { GuardError, ListNotAppliedError, NotImportableError, PrunedByNextRunError } from "./errors";
import { holdToPlan, isHeld } from "./held-to-plan";
import {
  type Context,
  changeOf,
  type Declaration,
  type DeclaredThing,
  isDefined,
  type Lifecycle,
  PartialFailure,
} from "./lifecycle";
import { contentChanges, fromThere, isKnown, withShown } from "./list-content";
import { notApplied, reasonsOf } from "./list-failures";
import { counted, fewOf } from "./list-names";
import {
  describeNamedConflicts,
  FAILS_NEXT_RUN,
  namedConflictsSentence,
  reportOthers,
  sayContradictions,
  sayDeclaredElsewhere,
  sayKept,
  sayNamedConflicts,
} from "./list-reports";
import type { Failure, ListInputs, ListPlan, ListResource } from "./list-resource";
import type { OnlyRemoves } from "./reviewed-plan";

type State = Readonly<Record<string, unknown>>;

/** Marks a state as incomplete: the last run was partial, or a refresh found a conflict. */
const INCOMPLETE = "incomplete";
/** Names conflicts in state that fail no run, as of the last check. */
const CONFLICT = "conflict";

/** Builds the lifecycle of a whole list; each kind of list adds how it is read and written. */
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
        // A text that a preview doesn't know yet, such as a comment, isn't a string.
        const text = key !== undefined && Object.hasOwn(content, key) ? content[key] : undefined;
        // Entries that only a refresh has shown are undeclared.
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
      const { [CONFLICT]: conflict } = state;
      const named = typeof conflict === "string" ? [namedConflictsSentence(conflict)] : [];
      if (!isKnown(inputs, kind)) return named;
      const removed = removals(kind, contentOf(state), contentOf(inputs), inputs);
      const names = removed.map(([key, text]) => kind.describe(key, text));
      return names.length === 0 ? named : [...named, ...resource.warnOfRemoval(names, inputs.mode)];
    },

    diff(state, inputs) {
      const options = [...new Set([...Object.keys(state), ...Object.keys(inputs)])]
        .filter((name) => name !== kind.property && name !== CONFLICT)
        .map((name) => changeOf(name, comparableOption(state, name), comparableOption(inputs, name)))
        .filter(isDefined);
      if (!isKnown(inputs, kind)) {
        // Uses "add", which is shown in one line; an "update" would show the previous content as removed.
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

    async read(_id, { [INCOMPLETE]: isIncomplete, [CONFLICT]: conflict, confirmRemovals, ...rest }, context) {
      // After a partial run, the confirmed removals are still pending.
      const isUsed = confirmRemovals !== undefined && !isIncomplete;
      const state: State = isUsed ? { ...rest, confirmRemovals } : rest;
      const inputs = state as ListInputs;
      const before = contentOf(state);
      // A list that prunes allows removes them.
      const isIgnored = prunes(inputs.mode, "allow") ? () => true : ignoring(kind, inputs);
      const look = async () => {
        const { known, others } = await resource.observe(before, context, { sure: true });
        const staying = Object.fromEntries(Object.entries(others).filter((one) => !isIgnored(...one)));
        const named = describeNamedConflicts(resource, { known, others }, inputs);
        return { known, others, conflicts: resource.conflicts(known, staying), named };
      };
      const isNew = (seen: Awaited<ReturnType<typeof look>>) =>
        (seen.conflicts.length > 0 && !isIncomplete) || (seen.named !== undefined && conflict === undefined);
      let seen = await look();
      // A lagging list may still show what the last run removed.
      while (isNew(seen) && (await context.tenant.readLater(resource.list))) seen = await look();
      await context.confirmTenant(resource.list);
      const { known, others, conflicts, named } = seen;
      const content = sortedByKey(withShown(kind, known, others, inputs));
      const fresh = { ...state, [kind.property]: content };
      if (named !== undefined) context.say(namedConflictsSentence(named));
      const found: State = named === undefined ? fresh : { ...fresh, [CONFLICT]: named };
      if (conflicts.length > 0) {
        sayContradictions(kind, conflicts, others, FAILS_NEXT_RUN, context);
        return { id, state: { ...found, [INCOMPLETE]: true }, inputs: { ...fresh } };
      }
      const isAsBefore = !isIncomplete && contentChanges(kind, before, content).length === 0;
      // Returning thousands of unchanged entries to the engine would take as long as reading them.
      return isAsBefore ? { id, state: found } : { id, state: found, inputs: { ...fresh } };
    },

    async update(_id, before, inputs, context) {
      const onlyRemoves = context.reviewed?.()?.onlyRemoves;
      if (onlyRemoves !== undefined) return await removeOnly(before, inputs, onlyRemoves, context);
      refuseByState(before, inputs);
      const changes = contentChanges(kind, contentOf(before), contentOf(inputs));
      if (changes.length === 0 && !before[INCOMPLETE]) {
        const { [CONFLICT]: conflict } = before;
        return { ...stateOf(inputs, contentOf(inputs)), ...withoutUndefined({ [CONFLICT]: conflict }) };
      }
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
        sayKept(kind, own, {}, context);
        return;
      }
      if (context.successor?.refusals !== undefined)
        await refuseReplacement(own, context.successor.refusals, context);
      sayDeclaredElsewhere(resource, own, inputs, context);
      const plan = { declared: {}, known: content, removed: Object.entries(own) };
      if (isHeld(context)) await refuseUnreviewed(plan, inputs, context);
      await context.confirmTenant(resource.list, { removes: true });
      const failures = await resource.apply(plan, inputs, context);
      if (failures.length === 0) return;
      const error = notApplied(kind, failures, entries.length - others);
      throw new ListNotAppliedError(`${error.message}\n${reasonsOf(failures).join("\n")}`);
    },
  };

  /** Returns the content that a remove-only run leaves; it never removes undeclared entries. */
  function without(content: KeyedList, onlyRemoves: OnlyRemoves): KeyedList {
    const kept = Object.entries(content).filter(
      ([key, text]) => isUnmanaged(text) || !onlyRemoves(kind.subjectKind, key),
    );
    return Object.fromEntries(kept);
  }

  /** Runs removals only: other differences from the declaration stay, in state too. */
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
    // The plan showed each entry as the tenant has it, which may differ from the state.
    const plan = { declared: {}, known: { ...known, ...there }, removed: fromThere(removed, there) };
    const failures = await resource.apply(plan, inputs, context);
    const content = { ...kept };
    for (const failure of failures) if (failure.there !== undefined) content[failure.key] = failure.there;
    const { [INCOMPLETE]: _incomplete, ...rest } = before;
    const state: State = { ...rest, [kind.property]: sortedByKey(content) };
    if (failures.length === 0) {
      // An earlier run may have left more undone than this one.
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
   * Checks removals against the state. The check uses the arguments of the previous run, but after a partial run the engine
   * holds older ones and the state may lose more.
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
   * Checks a replacement. For `--replace` the engine checks the arguments as if there were no previous list, so removals are
   * judged when the old one is deleted.
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
    if (inputs.onDelete === "keep") sayKept(kind, known, declared, context);
    const isContradicted =
      prunesAny(inputs.mode) && (await reportOthers(resource, { ...known, ...declared }, inputs, context));
    const named = await sayNamedConflicts(resource, { ...known, ...declared }, inputs, context);
    const state = { ...stateOf(inputs, sortedByKey(content)), ...withoutUndefined({ [CONFLICT]: named }) };
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
    const observed = await resource.observe({ ...going, ...declared }, context, {
      sure: true,
      expected: known,
    });
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

  function stateOf(inputs: Inputs, content: KeyedList): State {
    return { ...inputs, [kind.property]: content };
  }
}

function comparableOption(properties: unknown, name: string): unknown {
  const value = (properties as RawArguments)[name];
  return Array.isArray(value) ? JSON.stringify(value) : value;
}

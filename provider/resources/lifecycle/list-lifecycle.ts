import { z } from "zod";
import type { RawArguments } from "../../settings/arguments";
import { withCode } from "../../settings/email-security-error";
import { isUnmanaged, type KeyedList, sortedByKey } from "../../settings/keyed-list";
import { checkList } from "../../settings/list-check";
import { prunes, prunesAny } from "../../settings/list-mode";
import { ignoring, judge, readPatterns, removals } from "../../settings/list-safeguards";
import { quote } from "../../settings/text";
import { withoutUndefined } from "../../settings/without-undefined";
import { readConfirmed } from "../../tenant";
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
  warnOfNamedConflicts,
} from "./list-reports";
import type { Failure, ListInputs, ListPlan, ListResource } from "./list-resource";
import type { OnlyRemoves } from "./reviewed-plan";

type ListState = Readonly<Record<string, unknown>>;

/** Marks a state as incomplete: the last run was partial, or a refresh found a conflict. */
const INCOMPLETE = "incomplete";
/** Names conflicts in state that fail no run, as of the last check. */
const CONFLICT = "conflict";

/** Builds the lifecycle of a whole list; each kind of list adds how it is read and written. */
export function listLifecycle<Inputs extends ListInputs>(resource: ListResource<Inputs>): Lifecycle<Inputs, ListState> {
  const { kind, id } = resource;
  const getContent = (properties: unknown): KeyedList =>
    ((properties as RawArguments)[kind.property] ?? {}) as KeyedList;

  return {
    check: (raw, previous, getOwnDomains) =>
      checkList(kind, raw, previous, kind.refusal === undefined ? undefined : getOwnDomains?.()),

    checkRemoval(previous, removalFilter) {
      const content = removeFiltered(getContent(previous), removalFilter);
      return {
        inputs: { ...previous, [kind.property]: content },
        failures: judge(kind, previous, content, previous),
      };
    },

    complete: (inputs) => inputs as unknown as Inputs,

    declare(inputs) {
      const content = getContent(inputs);
      const getItem = (key: string | undefined): DeclaredThing | undefined => {
        // A text, such as a comment, that a preview does not know yet is no text.
        const text = key !== undefined && Object.hasOwn(content, key) ? content[key] : undefined;
        // Entries that only a refresh has shown are undeclared.
        if (key === undefined || text === undefined || isUnmanaged(String(text))) return undefined;
        return resource.thing(key, text, inputs);
      };
      const baseDeclaration: Declaration = {
        isList: true,
        *things() {
          for (const key of Object.keys(content)) {
            const item = getItem(key);
            if (item !== undefined) yield item;
          }
        },
        find: (subject) => getItem(resource.keyOfSubject(subject)),
        has: (key) => getItem(resource.keyOfDeclared(key))?.key === key,
        refusals: (heldContent) => findGuardProblems(heldContent, inputs),
      };
      const { mode } = inputs;
      if (mode === undefined || !prunesAny(mode)) return baseDeclaration;
      const ignoredPatterns = readPatterns(inputs.ignore);
      return {
        ...baseDeclaration,
        mode,
        removesOthers: ignoredPatterns.length === 0,
        wouldRemove: ({ target }) =>
          resource.holds(target) &&
          prunes(mode, target.list) &&
          !ignoredPatterns.some((pattern) => pattern.matches(target)),
      };
    },

    warn(state, inputs) {
      const declared = isKnown(inputs, kind) ? getContent(inputs) : undefined;
      const namedConflicts = warnOfNamedConflicts(kind, state[CONFLICT], getContent(state), declared);
      if (declared === undefined) return namedConflicts;
      const removed = removals(kind, getContent(state), declared, inputs);
      const names = removed.map(([key, text]) => kind.describe(key, text));
      return names.length === 0 ? namedConflicts : [...namedConflicts, ...resource.warnOfRemoval(names, inputs.mode)];
    },

    diff(state, inputs) {
      const options = [...new Set([...Object.keys(state), ...Object.keys(inputs)])]
        .filter((name) => name !== kind.property && name !== CONFLICT)
        .map((name) => changeOf(name, getComparableOption(state, name), getComparableOption(inputs, name)))
        .filter(isDefined);
      if (!isKnown(inputs, kind)) {
        // Uses "add", which is shown in one line; an "update" would show the previous content as removed.
        return [...options, { property: kind.property, kind: "add", replace: false }];
      }
      assertRemovalsAllowed(state, inputs);
      const content = contentChanges(kind, getContent(state), getContent(inputs));
      return [...content, ...options];
    },

    ids: (_id, _state, inputs) => (isKnown(inputs, kind) ? resource.ids(getContent(inputs)) : []),

    foresee: (inputs) => ({ ...inputs }),

    async create(inputs, context) {
      const declaredContent = getContent(inputs);
      const { state, failures } = await sync({}, inputs, context);
      if (failures.length === 0) return { id, state };
      const count = Object.keys(declaredContent).length;
      const error = notApplied(kind, failures, count);
      const hasNothingActual =
        failures.length === count && failures.every(({ there, others }) => there === undefined && others === undefined);
      // Only a list that is in state is refreshed.
      const isShownByRefresh = failures.some((failure) => failure.error instanceof PrunedByNextRunError);
      if (hasNothingActual && !isShownByRefresh)
        throw new ListNotAppliedError(`${error.message}\n${reasonsOf(failures).join("\n")}`);
      throw new PartialFailure(id, state, error, [withCode(error), ...reasonsOf(failures)]);
    },

    async lookUp(importId, context) {
      const importContent = resource.lookUp(importId.trim(), context);
      if (importContent === undefined) {
        throw new NotImportableError(
          `${quote(importId)} names no whole list; it is imported by the id ${resource.importIds}. Nothing was imported.`,
        );
      }
      const { content, left } = await importContent;
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
      // What was confirmed for a run that did only a part is still to be done.
      const isConfirmationUsed = confirmRemovals !== undefined && !isIncomplete;
      const state: ListState = isConfirmationUsed ? { ...rest, confirmRemovals } : rest;
      const inputs = state as ListInputs;
      const before = getContent(state);
      // A list that prunes allows removes them.
      const isIgnored = prunes(inputs.mode, "allow") ? () => true : ignoring(kind, inputs);
      const observeList = async () => {
        const sentences: string[] = [];
        const observeContext = { ...context, say: (sentence: string) => sentences.push(sentence) };
        const { known, others } = await resource.observe(before, observeContext, { sure: true });
        const remaining = Object.fromEntries(Object.entries(others).filter((pair) => !isIgnored(...pair)));
        const named = describeNamedConflicts(resource, { known, others }, before, inputs);
        return { known, others, conflicts: resource.conflicts(known, remaining), named, sentences };
      };
      // A list that lags may still show what the last run removed.
      const hasNewConflict = ({ conflicts, named }: Awaited<ReturnType<typeof observeList>>) =>
        (conflicts.length > 0 && !isIncomplete) || (named !== undefined && conflict === undefined);
      const { tenant } = context;
      const observation = await readConfirmed(tenant, resource.list, observeList, hasNewConflict);
      for (const sentence of observation.sentences) context.say(sentence);
      await context.confirmTenant(resource.list);
      const { known, others, conflicts, named } = observation;
      const content = sortedByKey(withShown(kind, known, others, inputs));
      const freshState = { ...state, [kind.property]: content };
      if (named !== undefined) context.say(namedConflictsSentence(named));
      const resultState: ListState = named === undefined ? freshState : { ...freshState, [CONFLICT]: named };
      if (conflicts.length > 0) {
        sayContradictions(kind, conflicts, others, FAILS_NEXT_RUN, context);
        return { id, state: { ...resultState, [INCOMPLETE]: true }, inputs: { ...freshState } };
      }
      const isUnchanged = !isIncomplete && contentChanges(kind, before, content).length === 0;
      // Thousands of entries, to say what the engine knows, would take it as long again as the reading took.
      return isUnchanged ? { id, state: resultState } : { id, state: resultState, inputs: { ...freshState } };
    },

    async update(_id, before, inputs, context) {
      const removalFilter = context.reviewed?.()?.onlyRemoves;
      if (removalFilter !== undefined) return await removeOnly(before, inputs, removalFilter, context);
      assertRemovalsAllowed(before, inputs);
      const changes = contentChanges(kind, getContent(before), getContent(inputs));
      if (changes.length === 0 && !before[INCOMPLETE]) {
        const { [CONFLICT]: conflict } = before;
        return {
          ...buildListResourceState(inputs, getContent(inputs)),
          ...withoutUndefined({ [CONFLICT]: conflict }),
        };
      }
      const { state, failures } = await sync(getContent(before), inputs, context);
      if (failures.length === 0) return state;
      const error = notApplied(kind, failures, Math.max(changes.length, failures.length));
      throw new PartialFailure(id, state, error, [withCode(error), ...reasonsOf(failures)]);
    },

    async delete(_id, state, context) {
      const content = getContent(state);
      const entries = Object.entries(content);
      const ownContent = Object.fromEntries(entries.filter(([, text]) => !isUnmanaged(text)));
      const unmanagedCount = entries.length - Object.keys(ownContent).length;
      const inputs = state as unknown as Inputs;
      if (unmanagedCount > 0)
        context.say(`${counted(unmanagedCount, kind)} that this list never declared stay as they are.`);
      if (inputs.onDelete === "keep") {
        sayKept(kind, ownContent, {}, context);
        return;
      }
      if (context.successor?.refusals !== undefined)
        await assertReplacementAllowed(ownContent, context.successor.refusals, context);
      sayDeclaredElsewhere(resource, ownContent, inputs, context);
      const plan = { declared: {}, known: content, removed: Object.entries(ownContent) };
      if (isHeld(context)) await assertListInPlan(plan, inputs, context);
      await context.confirmTenant(resource.list, { removes: true });
      const failures = await resource.apply(plan, inputs, context);
      if (failures.length === 0) return;
      const error = notApplied(kind, failures, entries.length - unmanagedCount);
      throw new ListNotAppliedError(`${error.message}\n${reasonsOf(failures).join("\n")}`);
    },
  };

  /** What of a content a run leaves that only removes; what nobody declared, it never removes. */
  function removeFiltered(content: KeyedList, removalFilter: OnlyRemoves): KeyedList {
    const keptContent = Object.entries(content).filter(
      ([key, text]) => isUnmanaged(text) || !removalFilter(kind.subjectKind, key),
    );
    return Object.fromEntries(keptContent);
  }

  /** Runs removals only: other differences from the declaration stay, in state too. */
  async function removeOnly(
    before: ListState,
    inputs: Inputs,
    removalFilter: OnlyRemoves,
    context: Context,
  ): Promise<ListState> {
    const known = getContent(before);
    const keptContent = removeFiltered(known, removalFilter);
    const guardProblems = judge(kind, before, keptContent, before).map(
      ({ property, reason }) => `${property} ${reason}`,
    );
    if (guardProblems.length > 0) throw new GuardError(guardProblems.join("\n"));
    const removed = removals(kind, known, keptContent, inputs);
    const actual = await assertListInPlan({ declared: {}, known, removed }, inputs, context);
    await context.confirmTenant(resource.list, { removes: true });
    // The plan told how each is at the tenant, which may be otherwise than the state has it.
    const plan = { declared: {}, known: { ...known, ...actual }, removed: fromThere(removed, actual) };
    const failures = await resource.apply(plan, inputs, context);
    const content = { ...keptContent };
    for (const failure of failures) if (failure.there !== undefined) content[failure.key] = failure.there;
    const { [INCOMPLETE]: _incomplete, ...rest } = before;
    const state: ListState = { ...rest, [kind.property]: sortedByKey(content) };
    if (failures.length === 0) {
      // An earlier run may have left more undone than this one does.
      const isComplete = contentChanges(kind, content, getContent(inputs)).length === 0;
      return isComplete || !before[INCOMPLETE] ? state : { ...state, [INCOMPLETE]: true };
    }
    const error = notApplied(kind, failures, removed.length);
    throw new PartialFailure(id, { ...state, [INCOMPLETE]: true }, error, [withCode(error), ...reasonsOf(failures)]);
  }

  /**
   * Checks removals against the state. The check uses the arguments of the previous run, but after a partial run the engine
   * holds older ones and the state may lose more.
   */
  function assertRemovalsAllowed(state: ListState, inputs: Inputs): void {
    if (!state[INCOMPLETE] || !isKnown(inputs, kind)) return;
    const guardProblems = findGuardProblems(getContent(state), inputs);
    if (guardProblems.length > 0) throw new GuardError(guardProblems.join("\n"));
  }

  function findGuardProblems(heldContent: KeyedList, inputs: Inputs): string[] {
    const safeguardFailures = judge(kind, inputs as unknown as RawArguments, getContent(inputs), {
      [kind.property]: heldContent,
    });
    return safeguardFailures.map(({ property, reason }) => `${property} ${reason}`);
  }

  /**
   * Checks a replacement. For `--replace` the engine checks the arguments as if there were no previous list, so removals are
   * judged when the old one is deleted.
   */
  async function assertReplacementAllowed(
    ownContent: KeyedList,
    findReplacementProblems: (heldContent: KeyedList) => readonly string[],
    context: Context,
  ): Promise<void> {
    const { known } = await resource.observe(ownContent, context, { sure: true });
    const guardProblems = findReplacementProblems(known);
    if (guardProblems.length === 0) return;
    throw new GuardError(
      `The list is replaced, and what it leaves out was not removed:\n${guardProblems.join("\n").replaceAll("Nothing was changed.", "Nothing was removed.")}`,
    );
  }

  async function sync(
    known: KeyedList,
    inputs: Inputs,
    context: Context,
  ): Promise<{ state: ListState; failures: readonly Failure[] }> {
    const declaredContent = getContent(inputs);
    const removed = removals(kind, known, declaredContent, inputs);
    if (isHeld(context)) await assertListInPlan({ declared: declaredContent, known, removed }, inputs, context);
    await context.confirmTenant(resource.list);
    const failures = await resource.apply({ declared: declaredContent, known, removed }, inputs, context);
    const content: Record<string, string> = { ...declaredContent };
    for (const { key, there, others } of failures) {
      if (there === undefined) delete content[key];
      else content[key] = there;
      for (const [otherKey, text] of Object.entries(others ?? {})) content[otherKey] ??= text;
    }
    if (inputs.onDelete === "keep") sayKept(kind, known, declaredContent, context);
    const hasContradictions =
      prunesAny(inputs.mode) && (await reportOthers(resource, { ...known, ...declaredContent }, inputs, context));
    const namedConflicts = await sayNamedConflicts(resource, { ...known, ...declaredContent }, inputs, context);
    const state = {
      ...buildListResourceState(inputs, sortedByKey(content)),
      ...withoutUndefined({ [CONFLICT]: namedConflicts }),
    };
    const isComplete = failures.length === 0 && !hasContradictions;
    return { state: isComplete ? state : { ...state, [INCOMPLETE]: true }, failures };
  }

  /**
   * Where the run is held to a plan that was reviewed, nothing is written unless all of this list was in it just so.
   *
   * @returns what is there of it.
   */
  async function assertListInPlan(plan: ListPlan, inputs: Inputs, context: Context): Promise<KeyedList> {
    const { declared, known, removed } = plan;
    const removedContent = Object.fromEntries(removed);
    const observation = await resource.observe({ ...removedContent, ...declared }, context, {
      sure: true,
      expected: known,
    });
    holdToPlan(
      kind,
      [
        ...Object.entries(declared).map(([key, text]) => ({
          key,
          before: observation.known[key],
          after: text,
        })),
        ...removed
          .filter(([key, text]) => !context.isDeclared(resource.thing(key, text, inputs)?.key ?? ""))
          .map(([key]) => ({ key, before: observation.known[key], after: undefined })),
      ],
      context,
    );
    return observation.known;
  }

  function buildListResourceState(inputs: Inputs, content: KeyedList): ListState {
    return { ...inputs, [kind.property]: content };
  }
}

function getComparableOption(properties: unknown, name: string): unknown {
  const value = (properties as RawArguments)[name];
  return Array.isArray(value) ? JSON.stringify(value) : value;
}

import { z } from "zod";
import type { RawArguments } from "../../model/arguments";
import { formatErrorWithCode } from "../../model/email-security-error";
import { type EncodedList, isUnmanaged, sortListByKey } from "../../model/encoded-list";
import { checkList } from "../../model/list-check";
import { canPrune, canPruneAny } from "../../model/list-mode";
import {
  createIgnoreFilter,
  findRemovals,
  parseValidPatterns,
  validateListProtection,
} from "../../model/list-protection";
import { omitUndefined } from "../../model/omit-undefined";
import { quote } from "../../model/text";
import { readConfirmed } from "../../tenant";
import { enforcePlan, isPlanEnforced } from "./enforce-plan";
import { ListNotAppliedError, NotImportableError, PrunedByNextRunError, RemovalGuardError } from "./errors";
import {
  buildPropertyChange,
  type DeclarationItem,
  isDefined,
  type Lifecycle,
  type LifecycleContext,
  PartialFailureError,
  type ResourceDeclaration,
} from "./lifecycle";
import { addPrunable, buildContentChanges, isContentKnown, replaceWithActualTexts } from "./list-content-changes";
import { buildListNotAppliedError, formatFailureReasons } from "./list-failures";
import { formatItemCount, formatItemNames } from "./list-names";
import {
  describeToleratedConflicts,
  formatToleratedConflicts,
  getStoredConflictWarnings,
  logContradictions,
  logItemsDeclaredElsewhere,
  logKeptItems,
  logToleratedConflicts,
  logUndeclaredItems,
  NEXT_RUN_FAILS_ADVICE,
} from "./list-reports";
import type { ItemFailure, ListInputs, ListPlan, ListResource } from "./list-resource";
import type { RemovalFilter } from "./reviewed-plan";

type ListState = Readonly<Record<string, unknown>>;

/** The state property that marks a list as incomplete: the last run was partial, or a refresh found a conflict. */
const INCOMPLETE = "incomplete";
/** The state property that names conflicts which don't fail a run, as of the last check. */
const CONFLICT = "conflict";

/** Builds the lifecycle of a whole list; each kind of list adds how it is read and written. */
export function createListLifecycle<Inputs extends ListInputs>(
  resource: ListResource<Inputs>,
): Lifecycle<Inputs, ListState> {
  const { kind, id } = resource;
  const getContent = (properties: unknown): EncodedList =>
    ((properties as RawArguments)[kind.property] ?? {}) as EncodedList;

  return {
    check: (raw, previous, getOwnDomains) =>
      checkList(kind, raw, previous, kind.describeRisk === undefined ? undefined : getOwnDomains?.()),

    checkRemoval(previous, removalFilter) {
      const content = removeFiltered(getContent(previous), removalFilter);
      return {
        inputs: { ...previous, [kind.property]: content },
        failures: validateListProtection(kind, previous, content, previous),
      };
    },

    complete: (inputs) => inputs as unknown as Inputs,

    declare(inputs) {
      const content = getContent(inputs);
      const getItem = (key: string | undefined): DeclarationItem | undefined => {
        // In a preview, the text may be unknown, for example because of its comment. It isn't a string then.
        const text = key !== undefined && Object.hasOwn(content, key) ? content[key] : undefined;
        // Entries that only a refresh has shown are undeclared.
        if (key === undefined || text === undefined || isUnmanaged(String(text))) return undefined;
        return resource.buildItem(key, text, inputs);
      };
      const baseDeclaration: ResourceDeclaration = {
        isList: true,
        *getItems() {
          for (const key of Object.keys(content)) {
            const item = getItem(key);
            if (item !== undefined) yield item;
          }
        },
        find: (subject) => getItem(resource.getKeyBySubject(subject)),
        has: (key) => getItem(resource.getKeyByDeclaration(key))?.key === key,
        findRemovalBlockers: (currentContent) => findExceededRemovalLimits(currentContent, inputs),
      };
      const { mode } = inputs;
      if (mode === undefined || !canPruneAny(mode)) return baseDeclaration;
      const ignoredPatterns = parseValidPatterns(inputs.ignore);
      return {
        ...baseDeclaration,
        mode,
        isPruningAll: ignoredPatterns.length === 0,
        wouldPrune: ({ target }) =>
          resource.canContain(target) &&
          canPrune(mode, target.list) &&
          !ignoredPatterns.some((pattern) => pattern.matches(target)),
      };
    },

    warn(state, inputs, isDeclared) {
      const declaredContent = isContentKnown(inputs, kind) ? getContent(inputs) : undefined;
      const namedConflicts = getStoredConflictWarnings(kind, state[CONFLICT], getContent(state), declaredContent);
      if (declaredContent === undefined) return namedConflicts;
      const names = findRemovals(kind, getContent(state), declaredContent, inputs).flatMap(([key, text]) =>
        isDeclared(resource.buildItem(key, text, inputs)?.key ?? "") ? [] : [kind.describe(key, text)],
      );
      return names.length === 0
        ? namedConflicts
        : [...namedConflicts, ...resource.buildRemovalWarnings(names, inputs.mode)];
    },

    diff(state, inputs) {
      const options = [...new Set([...Object.keys(state), ...Object.keys(inputs)])]
        .filter((name) => name !== kind.property && name !== CONFLICT)
        .map((name) => buildPropertyChange(name, getComparableOption(state, name), getComparableOption(inputs, name)))
        .filter(isDefined);
      if (!isContentKnown(inputs, kind)) {
        // Uses "add", which is shown in one line; an "update" would show the previous content as removed.
        return [...options, { property: kind.property, kind: "add", replace: false }];
      }
      assertRemovalsAllowed(state, inputs);
      const content = buildContentChanges(kind, getContent(state), getContent(inputs));
      return [...content, ...options];
    },

    getManagedIds: (_id, _state, inputs) =>
      isContentKnown(inputs, kind) ? resource.getManagedIds(getContent(inputs)) : [],

    preview: (inputs) => ({ ...inputs }),

    async create(inputs, context) {
      const declaredContent = getContent(inputs);
      const { state, failures } = await sync({}, inputs, context);
      if (failures.length === 0) return { id, state };
      const count = Object.keys(declaredContent).length;
      const error = buildListNotAppliedError(kind, failures, count);
      const hasNothingActual =
        failures.length === count &&
        failures.every(({ actualText, otherTexts }) => actualText === undefined && otherTexts === undefined);
      // A refresh only covers lists in the state, so the list must be stored.
      const isShownByRefresh = failures.some((failure) => failure.error instanceof PrunedByNextRunError);
      if (hasNothingActual && !isShownByRefresh)
        throw new ListNotAppliedError(`${error.message}\n${formatFailureReasons(failures).join("\n")}`);
      throw new PartialFailureError(id, state, error, [formatErrorWithCode(error), ...formatFailureReasons(failures)]);
    },

    async lookUp(importId, context) {
      const importContent = resource.lookUp(importId.trim(), context);
      if (importContent === undefined) {
        throw new NotImportableError(
          `${quote(importId)} isn't a valid id of a list; import it by the id ${resource.importIds}. Nothing was imported.`,
        );
      }
      const { content, skipped } = await importContent;
      if (skipped.length > 0) {
        context.log(
          `Not imported, and unchanged at the service: ${formatItemCount(skipped.length, kind)} that can't be declared: ${formatItemNames(skipped, " | ")}`,
        );
      }
      const inputs = { [kind.property]: sortListByKey(content) };
      return { id, state: { ...inputs }, inputs };
    },

    querySchema: z.strictObject({}),

    list: async () => [{ id, name: id }],

    async read(_id, { [INCOMPLETE]: isIncomplete, [CONFLICT]: conflict, confirmRemovals, ...rest }, context) {
      // After a partial run, the confirmed removals are still pending.
      const isConfirmationUsed = confirmRemovals !== undefined && !isIncomplete;
      const state: ListState = isConfirmationUsed ? { ...rest, confirmRemovals } : rest;
      const inputs = state as ListInputs;
      const before = getContent(state);
      // If the list's mode prunes allow entries, the next run removes them itself, so they aren't conflicts.
      const isIgnored = canPrune(inputs.mode, "allow") ? () => true : createIgnoreFilter(kind, inputs);
      const observeList = async () => {
        const sentences: string[] = [];
        const observeContext = { ...context, log: (sentence: string) => sentences.push(sentence) };
        const { knownContent, others } = await resource.observe(before, observeContext, { shouldConfirm: true });
        const remaining = Object.fromEntries(Object.entries(others).filter((pair) => !isIgnored(...pair)));
        const named = describeToleratedConflicts(resource, { knownContent, others }, before, inputs);
        return { knownContent, others, conflicts: resource.findConflicts(knownContent, remaining), named, sentences };
      };
      // A stale list may still show entries that the last run removed.
      const hasNewConflict = ({ conflicts, named }: Awaited<ReturnType<typeof observeList>>) =>
        (conflicts.length > 0 && !isIncomplete) || (named !== undefined && conflict === undefined);
      const { tenant } = context;
      const observation = await readConfirmed(tenant, resource.list, observeList, hasNewConflict);
      for (const sentence of observation.sentences) context.log(sentence);
      await context.confirmTenant(resource.list);
      const { knownContent, others, conflicts, named } = observation;
      const content = sortListByKey(addPrunable(kind, knownContent, others, inputs));
      const freshState = { ...state, [kind.property]: content };
      if (named !== undefined) context.log(formatToleratedConflicts(named));
      const resultState: ListState = named === undefined ? freshState : { ...freshState, [CONFLICT]: named };
      if (conflicts.length > 0) {
        logContradictions(kind, conflicts, others, NEXT_RUN_FAILS_ADVICE, context);
        return { id, state: { ...resultState, [INCOMPLETE]: true }, inputs: { ...freshState } };
      }
      const isUnchanged = !isIncomplete && buildContentChanges(kind, before, content).length === 0;
      // With thousands of entries, sending unchanged inputs back to the engine would take as long as the read itself.
      return isUnchanged ? { id, state: resultState } : { id, state: resultState, inputs: { ...freshState } };
    },

    async update(_id, before, inputs, context) {
      const removalFilter = context.getReviewedPlan?.()?.onlyRemoves;
      if (removalFilter !== undefined) return await removeOnly(before, inputs, removalFilter, context);
      assertRemovalsAllowed(before, inputs);
      const changes = buildContentChanges(kind, getContent(before), getContent(inputs));
      if (changes.length === 0 && !before[INCOMPLETE]) {
        const { [CONFLICT]: conflict } = before;
        return {
          ...buildListResourceState(inputs, getContent(inputs)),
          ...omitUndefined({ [CONFLICT]: conflict }),
        };
      }
      const { state, failures } = await sync(getContent(before), inputs, context);
      if (failures.length === 0) return state;
      const error = buildListNotAppliedError(kind, failures, Math.max(changes.length, failures.length));
      throw new PartialFailureError(id, state, error, [formatErrorWithCode(error), ...formatFailureReasons(failures)]);
    },

    async delete(_id, state, context) {
      const content = getContent(state);
      const entries = Object.entries(content);
      const ownContent = Object.fromEntries(entries.filter(([, text]) => !isUnmanaged(text)));
      const unmanagedCount = entries.length - Object.keys(ownContent).length;
      const inputs = state as unknown as Inputs;
      if (unmanagedCount > 0)
        context.log(`Left unchanged: ${formatItemCount(unmanagedCount, kind)} that this list never declared.`);
      if (inputs.onDelete === "keep") {
        logKeptItems(kind, ownContent, {}, context);
        return;
      }
      if (context.successor?.findRemovalBlockers !== undefined)
        await assertReplacementAllowed(ownContent, context.successor.findRemovalBlockers, context);
      logItemsDeclaredElsewhere(resource, ownContent, inputs, context);
      const plan = { declaredContent: {}, knownContent: content, removals: Object.entries(ownContent) };
      if (isPlanEnforced(context)) await assertListInPlan(plan, inputs, context);
      await context.confirmTenant(resource.list, { isRemoval: true });
      const failures = await resource.apply(plan, inputs, context);
      if (failures.length === 0) return;
      const error = buildListNotAppliedError(kind, failures, entries.length - unmanagedCount);
      throw new ListNotAppliedError(`${error.message}\n${formatFailureReasons(failures).join("\n")}`);
    },
  };

  /** Returns the content that remains after a removal-only run. Undeclared items always remain. */
  function removeFiltered(content: EncodedList, removalFilter: RemovalFilter): EncodedList {
    const isKept = ([key, text]: [string, string]): boolean => isUnmanaged(text) || !removalFilter(kind.itemKind, key);
    return Object.fromEntries(Object.entries(content).filter(isKept));
  }

  /** Runs removals only. Other differences from the declaration remain, in the state too. */
  async function removeOnly(
    before: ListState,
    inputs: Inputs,
    removalFilter: RemovalFilter,
    context: LifecycleContext,
  ): Promise<ListState> {
    const knownContent = getContent(before);
    const keptContent = removeFiltered(knownContent, removalFilter);
    const guardProblems = validateListProtection(kind, before, keptContent, before).map(
      ({ property, reason }) => `${property} ${reason}`,
    );
    if (guardProblems.length > 0) throw new RemovalGuardError(guardProblems.join("\n"));
    const removals = findRemovals(kind, knownContent, keptContent, inputs);
    const actual = await assertListInPlan({ declaredContent: {}, knownContent, removals }, inputs, context);
    await context.confirmTenant(resource.list, { isRemoval: true });
    // The plan shows the actual entries, which may differ from those in the state.
    const actualRemovals = replaceWithActualTexts(removals, actual);
    const plan = { declaredContent: {}, knownContent: { ...knownContent, ...actual }, removals: actualRemovals };
    const failures = await resource.apply(plan, inputs, context);
    const content = { ...keptContent };
    for (const failure of failures) if (failure.actualText !== undefined) content[failure.key] = failure.actualText;
    const { [INCOMPLETE]: _incomplete, ...rest } = before;
    const state: ListState = { ...rest, [kind.property]: sortListByKey(content) };
    if (failures.length === 0) {
      // An earlier run may have left more changes pending.
      const isComplete = buildContentChanges(kind, content, getContent(inputs)).length === 0;
      return isComplete || !before[INCOMPLETE] ? state : { ...state, [INCOMPLETE]: true };
    }
    const error = buildListNotAppliedError(kind, failures, removals.length);
    throw new PartialFailureError(id, { ...state, [INCOMPLETE]: true }, error, [
      formatErrorWithCode(error),
      ...formatFailureReasons(failures),
    ]);
  }

  /**
   * Checks removals against the state. The check uses the arguments of the previous run, but after a partial run the engine
   * holds older ones and the state may lose more.
   */
  function assertRemovalsAllowed(state: ListState, inputs: Inputs): void {
    if (!state[INCOMPLETE] || !isContentKnown(inputs, kind)) return;
    const guardProblems = findExceededRemovalLimits(getContent(state), inputs);
    if (guardProblems.length > 0) throw new RemovalGuardError(guardProblems.join("\n"));
  }

  function findExceededRemovalLimits(currentContent: EncodedList, inputs: Inputs): string[] {
    const protectionFailures = validateListProtection(kind, inputs as unknown as RawArguments, getContent(inputs), {
      [kind.property]: currentContent,
    });
    return protectionFailures.map(({ property, reason }) => `${property} ${reason}`);
  }

  /**
   * Checks a replacement. For `--replace` the engine checks the arguments as if there were no previous list, so
   * removals are checked when the old list is deleted.
   */
  async function assertReplacementAllowed(
    ownContent: EncodedList,
    findReplacementProblems: (currentContent: EncodedList) => readonly string[],
    context: LifecycleContext,
  ): Promise<void> {
    const { knownContent } = await resource.observe(ownContent, context, { shouldConfirm: true });
    const guardProblems = findReplacementProblems(knownContent);
    if (guardProblems.length === 0) return;
    throw new RemovalGuardError(
      `The list is replaced, but the elements that it no longer declares were not removed:\n${guardProblems.join("\n").replaceAll("Nothing was changed.", "Nothing was removed.")}`,
    );
  }

  async function sync(
    knownContent: EncodedList,
    inputs: Inputs,
    context: LifecycleContext,
  ): Promise<{ state: ListState; failures: readonly ItemFailure[] }> {
    const declaredContent = getContent(inputs);
    const removals = findRemovals(kind, knownContent, declaredContent, inputs);
    if (isPlanEnforced(context)) await assertListInPlan({ declaredContent, knownContent, removals }, inputs, context);
    await context.confirmTenant(resource.list);
    const failures = await resource.apply({ declaredContent, knownContent, removals }, inputs, context);
    const content: Record<string, string> = { ...declaredContent };
    for (const { key, actualText, otherTexts } of failures) {
      if (actualText === undefined) delete content[key];
      else content[key] = actualText;
      for (const [otherKey, text] of Object.entries(otherTexts ?? {})) content[otherKey] ??= text;
    }
    if (inputs.onDelete === "keep") logKeptItems(kind, knownContent, declaredContent, context);
    const appliedContent = { ...knownContent, ...declaredContent };
    const hasContradictions =
      canPruneAny(inputs.mode) && (await logUndeclaredItems(resource, appliedContent, inputs, context));
    const namedConflicts = await logToleratedConflicts(resource, appliedContent, inputs, context);
    const state = {
      ...buildListResourceState(inputs, sortListByKey(content)),
      ...omitUndefined({ [CONFLICT]: namedConflicts }),
    };
    const isComplete = failures.length === 0 && !hasContradictions;
    return { state: isComplete ? state : { ...state, [INCOMPLETE]: true }, failures };
  }

  /**
   * If the run enforces a reviewed plan, asserts that the plan contains all changes to this list. Nothing is written
   * otherwise.
   *
   * @returns the actual content for the given keys.
   */
  async function assertListInPlan(plan: ListPlan, inputs: Inputs, context: LifecycleContext): Promise<EncodedList> {
    const { declaredContent, knownContent, removals } = plan;
    const removedContent = Object.fromEntries(removals);
    const observation = await resource.observe({ ...removedContent, ...declaredContent }, context, {
      shouldConfirm: true,
      expected: knownContent,
    });
    enforcePlan(
      kind,
      [
        ...Object.entries(declaredContent).map(([key, text]) => ({
          key,
          before: observation.knownContent[key],
          after: text,
        })),
        ...removals
          .filter(([key, text]) => !context.isDeclared(resource.buildItem(key, text, inputs)?.key ?? ""))
          .map(([key]) => ({ key, before: observation.knownContent[key], after: undefined })),
      ],
      context,
    );
    return observation.knownContent;
  }

  function buildListResourceState(inputs: Inputs, content: EncodedList): ListState {
    return { ...inputs, [kind.property]: content };
  }
}

function getComparableOption(properties: unknown, name: string): unknown {
  const value = (properties as RawArguments)[name];
  return Array.isArray(value) ? JSON.stringify(value) : value;
}

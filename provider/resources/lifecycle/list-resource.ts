import type { EncodedList } from "../../model/encoded-list";
import type { ListKind } from "../../model/list-arguments";
import type { ListMode } from "../../model/list-mode";
import type { PatternTarget } from "../../model/list-pattern";
import type { DeclarationItem, LifecycleContext, TenantList } from "./lifecycle";

/** The arguments that all lists share. The property for the content depends on the kind. */
export interface ListInputs {
  readonly mode?: ListMode;
  readonly ignore?: readonly string[];
  readonly onDelete?: "exclude" | "keep";
}

export interface ListResource<Inputs extends ListInputs> {
  readonly kind: ListKind;
  readonly list: TenantList;
  /** The id of all resources of this kind. The service doesn't assign ids to lists. */
  readonly id: string;
  readonly buildItem: (key: string, text: string, inputs: Inputs) => DeclarationItem | undefined;
  /** Maps the subject of a declaration to its key in the list. Undefined for another kind. */
  readonly getKeyBySubject: (subject: string) => string | undefined;
  /** Maps the key of a declaration to its key in the list. Undefined for another kind. */
  readonly getKeyByDeclaration: (key: string) => string | undefined;
  /** Whether this kind of list can hold an item that another resource declares. */
  readonly canContain: (target: PatternTarget) => boolean;
  /** Returns the ids of a content as far as they are known without a request. */
  readonly getManagedIds: (content: EncodedList) => readonly string[];
  readonly buildRemovalWarnings: (names: readonly string[], mode: string | undefined) => readonly string[];
  /** Returns the keys of other items that contradict the list's own content. A run fails while they exist. */
  readonly findConflicts: (knownContent: EncodedList, others: EncodedList) => readonly string[];
  /** Returns the keys of other items that conflict with the content. Each run only reports them. Default: none. */
  readonly findToleratedConflicts?: (knownContent: EncodedList, others: EncodedList) => readonly string[];
  /** Looks up an id for an import and returns its declarable content. Undefined if the id isn't of this kind. */
  readonly lookUp: (id: string, context: LifecycleContext) => Promise<ImportedList> | undefined;
  /** The ids that {@link lookUp} accepts, for messages. */
  readonly importIds: string;
  /** Reads the actual state of the given keys, and all other items. */
  readonly observe: (
    knownContent: EncodedList,
    context: LifecycleContext,
    options: ObserveOptions,
  ) => Promise<ListObservation>;
  /** Writes the declared items and removes those in the plan. Returns the failures. */
  readonly apply: (plan: ListPlan, inputs: Inputs, context: LifecycleContext) => Promise<readonly ItemFailure[]>;
}

export interface ObserveOptions {
  /** Whether to refetch a list before accepting that a key is missing or differs from the state. */
  readonly shouldConfirm: boolean;
  /** The content of the state. A list that differs from it may be stale. Default: the given keys. */
  readonly expected?: EncodedList;
}

export interface ListObservation {
  /** The given keys that exist, with their actual texts. */
  readonly knownContent: EncodedList;
  /** All other keys that exist. */
  readonly others: EncodedList;
}

export interface ImportedList {
  readonly content: EncodedList;
  /** Items that a program can't declare, each with the reason. */
  readonly skipped: readonly string[];
}

/** The changes of one run to a list. It only removes items that the state holds, and the preview shows those. */
export interface ListPlan {
  readonly declaredContent: EncodedList;
  /** The content of the state, from an earlier run or a refresh. */
  readonly knownContent: EncodedList;
  readonly removals: readonly (readonly [key: string, text: string])[];
}

export interface ItemFailure {
  readonly key: string;
  readonly name: string;
  readonly error: unknown;
  /** The text that exists instead. Undefined if the item does not exist. */
  readonly actualText: string | undefined;
  /** The danger rank of this difference from the declaration: 0 is the most dangerous. */
  readonly dangerRank: number;
  /** Items that now exist under other keys. The state must keep track of them. Default: none. */
  readonly otherTexts?: EncodedList;
}

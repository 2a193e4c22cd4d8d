import type { KeyedList } from "../../settings/keyed-list";
import type { ListKind } from "../../settings/list-arguments";
import type { ListMode } from "../../settings/list-mode";
import type { PatternTarget } from "../../settings/pattern";
import type { Context, DeclaredThing, TenantList } from "./lifecycle";

/** The arguments that all lists share. The property for the content depends on the kind. */
export interface ListInputs {
  readonly mode?: ListMode;
  readonly ignore?: readonly string[];
  readonly onDelete?: "exclude" | "keep";
}

/** The parts of a whole-list resource that depend on its kind. */
export interface ListResource<Inputs extends ListInputs> {
  readonly kind: ListKind;
  readonly list: TenantList;
  /** The id of all resources of this kind. The service doesn't assign ids to lists. */
  readonly id: string;
  /** Returns the declaration of a key. */
  readonly thing: (key: string, text: string, inputs: Inputs) => DeclaredThing | undefined;
  /** Maps the subject of a declaration to its key in the list. Undefined for another kind. */
  readonly keyOfSubject: (subject: string) => string | undefined;
  /** Maps the key of a declaration to its key in the list. Undefined for another kind. */
  readonly keyOfDeclared: (key: string) => string | undefined;
  /** Whether this kind of list can hold an item that another resource declares. */
  readonly holds: (target: PatternTarget) => boolean;
  /** Returns the ids of a content as far as they are known without a request. */
  readonly ids: (content: KeyedList) => readonly string[];
  /** Returns warnings about the removal of these items, one sentence each. */
  readonly warnOfRemoval: (names: readonly string[], mode: string | undefined) => readonly string[];
  /** Returns the keys of other items that contradict the list's own content. A run fails while they exist. */
  readonly conflicts: (known: KeyedList, others: KeyedList) => readonly string[];
  /** Returns the keys of other items that conflict with the content. Each run only reports them. Default: none. */
  readonly namedConflicts?: (known: KeyedList, others: KeyedList) => readonly string[];
  /** Looks up an id for an import and returns its declarable content. Undefined if the id isn't of this kind. */
  readonly lookUp: (id: string, context: Context) => Promise<LookedUp> | undefined;
  /** The ids that {@link lookUp} accepts, for messages. */
  readonly importIds: string;
  /** Reads the actual state of the given keys and of all other keys. */
  readonly observe: (known: KeyedList, context: Context, options: ObserveOptions) => Promise<Observed>;
  /** Writes what is declared and removes what the plan removes. Returns the failures. */
  readonly apply: (plan: ListPlan, inputs: Inputs, context: Context) => Promise<readonly Failure[]>;
}

export interface ObserveOptions {
  /** Whether to refetch a list before accepting that a key is missing or differs from the state. */
  readonly sure: boolean;
  /** The content of the state. A list that differs from it may lag. Default: the given keys. */
  readonly expected?: KeyedList;
}

export interface Observed {
  /** The given keys that exist, with their actual texts. */
  readonly known: KeyedList;
  /** All other keys that exist. */
  readonly others: KeyedList;
}

/** The result of looking up a list for an import. */
export interface LookedUp {
  readonly content: KeyedList;
  /** Items that a program can't declare, each with the reason. */
  readonly left: readonly string[];
}

/** The changes of one run to a list. It only removes items that the state holds, and the preview shows those. */
export interface ListPlan {
  readonly declared: KeyedList;
  /** The content of the state, from an earlier run or a refresh. */
  readonly known: KeyedList;
  readonly removed: readonly (readonly [key: string, text: string])[];
}

/** An item that could not be written or removed. */
export interface Failure {
  readonly key: string;
  readonly name: string;
  readonly error: unknown;
  /** The text that exists instead. Undefined if the item does not exist. */
  readonly there: string | undefined;
  /** The danger rank of this difference from the declaration: 0 is the most dangerous. */
  readonly danger: number;
  /** Items that now exist under other keys. The state must keep track of them. Default: none. */
  readonly others?: KeyedList;
}

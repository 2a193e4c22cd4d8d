import type { KeyedList } from "../../settings/keyed-list";
import type { ListKind } from "../../settings/list-arguments";
import type { ListMode } from "../../settings/list-mode";
import type { PatternTarget } from "../../settings/pattern";
import type { Context, DeclaredThing, TenantList } from "./lifecycle";

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
  /** The keys of what is beside it and conflicts with it, and fails no run: each run names them. Default: none. */
  readonly namedConflicts?: (known: KeyedList, others: KeyedList) => readonly string[];
  /** What the tenant holds under an id for an import, as it can be declared; undefined for an id of something else. */
  readonly lookUp: (id: string, context: Context) => Promise<LookedUp> | undefined;
  /** The ids that {@link lookUp} takes, as a message tells them. */
  readonly importIds: string;
  /** What the tenant holds: of the given keys, and beside them. */
  readonly observe: (known: KeyedList, context: Context, options: ObserveOptions) => Promise<Observed>;
  /** Makes the tenant hold what is declared and no more what is removed; answers what could not be done. */
  readonly apply: (plan: ListPlan, inputs: Inputs, context: Context) => Promise<readonly Failure[]>;
}

export interface ObserveOptions {
  /** Whether a list that misses a key, or shows it otherwise than the state has it, is read again before that counts. */
  readonly sure: boolean;
  /** What the state has, so that a list which shows it otherwise may lag. Default: the given keys. */
  readonly expected?: KeyedList;
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

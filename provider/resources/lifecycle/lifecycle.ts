import type { z } from "zod";
import type { ArgumentFailure, RawArguments } from "../../model/arguments";
import { type EmailSecurityError, formatErrorWithCode } from "../../model/email-security-error";
import { type FieldDefinition, findDifferingFields } from "../../model/entry-fields";
import type { ListMode } from "../../model/list-mode";
import type { PatternTarget } from "../../model/list-pattern";
import type { OwnDomains } from "../../model/own-domains";
import type { TenantCache } from "../../tenant";
import type { RemovalFilter, ReviewedPlan } from "./reviewed-plan";

/** The behaviour of a resource over plain data, without Pulumi: shared by the dynamic provider and the native plugin. */
export interface Lifecycle<Inputs, State> {
  /**
   * Validates arguments. Pure; called in previews, so arguments may be unknown.
   *
   * @param previous the validated arguments of the previous run, or those a refresh has set since.
   * @param getOwnDomains the tenant's own domains. Throws when their configuration can't be read.
   */
  check(raw: RawArguments, previous?: RawArguments, getOwnDomains?: () => OwnDomains): CheckResult;
  /**
   * Replaces `check` for a whole list if the run only removes: returns the previous arguments without what is removed.
   *
   * @param previous the validated arguments of the previous run, or those a refresh has set since.
   */
  checkRemoval?(previous: RawArguments, removalFilter: RemovalFilter): CheckResult;
  /** Completes validated arguments with the defaults of the kind, if it has any. All other methods take completed arguments. */
  complete(inputs: RawArguments): Inputs;
  declare(inputs: Inputs): ResourceDeclaration;
  /**
   * Returns notes for the user, one sentence each, whether or not the run changes anything. Pure.
   *
   * @param isDeclared whether a resource of the program declares this key, as far as the engine has checked them.
   */
  warn(state: State, inputs: Inputs, isDeclared: (key: string) => boolean): readonly string[];
  /** Returns the changes. Pure; new arguments may be unknown. */
  diff(state: State, inputs: Inputs): readonly PropertyChange[];
  /**
   * Returns ids that are unique across tenants and never change, as far as they are known without a request. For an entry,
   * this combines its id and its identity, because two tenants may use the same ids. A mailbox belongs to one tenant. Pure.
   */
  getManagedIds(id: string, state: State, inputs: Inputs): readonly string[];
  /**
   * Returns the state after a create, or after an update of what existed before. `UNKNOWN` stands for values that only the
   * service knows. Pure; called in previews, so arguments may be unknown. Assumes that everything in the state exists.
   */
  preview(inputs: Inputs, before?: ResourceState<State>): object;
  create(inputs: Inputs, context: LifecycleContext): Promise<ResourceState<State>>;
  /**
   * Looks up an existing object by its id, or by a name that a person would write, for an import. Undefined if there is none.
   * The result has the arguments that declare exactly this object: `check` accepts them, and `diff` returns no change.
   *
   * - An allow/deny entry: the service's id, or `deny:evil.example`, `allow:mail.example (graymail)`, `evil.example`.
   * - A VIP: the mailbox.
   * - A whole allow/deny list: `allow-deny-list`, or `allow` or `deny` for one of the two lists.
   * - A whole VIP list: `vip-list`; VIPs from automatic detection are left out.
   *
   * Concurrent calls share one snapshot: ⌈N/200⌉ requests for each list that is needed.
   *
   * @throws {NotImportableError} if the id can't be parsed, is ambiguous, or the object can't be declared by a program.
   */
  lookUp(id: string, context: LifecycleContext): Promise<Required<ResourceReadResult<State>> | undefined>;
  readonly querySchema: z.ZodObject;
  /**
   * Lists the existing objects of this kind that a program can declare, whether or not one does. {@link lookUp} accepts each
   * id. For a whole list, the result is its only object.
   *
   * @param query the filters, validated by the schema.
   */
  list(query: RawArguments, context: LifecycleContext): Promise<readonly ListedResource[]>;
  read(id: string, state: State, context: LifecycleContext): Promise<ResourceReadResult<State> | undefined>;
  update(id: string, state: State, inputs: Inputs, context: LifecycleContext): Promise<State>;
  delete(id: string, state: State, context: LifecycleContext): Promise<void>;
}

export interface ListedResource {
  readonly id: string;
  readonly name: string;
}

export type TenantList = "entries" | "vips";

export interface ConfirmTenantOptions {
  /** Whether it only removes. Items that an interrupted run has already removed then don't indicate a different tenant. */
  readonly isRemoval?: boolean;
}

export interface LifecycleContext {
  readonly tenant: TenantCache;
  /**
   * Resolves if nothing indicates that the tenant differs from the state's. Call it before any write, and before treating a
   * missing object as gone. The list has been read by then, if needed.
   *
   * @throws {OtherTenantError} which says what indicates another tenant.
   */
  readonly confirmTenant: (list: TenantList, options?: ConfirmTenantOptions) => Promise<void>;
  readonly log: (sentence: string) => void;
  /** Whether the running program declares this key. */
  readonly isDeclared: (key: string) => boolean;
  /**
   * During a create, update or delete: whether a resource of this process manages this key, according to its state, or to the
   * refresh if there was one. A created object then replaces it, before or after its deletion.
   */
  readonly isManaged?: (key: string) => boolean;
  /** During the deletion of a list: the declaration that replaces it under the same name. */
  readonly successor?: ResourceDeclaration | undefined;
  /** Reports the ids that this process has created or adopted to the other provider processes of the run. */
  readonly shareManagedIds: (ids: readonly string[]) => void;
  /**
   * Whether another provider process of the run has created or adopted the id. Both then reach the same tenant, by another key
   * or host name, and the object to delete here is declared there.
   */
  readonly isManagedElsewhere: (id: string) => boolean;
  /** Returns the tenant's own domains, which determine the risk of an entry. Throws if their configuration can't be read. */
  readonly getOwnDomains?: () => OwnDomains;
  /** Returns the reviewed plan if the run enforces one. Throws if it can't be read. */
  readonly getReviewedPlan?: () => ReviewedPlan | undefined;
}

export interface CheckResult {
  readonly inputs: Record<string, unknown>;
  readonly failures: readonly ArgumentFailure[];
}

/** The declaration of one resource. A list of thousands is evaluated lazily. */
export interface ResourceDeclaration {
  /** Whether this is a whole list, which shares no item with another resource. */
  readonly isList: boolean;
  readonly getItems: () => Iterable<DeclarationItem>;
  readonly find: (subject: string) => DeclarationItem | undefined;
  /** Whether a key is declared. Declared objects are never deleted. */
  readonly has: (key: string) => boolean;
  /** For a list: the reasons why one run may not remove the undeclared items it holds. Empty if it may. */
  readonly findRemovalBlockers?: (currentTexts: Readonly<Record<string, string>>) => readonly string[];
  readonly mode?: ListMode;
  /** Whether this is a pruning list without ignore patterns: it removes everything undeclared that its mode prunes. */
  readonly isPruningAll?: boolean;
  /** Whether a list that prunes would remove an item of another resource. */
  readonly wouldPrune?: (item: DeclarationItem) => boolean;
}

export interface DeclarationItem {
  /** Identifies the object, apart from its id. */
  readonly key: string;
  /** Shared by all declarations of the same object. */
  readonly subject: string;
  /** Subjects that may be declared next to it for the same list only: the same value with another scope. */
  readonly getRelatedSubjects?: () => readonly string[];
  readonly property: string;
  readonly name: string;
  readonly description: string;
  readonly target: PatternTarget;
}

export function buildSingleDeclaration(item: DeclarationItem): ResourceDeclaration {
  return {
    isList: false,
    getItems: () => [item],
    find: (subject) => (subject === item.subject ? item : undefined),
    has: (key) => key === item.key,
  };
}

export interface PropertyChange {
  readonly property: string;
  readonly kind: "add" | "update" | "delete";
  readonly replace: boolean;
}

export interface ResourceState<State> {
  readonly id: string;
  readonly state: State;
}

export interface ResourceReadResult<State> extends ResourceState<State> {
  /**
   * The arguments that would declare the actual state. With them, the next `up` detects and reverts drift. Omitted if the
   * arguments of the last run still apply.
   */
  readonly inputs?: Record<string, unknown>;
}

/**
 * An object exists now but differs from its declaration. The provider must store its state together with the failure, so
 * the next run can continue from there.
 */
export class PartialFailureError<State> extends Error {
  readonly id: string;
  readonly state: State;
  readonly reasons: readonly string[];
  declare readonly cause: EmailSecurityError;

  constructor(id: string, state: State, cause: EmailSecurityError, reasons = [formatErrorWithCode(cause)]) {
    super(formatErrorWithCode(cause), { cause });
    this.name = "PartialFailure";
    this.id = id;
    this.state = state;
    this.reasons = reasons;
  }
}

export function buildPropertyChange(
  property: string,
  before: unknown,
  after: unknown,
  replace = false,
): PropertyChange | undefined {
  if (before === after) return undefined;
  const kind = before === undefined ? "add" : after === undefined ? "delete" : "update";
  return { property, kind, replace };
}

export function buildFieldChanges(
  fields: Readonly<Record<string, FieldDefinition>>,
  state: object,
  inputs: object,
): readonly PropertyChange[] {
  const [before, after] = [state, inputs] as Readonly<Record<string, unknown>>[];
  return findDifferingFields(fields, before ?? {}, after ?? {}).flatMap((name) => {
    const { change, comparable = (value) => value } = fields[name] as FieldDefinition;
    return buildPropertyChange(name, comparable(before?.[name]), comparable(after?.[name]), change === "replace") ?? [];
  });
}

export function isDefined<T>(value: T | undefined): value is T {
  return value !== undefined;
}

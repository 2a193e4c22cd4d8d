import type { z } from "zod";
import type { ArgumentFailure, RawArguments } from "../../settings/arguments";
import { type EmailSecurityError, withCode } from "../../settings/email-security-error";
import { differingFields, type Field } from "../../settings/entry-fields";
import type { ListMode } from "../../settings/list-mode";
import type { OwnDomains } from "../../settings/own-domains";
import type { PatternTarget } from "../../settings/pattern";
import type { Tenant } from "../../tenant";
import type { OnlyRemoves, ReviewedPlan } from "./reviewed-plan";

/** The behaviour of a resource over plain data, without Pulumi: shared by the dynamic provider and the native plugin. */
export interface Lifecycle<Inputs, State> {
  /**
   * Validates arguments. Pure; called in previews, so arguments may be unknown.
   *
   * @param previous the checked arguments of the run before, or what a refresh has put in their place since.
   * @param getOwnDomains the tenant's own domains. Throws when their configuration can't be read.
   */
  check(raw: RawArguments, previous?: RawArguments, getOwnDomains?: () => OwnDomains): CheckResult;
  /**
   * Replaces `check` for a whole list if the run only removes: returns the previous arguments without what is removed.
   *
   * @param previous the validated arguments of the previous run, or those a refresh has set since.
   */
  checkRemoval?(previous: RawArguments, removalFilter: OnlyRemoves): CheckResult;
  /** Checked arguments with what was left out; every other method takes them so. */
  complete(inputs: RawArguments): Inputs;
  /** Returns what is declared, to detect duplicate declarations. */
  declare(inputs: Inputs): Declaration;
  /** Returns notes for the user, one sentence each, whether or not the run changes anything. Pure. */
  warn(state: State, inputs: Inputs): readonly string[];
  /** Returns the changes. Pure; new arguments may be unknown. */
  diff(state: State, inputs: Inputs): readonly Change[];
  /**
   * By what no other tenant has: what a resource is, and stays, as far as that is known without a request: an entry by its id
   * and what that names, since tenants may number theirs alike; a mailbox is of one tenant. Pure.
   */
  ids(id: string, state: State, inputs: Inputs): readonly string[];
  /**
   * Returns the state after a create, or after an update of what existed before. `UNKNOWN` stands for values that only the
   * service knows. Pure; called in previews, so arguments may be unknown. Assumes that everything in the state exists.
   */
  foresee(inputs: Inputs, before?: Created<State>): object;
  create(inputs: Inputs, context: Context): Promise<Created<State>>;
  /**
   * What the service holds under an id, or under a name that a person would write, for a resource that no state knows yet;
   * undefined when there is nothing. With the arguments that declare exactly that: check accepts them, and nothing differs.
   *
   * - An allow/deny entry: the service's id, or `deny:evil.example`, `allow:mail.example (graymail)`, `evil.example`.
   * - A VIP: the mailbox.
   * - A whole allow/deny list: `allow-deny-list`, or `allow` or `deny` for what is on one of the two.
   * - A whole VIP list: `vip-list`; VIPs by automatic detection are left out.
   *
   * All that ask at about the same time share one reading: ⌈N/200⌉ requests for each list that is asked of.
   *
   * @throws {NotImportableError} when the id can't be read or means several things, or no program can declare what is there.
   */
  lookUp(id: string, context: Context): Promise<Required<ReadResult<State>> | undefined>;
  /** The schema of the filters for `list`. */
  readonly query: z.ZodObject;
  /**
   * What is there of this kind, whether a program declares it or not, as far as one can: {@link lookUp} takes each. Of a whole
   * list, the one that there is.
   *
   * @param query as its schema has found it to be right.
   */
  list(query: RawArguments, context: Context): Promise<readonly Listed[]>;
  /** Reads the actual state; undefined if the object is gone. */
  read(id: string, state: State, context: Context): Promise<ReadResult<State> | undefined>;
  update(id: string, state: State, inputs: Inputs, context: Context): Promise<State>;
  delete(id: string, state: State, context: Context): Promise<void>;
}

/** An existing object that can be imported. */
export interface Listed {
  readonly id: string;
  /** The display name. */
  readonly name: string;
}

/** One of the two settings of a tenant. */
export type TenantList = "entries" | "vips";

/** The operation that the tenant is confirmed for. */
export interface Confirming {
  /** Whether it only removes. Items that an interrupted run has already removed then don't indicate a different tenant. */
  readonly removes?: boolean;
}

/** The environment of a lifecycle. */
export interface Context {
  readonly tenant: Tenant;
  /**
   * Resolves if nothing indicates that the tenant differs from the state's. Call it before any write, and before treating a
   * missing object as gone. The list has been read by then, if needed.
   *
   * @throws {OtherTenantError} which says what indicates another tenant.
   */
  readonly confirmTenant: (list: TenantList, options?: Confirming) => Promise<void>;
  /** Says one sentence to the person at the terminal. */
  readonly say: (sentence: string) => void;
  /** Whether the running program declares this key. */
  readonly isDeclared: (key: string) => boolean;
  /**
   * During a create or update: whether a resource of this process manages this key, according to its state. The created object
   * then replaces it, before or after its deletion.
   */
  readonly isManaged?: (key: string) => boolean;
  /** During the deletion of a list: the declaration that replaces it under the same name. */
  readonly successor?: Declaration | undefined;
  /** Reports the ids that this process has created or adopted to the other provider processes of the run. */
  readonly hold: (ids: readonly string[]) => void;
  /**
   * Whether another provider process of the run has created or adopted the id. Both then reach the same tenant, by another key
   * or host name, and the object to delete here is declared there.
   */
  readonly isHeldElsewhere: (id: string) => boolean;
  /** Returns the tenant's own domains, which determine the risk of an entry. Throws if their configuration can't be read. */
  readonly ownDomains?: () => OwnDomains;
  /** Returns the reviewed plan if the run enforces one. Throws if it can't be read. */
  readonly reviewed?: () => ReviewedPlan | undefined;
}

export interface CheckResult {
  readonly inputs: Record<string, unknown>;
  readonly failures: readonly ArgumentFailure[];
}

/** The declaration of one resource. A list of thousands is evaluated lazily. */
export interface Declaration {
  /** Whether this is a whole list, which shares no item with another resource. */
  readonly isList: boolean;
  readonly things: () => Iterable<DeclaredThing>;
  /** Finds the declaration of a subject. */
  readonly find: (subject: string) => DeclaredThing | undefined;
  /** Whether a key is declared. Declared objects are never deleted. */
  readonly has: (key: string) => boolean;
  /** Of a list: why one run may not remove what is held and not declared, a reason each; none where it may. */
  readonly refusals?: (heldTexts: Readonly<Record<string, string>>) => readonly string[];
  /** Of a list that prunes: its mode. */
  readonly mode?: ListMode;
  /** Whether this is a pruning list without ignore patterns: it removes everything undeclared that its mode prunes. */
  readonly removesOthers?: boolean;
  /** Whether a list that prunes would remove what another resource declares. */
  readonly wouldRemove?: (item: DeclaredThing) => boolean;
}

/** A declared object, as messages describe it. */
export interface DeclaredThing {
  /** Identifies the object, apart from its id. */
  readonly key: string;
  /** Shared by all declarations of the same object. */
  readonly subject: string;
  /** Subjects that may be declared beside it for the same list only: the same value with another scope. */
  readonly kin?: () => readonly string[];
  /** The argument that identifies it. */
  readonly property: string;
  /** Its display name. */
  readonly name: string;
  /** What is declared about it, in words. */
  readonly claim: string;
  /** What the patterns of a list match against. */
  readonly target: PatternTarget;
}

/** The declaration of a resource that is one thing. */
export function declarationOf(item: DeclaredThing): Declaration {
  return {
    isList: false,
    things: () => [item],
    find: (subject) => (subject === item.subject ? item : undefined),
    has: (key) => key === item.key,
  };
}

/** One argument that changes, and what that takes. */
export interface Change {
  readonly property: string;
  readonly kind: "add" | "update" | "delete";
  /** Whether the resource must be replaced for it. */
  readonly replace: boolean;
}

export interface Created<State> {
  readonly id: string;
  readonly state: State;
}

export interface ReadResult<State> extends Created<State> {
  /**
   * The arguments that would declare what the service holds, so that a next `up` mends what drifted. Left out where those
   * of the last run still do.
   */
  readonly inputs?: Record<string, unknown>;
}

/**
 * Something exists now but is not as declared: the front must put it into state together with the failure, so that
 * the next run can go on from it.
 */
export class PartialFailure<State> extends Error {
  readonly id: string;
  readonly state: State;
  /** Why it is not as declared, a reason each. */
  readonly reasons: readonly string[];
  declare readonly cause: EmailSecurityError;

  constructor(id: string, state: State, cause: EmailSecurityError, reasons = [withCode(cause)]) {
    super(withCode(cause), { cause });
    this.name = "PartialFailure";
    this.id = id;
    this.state = state;
    this.reasons = reasons;
  }
}

/** The change of one argument between two values, or undefined when they are the same. */
export function changeOf(
  property: string,
  before: unknown,
  after: unknown,
  replace = false,
): Change | undefined {
  if (before === after) return undefined;
  const kind = before === undefined ? "add" : after === undefined ? "delete" : "update";
  return { property, kind, replace };
}

/** The changes between a state and arguments, field by field. */
export function fieldChanges(
  fields: Readonly<Record<string, Field>>,
  state: object,
  inputs: object,
): readonly Change[] {
  const [before, after] = [state, inputs] as Readonly<Record<string, unknown>>[];
  return differingFields(fields, before ?? {}, after ?? {}).flatMap((name) => {
    const { change, comparable = (value) => value } = fields[name] as Field;
    return changeOf(name, comparable(before?.[name]), comparable(after?.[name]), change === "replace") ?? [];
  });
}

export function isDefined<T>(value: T | undefined): value is T {
  return value !== undefined;
}

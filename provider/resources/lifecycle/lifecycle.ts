import type { z } from "zod";
import type { ArgumentFailure, RawArguments } from "../../settings/arguments";
import { type EmailSecurityError, withCode } from "../../settings/email-security-error";
import { differingFields, type Field } from "../../settings/entry-fields";
import type { ListMode } from "../../settings/list-mode";
import type { OwnDomains } from "../../settings/own-domains";
import type { PatternTarget } from "../../settings/pattern";
import type { Tenant } from "../../tenant";
import type { OnlyRemoves, ReviewedPlan } from "./reviewed-plan";

/**
 * What every resource does, over plain data and without Pulumi: the dynamic provider and the native plugin share it.
 */
export interface Lifecycle<Inputs, State> {
  /**
   * Checks arguments. Pure; called in previews, so arguments may be unknown.
   *
   * @param previous the checked arguments of the run before, or what a refresh has put in their place since.
   * @param getOwnDomains the tenant's own domains. Throws when their configuration can't be read.
   */
  check(raw: RawArguments, previous?: RawArguments, getOwnDomains?: () => OwnDomains): CheckResult;
  /**
   * Of a whole list, in the place of check where the run only removes: the arguments of the run before, without what goes.
   *
   * @param previous the checked arguments of the run before, or what a refresh has put in their place since.
   */
  checkRemoval?(previous: RawArguments, removalFilter: OnlyRemoves): CheckResult;
  /** Checked arguments with what was left out; every other method takes them so. */
  complete(inputs: RawArguments): Inputs;
  /** What is declared, so that the same thing declared twice is found. */
  declare(inputs: Inputs): Declaration;
  /** What a person should know of a run, whether or not it changes anything, sentence by sentence. Pure. */
  warn(state: State, inputs: Inputs): readonly string[];
  /** What would change. Pure; new arguments may be unknown. */
  diff(state: State, inputs: Inputs): readonly Change[];
  /**
   * By what no other tenant has: what a resource is, and stays, as far as that is known without a request: an entry by its id
   * and what that names, since tenants may number theirs alike; a mailbox is of one tenant. Pure.
   */
  ids(id: string, state: State, inputs: Inputs): readonly string[];
  /**
   * The state that create will make, or update of what is there before, with `UNKNOWN` in the place of what only the service
   * can tell. Pure; called in previews, so arguments may be unknown. What the state says is there is taken to be there.
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
  /** By what those that are there can be chosen, where they are listed. */
  readonly query: z.ZodObject;
  /**
   * What is there of this kind, whether a program declares it or not, as far as one can: {@link lookUp} takes each. Of a whole
   * list, the one that there is.
   *
   * @param query as its schema has found it to be right.
   */
  list(query: RawArguments, context: Context): Promise<readonly Listed[]>;
  /** What the service holds now, or undefined when it is gone. */
  read(id: string, state: State, context: Context): Promise<ReadResult<State> | undefined>;
  update(id: string, state: State, inputs: Inputs, context: Context): Promise<State>;
  delete(id: string, state: State, context: Context): Promise<void>;
}

/** What is there, and can be imported. */
export interface Listed {
  readonly id: string;
  /** As a person calls it. */
  readonly name: string;
}

/** One of the two settings of a tenant. */
export type TenantList = "entries" | "vips";

/** What is about to be done to a tenant. */
export interface Confirming {
  /** Whether it only removes: then what an interrupted run has removed already is no sign of another tenant. */
  readonly removes?: boolean;
}

/** What a lifecycle works with. */
export interface Context {
  readonly tenant: Tenant;
  /**
   * Done when nothing tells that this is another tenant than the state is of: before anything is written, and before what is
   * not there is taken for gone. What is to be read of that list is read by then.
   *
   * @throws {OtherTenantError} that says what tells it.
   */
  readonly confirmTenant: (list: TenantList, options?: Confirming) => Promise<void>;
  /** Says one sentence to the person at the terminal. */
  readonly say: (sentence: string) => void;
  /** Whether the program that runs declares what has this key. */
  readonly isDeclared: (key: string) => boolean;
  /**
   * While something is created or updated: whether a resource of this process is what has this key, by the state. Then what is
   * created replaces it, before its deletion or after.
   */
  readonly isManaged?: (key: string) => boolean;
  /** While a list is deleted: the one that the program declares in its place, by the same name. */
  readonly successor?: Declaration | undefined;
  /** Tells the other provider processes of the run that this one has made things, or taken them over: by their ids. */
  readonly hold: (ids: readonly string[]) => void;
  /**
   * Whether another provider process of the run has made it, or taken it over: then it is the same tenant, by another key or
   * another name of its host, and what is to be deleted here is what was declared there.
   */
  readonly isHeldElsewhere: (id: string) => boolean;
  /** The tenant's own domains, which tell what is risky. Throws when their configuration can't be read. */
  readonly ownDomains?: () => OwnDomains;
  /** The plan that was reviewed, where the run is held to one. Throws when it can't be read. */
  readonly reviewed?: () => ReviewedPlan | undefined;
}

export interface CheckResult {
  readonly inputs: Record<string, unknown>;
  readonly failures: readonly ArgumentFailure[];
}

/** What one resource declares. A list of thousands is looked into only where it is asked, and nothing is made of it before. */
export interface Declaration {
  /** Whether this is a whole list, which shares none of its things with another resource. */
  readonly isList: boolean;
  readonly things: () => Iterable<DeclaredThing>;
  /** What is declared about a subject. */
  readonly find: (subject: string) => DeclaredThing | undefined;
  /** Whether the thing of a key is declared. What is declared is never deleted. */
  readonly has: (key: string) => boolean;
  /** Of a list: why one run may not remove what is held and not declared, a reason each; none where it may. */
  readonly refusals?: (heldTexts: Readonly<Record<string, string>>) => readonly string[];
  /** Of a list that prunes: its mode. */
  readonly mode?: ListMode;
  /** Whether this is a list that prunes and ignores nothing: it removes all that its mode prunes and it doesn't declare. */
  readonly removesOthers?: boolean;
  /** Whether a list that prunes would remove what another resource declares. */
  readonly wouldRemove?: (item: DeclaredThing) => boolean;
}

/** One thing that is declared, as a person would tell it. */
export interface DeclaredThing {
  /** What makes it one of its own beside its id. */
  readonly key: string;
  /** What two declarations of the same thing share. */
  readonly subject: string;
  /** The subjects that may be declared beside it for the same list only: the same value in another scope. */
  readonly kin?: () => readonly string[];
  /** The argument that names it. */
  readonly property: string;
  /** What it is called. */
  readonly name: string;
  /** What is declared of it, in words. */
  readonly claim: string;
  /** What the patterns of a list are held against. */
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

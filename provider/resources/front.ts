import { InvalidArgumentError } from "../client";
import { type ArgumentFailure, type RawArguments, validate } from "../settings/arguments";
import type { OwnDomains } from "../settings/own-domains";
import { isPrintable, printable, quote } from "../settings/text";
import { UNKNOWN } from "../settings/unknown";
import { withoutUndefined } from "../settings/without-undefined";
import { TimeLimit } from "../tenant";
import type { ConfigSource } from "./configuration";
import { OtherTenantError } from "./lifecycle/errors";
import {
  type Change,
  type Context,
  type Declaration,
  type Listed,
  PartialFailure,
  type ReadResult,
} from "./lifecycle/lifecycle";
import type { OnlyRemoves } from "./lifecycle/reviewed-plan";
import { lifecycleOf } from "./lifecycles";
import type { Owner } from "./program";
import { listOf, type ResourceKind } from "./resource-type";
import type { SameTenant } from "./same-tenant";

/** Arguments, inputs or outputs of a resource as plain data; what is not known yet in a preview is `UNKNOWN`. */
export type Properties = Readonly<Record<string, unknown>>;

/** The output that tells which tenant a resource belongs to. */
const TENANT_PROPERTY = "tenant";
/** The output that tells whose mailboxes the tenant has, as a salted fingerprint of their domains. */
const FINGERPRINT_PROPERTY = "people";

/** How a run that accepts other people shows what it does to each resource: its fingerprint is made anew. */
const OTHER_PEOPLE: Change = { property: FINGERPRINT_PROPERTY, kind: "update", replace: false };

/** How a move to another tenant shows in a preview; which one it will be is no argument, so only the old one is told. */
const MOVED: Change = { property: TENANT_PROPERTY, kind: "delete", replace: true };

/** A resource as a program names it. */
export interface Named {
  /** What tells it from all others of its kind in the program. */
  readonly id: string;
  /** What people call it; undefined where that is not told. */
  readonly name: string | undefined;
}

/** What a front was answered about a resource that is there. */
export interface Found {
  readonly id: string;
  readonly outputs: Properties;
  /** The arguments that declare it; left out where those of the last run still do. */
  readonly inputs?: Properties;
}

/**
 * One kind of resource as Pulumi asks for it, over plain data: what the front of dynamic resources and the one of the
 * native plugin have in common. What a front adds is how its process is spoken to.
 *
 * A change that was done in part is thrown as a {@link PartialFailure}, whose state is what is to be kept. `seconds` is how
 * long it may take (Pulumi's `customTimeouts`); 0 is as long as it takes.
 */
export interface Front {
  /** @param olds the checked arguments of the run before. */
  check(
    args: Properties,
    olds: Properties,
    named: Named,
  ): { readonly inputs: Properties; readonly failures: readonly ArgumentFailure[] };
  /** What would change, a move to another tenant with it. */
  diff(id: string, olds: Properties, inputs: Properties): readonly Change[];
  /**
   * Why what an import has read can't become what the program declares: it is about something else. Undefined where it can. Pure.
   *
   * @param olds what was read.
   */
  importMismatch(olds: Properties, inputs: Properties): string | undefined;
  /**
   * What create will answer, or update of what is there before, as far as that is known without a request; the rest is
   * `UNKNOWN`.
   */
  preview(inputs: Properties, before?: { readonly id: string; readonly outputs: Properties }): Properties;
  create(
    inputs: Properties,
    seconds?: number,
  ): Promise<{ readonly id: string; readonly outputs: Properties }>;
  /** What the service holds now; undefined when it is gone. */
  read(id: string, outputs: Properties, seconds?: number): Promise<Found | undefined>;
  /** What the service holds under an id or a natural key, for a resource that no state knows yet; with its arguments. */
  lookUp(id: string, seconds?: number): Promise<Found | undefined>;
  /**
   * What is there of this kind, by ids that {@link lookUp} takes.
   *
   * @throws {InvalidArgumentError} that tells what is wrong with the query.
   */
  list(query: Properties): Promise<readonly Listed[]>;
  update(id: string, olds: Properties, inputs: Properties, seconds?: number): Promise<Properties>;
  /** @param name what people call it; where the program declares a list by it, that takes the place of this one. */
  delete(id: string, outputs: Properties, seconds?: number, name?: string): Promise<void>;
}

/** What a front has of the process that it is in. */
export interface Session {
  /** Takes the configuration. Called before any other, and done when it returns, so that first calls can't race it. */
  configure(config: ConfigSource): void;
  /** What a lifecycle works with. Throws when the configuration is missing. */
  context(): Context;
  /**
   * Remembers what the running program declares, so that nothing of it is deleted; unless it collides with what another
   * resource declares: then it answers where, on its arguments.
   */
  declare(owner: Owner, declaration: Declaration): readonly ArgumentFailure[];
  /** Whether the program declares something of it by this process, and not by another one, or not in this run. */
  declares(declaration: Declaration): boolean;
  /** The list that the program declares by a name, where it declares one. */
  listNamed(kind: ResourceKind, name: string): Declaration | undefined;
  /** Remembers what a resource of this process is by the state, so that it can be replaced by itself. */
  manage(declaration: Declaration): void;
  isManaged(key: string): boolean;
  /** Keeps the run from the tenant of another key. */
  readonly sameTenant: SameTenant;
  /** Tells the other provider processes of the run what this one manages, by what no other tenant has. */
  hold(ids: readonly string[]): void;
  /** The tenant's own domains. Throws when their configuration can't be read. */
  ownDomains(): OwnDomains;
  /** What tells the tenant of this process from another; undefined while it is not known. */
  tenant(): string | undefined;
  /** Where the run is held to a plan that only removes: what. Throws when that can't be read. */
  onlyRemoves(): OnlyRemoves | undefined;
  /** Says one sentence to the person at the terminal. */
  say(sentence: string): void;
}

export function frontOf(kind: ResourceKind, session: Session): Front {
  const lifecycle = lifecycleOf(kind);
  const list = listOf(kind);
  const stateOf = ({
    [TENANT_PROPERTY]: _tenant,
    [FINGERPRINT_PROPERTY]: _fingerprint,
    ...state
  }: Properties): object => state;
  /** What a resource is by its state, as if it were declared so. */
  const declarationOf = (state: object): Declaration =>
    lifecycle.declare(lifecycle.complete(state as Properties));
  const withTenant = (state: object, before: Properties, { tenant }: Context): Properties => ({
    ...state,
    ...withoutUndefined({
      [TENANT_PROPERTY]: session.tenant(),
      [FINGERPRINT_PROPERTY]: session.sameTenant.fingerprint(before[FINGERPRINT_PROPERTY], tenant),
    }),
  });
  /** What the state says is at this tenant. */
  const expect = (outputs: Properties, declared: Declaration): void =>
    session.sameTenant.expect(list, declared, outputs[FINGERPRINT_PROPERTY]);
  /** The tenant that a resource belongs to, where it is another than that of this process. */
  const otherTenant = ({ [TENANT_PROPERTY]: before }: Properties): string | undefined => {
    const tenant = session.tenant();
    return typeof before === "string" && tenant !== undefined && before !== tenant ? before : undefined;
  };
  /** What is to be deleted at another tenant than that of this process can't be: here something else would be deleted. */
  const leave = (outputs: Properties, other: string, { isDeclared, say }: Context): void => {
    const things = [...declarationOf(stateOf(outputs)).things()];
    const [first] = things;
    const names = `${first?.name ?? kind}${things.length > 1 ? ` and ${things.length - 1} more` : ""}`;
    const where = `${names} belongs to ${other}, and this run reaches ${session.tenant()}`;
    if (outputs["onDelete"] !== "keep" && !things.every(({ key }) => isDeclared(key))) {
      throw new OtherTenantError(
        `${where}, so nothing was deleted. Where that is another name of the same tenant, and this is to go, delete it in the console; else run with the address from before. To only forget it: \`pulumi state delete\` with its URN.`,
      );
    }
    say(
      `${where}: nothing was deleted there. Where that is another tenant, delete it there, if it is to go.`,
    );
  };
  /** For what no state knows yet: only what is configured can tell that this is another tenant. */
  const confirmUnknown = async (context: Context): Promise<void> => {
    if (session.ownDomains().names.length > 0) await context.confirmTenant(list);
  };
  const found = (
    result: ReadResult<object> | undefined,
    before: Properties,
    context: Context,
  ): Found | undefined => {
    if (result === undefined) return undefined;
    const { id, state, inputs } = result;
    const answer = { id, outputs: withTenant(state, before, context) };
    return inputs === undefined ? answer : { ...answer, inputs };
  };
  const keepingTenant = async <T>(work: Promise<T>, before: Properties, context: Context): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      if (!(error instanceof PartialFailure)) throw error;
      const { id, state, cause, reasons } = error;
      throw new PartialFailure(id, withTenant(state as object, before, context), cause, [...reasons]);
    }
  };
  /** Does an operation with what it works with, at most for as long as it may take. */
  const inTime = async <T>(
    operation: "create" | "read" | "update" | "delete",
    seconds: number,
    work: (context: Context) => Promise<T>,
  ): Promise<T> => {
    const context = session.context();
    if (seconds <= 0) return await work(context);
    const limit = new TimeLimit({ seconds, of: `customTimeouts.${operation} of this ${kind}` });
    try {
      return await work({
        ...context,
        tenant: limit.tenant(context.tenant),
        // What it asks is asked for all resources of the run.
        confirmTenant: (...what) => limit.wait(() => context.confirmTenant(...what)),
      });
    } finally {
      limit.end();
    }
  };
  let isChecked = false;
  return {
    check(args, olds, { id, name }) {
      isChecked = true;
      const onlyRemoves = session.onlyRemoves();
      const isLimited = onlyRemoves !== undefined && Object.keys(olds).length > 0;
      const { inputs, failures } =
        isLimited && lifecycle.checkRemoval !== undefined
          ? lifecycle.checkRemoval(olds, onlyRemoves)
          : lifecycle.check(args, olds, () => session.ownDomains());
      if (failures.length > 0 || Object.values(inputs).includes(UNKNOWN)) {
        return { inputs, failures: told(failures, args) };
      }
      const declaration = lifecycle.declare(lifecycle.complete(inputs));
      const collisions = session.declare({ kind, id, name }, declaration);
      return { inputs, failures: told(collisions, args) };
    },

    diff(id, olds, news) {
      const state = stateOf(olds);
      const inputs = lifecycle.complete(news);
      const changes = lifecycle.diff(state, inputs);
      // A refresh asks too, how what is there differs from what the last run declared: before any check, and nothing goes by that.
      if (isChecked) {
        for (const sentence of lifecycle.warn(state, inputs)) session.say(sentence);
      }
      // What belongs to another tenant is made anew in this one, and deleted there by the process that knows it.
      if (otherTenant(olds) !== undefined) return [...changes, MOVED];
      const before = declarationOf(state);
      session.manage(before);
      expect(olds, before);
      const ids = changes.some(({ replace }) => replace) ? [] : lifecycle.ids(id, state, inputs);
      // Nor does a refresh say who manages it in this run: it asks the process of the last one.
      if (ids.length > 0 && session.declares(before)) session.hold(ids);
      const isAccepting = session.sameTenant.accepts() && olds[FINGERPRINT_PROPERTY] !== undefined;
      return isAccepting ? [...changes, OTHER_PEOPLE] : changes;
    },

    importMismatch(olds, news) {
      const inputs = lifecycle.complete(news);
      const changes = lifecycle.diff(stateOf(olds), inputs);
      if (!changes.some(({ replace }) => replace)) return undefined;
      const nameOf = (declaration: Declaration) => [...declaration.things()][0]?.name ?? kind;
      const declared = nameOf(lifecycle.declare(inputs));
      // Where it is not known yet, there is no name to advise.
      const isKnown = !Object.values(news).includes(UNKNOWN);
      const id = isKnown ? ` such as ${quote(declared.replace(" ", ":"))}` : "";
      return `The import names ${printable(nameOf(declarationOf(stateOf(olds))))}, and the program declares ${printable(declared)}. Nothing was imported. Import it by an id of what is declared${id}, or take \`import\` out: then \`up\` takes over what is there as declared.`;
    },

    preview(inputs, before) {
      const known = before === undefined ? undefined : { id: before.id, state: stateOf(before.outputs) };
      const people = before?.outputs[FINGERPRINT_PROPERTY];
      return {
        ...lifecycle.foresee(lifecycle.complete(inputs), known),
        [TENANT_PROPERTY]: session.tenant() ?? UNKNOWN,
        ...withoutUndefined({
          [FINGERPRINT_PROPERTY]: people !== undefined && session.sameTenant.accepts() ? UNKNOWN : people,
        }),
      };
    },

    create: (inputs, seconds = 0) =>
      inTime("create", seconds, async (given) => {
        const context = { ...given, isManaged: (key: string) => session.isManaged(key) };
        const work = lifecycle.create(lifecycle.complete(inputs), context);
        const { id, state } = await keepingTenant(work, {}, context);
        session.sameTenant.wrote(list, declarationOf(state), context.tenant);
        return { id, outputs: withTenant(state, {}, context) };
      }),

    read: (id, outputs, seconds = 0) =>
      inTime("read", seconds, async (context) => {
        const state = stateOf(outputs);
        // What a program gives beside an id to look up may be less than a state.
        const isWhole = ["value", "email", "entries", "members"].some((name) => outputs[name] !== undefined);
        if (isWhole) {
          const before = declarationOf(state);
          expect(outputs, before);
          // What is replaced by name is checked and made as if it were new: that it is there is known by a refresh alone.
          if (otherTenant(outputs) === undefined) session.manage(before);
        }
        return found(await lifecycle.read(id, state, context), outputs, context);
      }),

    lookUp: (id, seconds = 0) =>
      inTime("read", seconds, async (context) => {
        await confirmUnknown(context);
        return found(await lifecycle.lookUp(id, context), {}, context);
      }),

    async list(query) {
      const [failure] = validate(lifecycle.query, query);
      if (failure !== undefined) {
        throw new InvalidArgumentError(
          `${kind} can't be listed so: ${printable(failure.property)} ${failure.reason}. Nothing was read.`,
        );
      }
      const context = session.context();
      await confirmUnknown(context);
      return await lifecycle.list(query, context);
    },

    update: (id, olds, inputs, seconds = 0) =>
      inTime("update", seconds, async (given) => {
        const context = { ...given, isManaged: (key: string) => session.isManaged(key) };
        const before = stateOf(olds);
        if (otherTenant(olds) === undefined) expect(olds, declarationOf(before));
        if (session.sameTenant.accepts()) await context.confirmTenant(list);
        const work = lifecycle.update(id, before, lifecycle.complete(inputs), context);
        const state = await keepingTenant(work, olds, context);
        session.sameTenant.wrote(list, declarationOf(state), context.tenant);
        return withTenant(state, olds, context);
      }),

    delete: (id, outputs, seconds = 0, name = "") =>
      inTime("delete", seconds, async (context) => {
        const other = otherTenant(outputs);
        if (other !== undefined) leave(outputs, other, context);
        else {
          const state = stateOf(outputs);
          const before = declarationOf(state);
          session.manage(before);
          expect(outputs, before);
          await lifecycle.delete(id, state, { ...context, successor: session.listNamed(kind, name) });
        }
      }),
  };
}

/**
 * Failures as the engine tells them best. It prints the value of the property beside each, as it is, and the whole of a
 * list; so what is about a list or a place in it, or about a value that can't be printed, is told without a property, in
 * one failure, a line each.
 */
function told(failures: readonly ArgumentFailure[], args: RawArguments): ArgumentFailure[] {
  const isAlone = ({ property }: ArgumentFailure): boolean =>
    isInList(property) || !isPrintable(property) || !isPrintable(args[property]);
  const alone = failures.filter(isAlone);
  if (alone.length === 0) return [...failures];
  const lines = alone.map(
    ({ property, reason }) => `  ${printable(property)} ${reason.replaceAll("\n", "\n  ")}`,
  );
  return [
    ...failures.filter((failure) => !isAlone(failure)),
    { property: "", reason: ["these arguments can't be accepted:", ...lines].join("\n") },
  ];
}

function isInList(property: string): boolean {
  return /^(entries|members)\b/.test(property) || property.includes("[");
}

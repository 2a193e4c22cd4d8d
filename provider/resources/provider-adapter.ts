import { InvalidArgumentError } from "../client";
import { type ArgumentFailure, type RawArguments, validateArguments } from "../settings/arguments";
import { omitUndefined } from "../settings/omit-undefined";
import type { OwnDomains } from "../settings/own-domains";
import { isPrintable, quote, sanitizeLine } from "../settings/text";
import { UNKNOWN } from "../settings/unknown";
import { TimeLimit } from "../tenant";
import type { ConfigSource } from "./configuration";
import type { DeclarationOwner } from "./declaration-registry";
import { OtherTenantError } from "./lifecycle/errors";
import {
  type LifecycleContext,
  type ListedResource,
  PartialFailureError,
  type PropertyChange,
  type ResourceDeclaration,
  type ResourceReadResult,
} from "./lifecycle/lifecycle";
import type { RemovalFilter } from "./lifecycle/reviewed-plan";
import { getLifecycle } from "./lifecycles";
import { getTenantList, type ResourceKind } from "./resource-type";
import type { TenantVerifier } from "./tenant-verifier";

/** Arguments, inputs or outputs of a resource as plain data; what is not known yet in a preview is `UNKNOWN`. */
export type Properties = Readonly<Record<string, unknown>>;

/** The output that tells which tenant a resource belongs to. */
const TENANT_PROPERTY = "tenant";
/** The output that tells whose mailboxes the tenant has, as a salted fingerprint of their domains. */
const FINGERPRINT_PROPERTY = "people";

/** How a run that accepts other people shows what it does to each resource: its fingerprint is made anew. */
const FINGERPRINT_CHANGE: PropertyChange = { property: FINGERPRINT_PROPERTY, kind: "update", replace: false };

/** How a move to another tenant shows in a preview; which one it will be is no argument, so only the old one is told. */
const TENANT_CHANGE: PropertyChange = { property: TENANT_PROPERTY, kind: "delete", replace: true };

/** A resource as a program names it. */
export interface ResourceName {
  /** What tells it from all others of its kind in the program. */
  readonly id: string;
  /** What people call it; undefined where that is not told. */
  readonly name: string | undefined;
}

/** What a front was answered about a resource that is there. */
export interface AdapterReadResult {
  readonly id: string;
  readonly outputs: Properties;
  /** The arguments that declare it; left out where those of the last run still do. */
  readonly inputs?: Properties;
}

/**
 * One kind of resource as Pulumi asks for it, over plain data: what the front of dynamic resources and the one of the
 * native plugin have in common. What a front adds is how its process is spoken to.
 *
 * A change that was done in part is thrown as a {@link PartialFailureError}, whose state is what is to be kept. `seconds` is how
 * long it may take (Pulumi's `customTimeouts`); 0 is as long as it takes.
 */
export interface ProviderAdapter {
  /** @param olds the checked arguments of the run before. */
  check(
    args: Properties,
    olds: Properties,
    resource: ResourceName,
  ): { readonly inputs: Properties; readonly failures: readonly ArgumentFailure[] };
  /** What would change, a move to another tenant with it. */
  diff(id: string, olds: Properties, inputs: Properties): readonly PropertyChange[];
  /**
   * Why what an import has read can't become what the program declares: it is about something else. Undefined where it can. Pure.
   *
   * @param olds what was read.
   */
  describeImportMismatch(olds: Properties, inputs: Properties): string | undefined;
  /**
   * What create will answer, or update of what is there before, as far as that is known without a request; the rest is
   * `UNKNOWN`.
   */
  preview(inputs: Properties, before?: { readonly id: string; readonly outputs: Properties }): Properties;
  create(inputs: Properties, seconds?: number): Promise<{ readonly id: string; readonly outputs: Properties }>;
  /** What the service holds now; undefined when it is gone. */
  read(id: string, outputs: Properties, seconds?: number): Promise<AdapterReadResult | undefined>;
  /** What the service holds under an id or a natural key, for a resource that no state knows yet; with its arguments. */
  lookUp(id: string, seconds?: number): Promise<AdapterReadResult | undefined>;
  /**
   * What is there of this kind, by ids that {@link lookUp} takes.
   *
   * @throws {InvalidArgumentError} that tells what is wrong with the query.
   */
  list(query: Properties): Promise<readonly ListedResource[]>;
  update(id: string, olds: Properties, inputs: Properties, seconds?: number): Promise<Properties>;
  /** @param name what people call it; where the program declares a list by it, that takes the place of this one. */
  delete(id: string, outputs: Properties, seconds?: number, name?: string): Promise<void>;
}

/** What a front has of the process that it is in. */
export interface Session {
  /** Takes the configuration. Called before any other, and done when it returns, so that first calls can't race it. */
  configure(config: ConfigSource): void;
  /** What a lifecycle works with. Throws when the configuration is missing. */
  getContext(): LifecycleContext;
  /**
   * Remembers what the running program declares, so that nothing of it is deleted; unless it collides with what another
   * resource declares: then it answers where, on its arguments.
   */
  declare(owner: DeclarationOwner, declaration: ResourceDeclaration): readonly ArgumentFailure[];
  /** Whether the program declares something of it by this process, and not by another one, or not in this run. */
  isDeclaredHere(declaration: ResourceDeclaration): boolean;
  /** The list that the program declares by a name, where it declares one. */
  findListByName(kind: ResourceKind, name: string): ResourceDeclaration | undefined;
  /** Remembers what a resource of this process is by the state, so that it can be replaced by itself. */
  addManaged(declaration: ResourceDeclaration): void;
  isManaged(key: string): boolean;
  /** Keeps the run from the tenant of another key. */
  readonly tenantVerifier: TenantVerifier;
  /** Tells the other provider processes of the run what this one manages, by what no other tenant has. */
  shareManagedIds(ids: readonly string[]): void;
  /** The tenant's own domains. Throws when their configuration can't be read. */
  getOwnDomains(): OwnDomains;
  /** What tells the tenant of this process from another; undefined while it is not known. */
  getTenantLabel(): string | undefined;
  /** Where the run is held to a plan that only removes: what. Throws when that can't be read. */
  getRemovalFilter(): RemovalFilter | undefined;
  /** Says one sentence to the person at the terminal. */
  log(sentence: string): void;
}

export function createProviderAdapter(kind: ResourceKind, session: Session): ProviderAdapter {
  const lifecycle = getLifecycle(kind);
  const list = getTenantList(kind);
  const stripAdapterOutputs = ({
    [TENANT_PROPERTY]: _tenant,
    [FINGERPRINT_PROPERTY]: _fingerprint,
    ...state
  }: Properties): object => state;
  /** What a resource is by its state, as if it were declared so. */
  const buildDeclaration = (state: object): ResourceDeclaration =>
    lifecycle.declare(lifecycle.complete(state as Properties));
  const addTenant = (state: object, before: Properties, { tenant }: LifecycleContext): Properties => ({
    ...state,
    ...omitUndefined({
      [TENANT_PROPERTY]: session.getTenantLabel(),
      [FINGERPRINT_PROPERTY]: session.tenantVerifier.getFingerprint(before[FINGERPRINT_PROPERTY], tenant),
    }),
  });
  /** What the state says is at this tenant. */
  const expectDeclared = (outputs: Properties, declared: ResourceDeclaration): void =>
    session.tenantVerifier.expect(list, declared, outputs[FINGERPRINT_PROPERTY]);
  /** The tenant that a resource belongs to, where it is another than that of this process. */
  const findOtherTenant = ({ [TENANT_PROPERTY]: before }: Properties): string | undefined => {
    const currentTenant = session.getTenantLabel();
    return typeof before === "string" && currentTenant !== undefined && before !== currentTenant ? before : undefined;
  };
  /** What is to be deleted at another tenant than that of this process can't be: here something else would be deleted. */
  const assertNothingToDelete = (
    outputs: Properties,
    otherTenantName: string,
    { isDeclared, log }: LifecycleContext,
  ): void => {
    const declaredItems = [...buildDeclaration(stripAdapterOutputs(outputs)).getItems()];
    const [first] = declaredItems;
    const names = `${first?.name ?? kind}${declaredItems.length > 1 ? ` and ${declaredItems.length - 1} more` : ""}`;
    const explanation = `${names} belongs to ${otherTenantName}, and this run reaches ${session.getTenantLabel()}`;
    if (outputs["onDelete"] !== "keep" && !declaredItems.every(({ key }) => isDeclared(key))) {
      throw new OtherTenantError(
        `${explanation}, so nothing was deleted. Where that is another name of the same tenant, and this is to go, delete it in the console; else run with the address from before. To only forget it: \`pulumi state delete\` with its URN.`,
      );
    }
    log(`${explanation}: nothing was deleted there. Where that is another tenant, delete it there, if it is to go.`);
  };
  /** For what no state knows yet: only what is configured can tell that this is another tenant. */
  const confirmConfiguredTenant = async (context: LifecycleContext): Promise<void> => {
    if (session.getOwnDomains().names.length > 0) await context.confirmTenant(list);
  };
  const buildSnapshot = (
    result: ResourceReadResult<object> | undefined,
    before: Properties,
    context: LifecycleContext,
  ): AdapterReadResult | undefined => {
    if (result === undefined) return undefined;
    const { id, state, inputs } = result;
    const snapshot = { id, outputs: addTenant(state, before, context) };
    return inputs === undefined ? snapshot : { ...snapshot, inputs };
  };
  const addTenantToFailure = async <T>(work: Promise<T>, before: Properties, context: LifecycleContext): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      if (!(error instanceof PartialFailureError)) throw error;
      const { id, state, cause, reasons } = error;
      throw new PartialFailureError(id, addTenant(state as object, before, context), cause, [...reasons]);
    }
  };
  /** Does an operation with what it works with, at most for as long as it may take. */
  const runWithTimeout = async <T>(
    operation: "create" | "read" | "update" | "delete",
    seconds: number,
    work: (context: LifecycleContext) => Promise<T>,
  ): Promise<T> => {
    const context = session.getContext();
    if (seconds <= 0) return await work(context);
    const timeout = new TimeLimit({ seconds, of: `customTimeouts.${operation} of this ${kind}` });
    try {
      return await work({
        ...context,
        tenant: timeout.wrapTenant(context.tenant),
        // What it asks is asked for all resources of the run.
        confirmTenant: (...args) => timeout.run(() => context.confirmTenant(...args)),
      });
    } finally {
      timeout.clear();
    }
  };
  let isChecked = false;
  return {
    check(args, olds, { id, name }) {
      isChecked = true;
      const removalFilter = session.getRemovalFilter();
      const isRemovalOnly = removalFilter !== undefined && Object.keys(olds).length > 0;
      const { inputs, failures } =
        isRemovalOnly && lifecycle.checkRemoval !== undefined
          ? lifecycle.checkRemoval(olds, removalFilter)
          : lifecycle.check(args, olds, () => session.getOwnDomains());
      if (failures.length > 0 || Object.values(inputs).includes(UNKNOWN)) {
        return { inputs, failures: mergeFailures(failures, args) };
      }
      const declaration = lifecycle.declare(lifecycle.complete(inputs));
      const collisions = session.declare({ kind, id, name }, declaration);
      return { inputs, failures: mergeFailures(collisions, args) };
    },

    diff(id, olds, news) {
      const state = stripAdapterOutputs(olds);
      const inputs = lifecycle.complete(news);
      const changes = lifecycle.diff(state, inputs);
      // A refresh asks too, how what is there differs from what the last run declared: before any check, and nothing goes by that.
      if (isChecked) {
        for (const sentence of lifecycle.warn(state, inputs)) session.log(sentence);
      }
      // What belongs to another tenant is made anew in this one, and deleted there by the process that knows it.
      if (findOtherTenant(olds) !== undefined) return [...changes, TENANT_CHANGE];
      const before = buildDeclaration(state);
      session.addManaged(before);
      expectDeclared(olds, before);
      const ids = changes.some(({ replace }) => replace) ? [] : lifecycle.getManagedIds(id, state, inputs);
      // Nor does a refresh say who manages it in this run: it asks the process of the last one.
      if (ids.length > 0 && session.isDeclaredHere(before)) session.shareManagedIds(ids);
      const acceptsNewFingerprint =
        session.tenantVerifier.isEmptyTenantAccepted() && olds[FINGERPRINT_PROPERTY] !== undefined;
      return acceptsNewFingerprint ? [...changes, FINGERPRINT_CHANGE] : changes;
    },

    describeImportMismatch(olds, news) {
      const inputs = lifecycle.complete(news);
      const changes = lifecycle.diff(stripAdapterOutputs(olds), inputs);
      if (!changes.some(({ replace }) => replace)) return undefined;
      const getDeclarationName = (declaration: ResourceDeclaration) => [...declaration.getItems()][0]?.name ?? kind;
      const declared = getDeclarationName(lifecycle.declare(inputs));
      // Where it is not known yet, there is no name to advise.
      const isKnown = !Object.values(news).includes(UNKNOWN);
      const id = isKnown ? ` such as ${quote(declared.replace(" ", ":"))}` : "";
      return `The import names ${sanitizeLine(getDeclarationName(buildDeclaration(stripAdapterOutputs(olds))))}, and the program declares ${sanitizeLine(declared)}. Nothing was imported. Import it by an id of what is declared${id}, or take \`import\` out: then \`up\` takes over what is there as declared.`;
    },

    preview(inputs, before) {
      const knownResource =
        before === undefined ? undefined : { id: before.id, state: stripAdapterOutputs(before.outputs) };
      const fingerprint = before?.outputs[FINGERPRINT_PROPERTY];
      return {
        ...lifecycle.preview(lifecycle.complete(inputs), knownResource),
        [TENANT_PROPERTY]: session.getTenantLabel() ?? UNKNOWN,
        ...omitUndefined({
          [FINGERPRINT_PROPERTY]:
            fingerprint !== undefined && session.tenantVerifier.isEmptyTenantAccepted() ? UNKNOWN : fingerprint,
        }),
      };
    },

    create: (inputs, seconds = 0) =>
      runWithTimeout("create", seconds, async (baseContext) => {
        const context = { ...baseContext, isManaged: (key: string) => session.isManaged(key) };
        const work = lifecycle.create(lifecycle.complete(inputs), context);
        const { id, state } = await addTenantToFailure(work, {}, context);
        session.tenantVerifier.recordWrite(list, buildDeclaration(state), context.tenant);
        return { id, outputs: addTenant(state, {}, context) };
      }),

    read: (id, outputs, seconds = 0) =>
      runWithTimeout("read", seconds, async (context) => {
        const state = stripAdapterOutputs(outputs);
        // What a program gives beside an id to look up may be less than a state.
        const hasFullState = ["value", "email", "entries", "members"].some((name) => outputs[name] !== undefined);
        if (hasFullState) expectDeclared(outputs, buildDeclaration(state));
        const result = await lifecycle.read(id, state, context);
        // A renamed resource is checked and created as if it were new: only a refresh tells that it exists. What was there before the
        // refresh may be anybody's row now.
        if (hasFullState && result !== undefined && findOtherTenant(outputs) === undefined)
          session.addManaged(buildDeclaration(result.state));
        return buildSnapshot(result, outputs, context);
      }),

    lookUp: (id, seconds = 0) =>
      runWithTimeout("read", seconds, async (context) => {
        await confirmConfiguredTenant(context);
        return buildSnapshot(await lifecycle.lookUp(id, context), {}, context);
      }),

    async list(query) {
      const [failure] = validateArguments(lifecycle.querySchema, query);
      if (failure !== undefined) {
        throw new InvalidArgumentError(
          `${kind} can't be listed so: ${sanitizeLine(failure.property)} ${failure.reason}. Nothing was read.`,
        );
      }
      const context = session.getContext();
      await confirmConfiguredTenant(context);
      return await lifecycle.list(query, context);
    },

    update: (id, olds, inputs, seconds = 0) =>
      runWithTimeout("update", seconds, async (baseContext) => {
        const context = { ...baseContext, isManaged: (key: string) => session.isManaged(key) };
        const before = stripAdapterOutputs(olds);
        if (findOtherTenant(olds) === undefined) expectDeclared(olds, buildDeclaration(before));
        if (session.tenantVerifier.isEmptyTenantAccepted()) await context.confirmTenant(list);
        const work = lifecycle.update(id, before, lifecycle.complete(inputs), context);
        const state = await addTenantToFailure(work, olds, context);
        session.tenantVerifier.recordWrite(list, buildDeclaration(state), context.tenant);
        return addTenant(state, olds, context);
      }),

    delete: (id, outputs, seconds = 0, name = "") =>
      runWithTimeout("delete", seconds, async (context) => {
        const otherTenantName = findOtherTenant(outputs);
        if (otherTenantName !== undefined) assertNothingToDelete(outputs, otherTenantName, context);
        else {
          const state = stripAdapterOutputs(outputs);
          const before = buildDeclaration(state);
          session.addManaged(before);
          expectDeclared(outputs, before);
          const isManaged = (key: string) => session.isManaged(key);
          await lifecycle.delete(id, state, {
            ...context,
            isManaged,
            successor: session.findListByName(kind, name),
          });
        }
      }),
  };
}

/**
 * Failures as the engine tells them best. It prints the value of the property beside each, as it is, and the whole of a
 * list; so what is about a list or a place in it, or about a value that can't be printed, is told without a property, in
 * one failure, a line each.
 */
function mergeFailures(failures: readonly ArgumentFailure[], args: RawArguments): ArgumentFailure[] {
  const isSeparate = ({ property }: ArgumentFailure): boolean =>
    isListElementPath(property) || !isPrintable(property) || !isPrintable(args[property]);
  const separateFailures = failures.filter(isSeparate);
  if (separateFailures.length === 0) return [...failures];
  const lines = separateFailures.map(
    ({ property, reason }) => `  ${sanitizeLine(property)} ${reason.replaceAll("\n", "\n  ")}`,
  );
  return [
    ...failures.filter((failure) => !isSeparate(failure)),
    { property: "", reason: ["these arguments can't be accepted:", ...lines].join("\n") },
  ];
}

function isListElementPath(property: string): boolean {
  return /^(entries|members)\b/.test(property) || property.includes("[");
}

import { InvalidArgumentError } from "../client";
import { type ArgumentFailure, type RawArguments, validateArguments } from "../model/arguments";
import { omitUndefined } from "../model/omit-undefined";
import type { OwnDomains } from "../model/own-domains";
import { isPrintable, quote, sanitizeLine } from "../model/text";
import { UNKNOWN } from "../model/unknown-value";
import { TimeLimit } from "../tenant";
import type { ConfigSource } from "./configuration";
import type { DeclarationOwner } from "./declaration-registry";
import { getLifecycle } from "./get-lifecycle";
import { OtherTenantError } from "./lifecycle/errors";
import {
  type DeclarationItem,
  type LifecycleContext,
  type ListedResource,
  PartialFailureError,
  type PropertyChange,
  type ResourceDeclaration,
  type ResourceReadResult,
} from "./lifecycle/lifecycle";
import type { RemovalFilter } from "./lifecycle/reviewed-plan";
import { getTenantList, type ResourceKind } from "./resource-type";
import type { TenantVerifier } from "./tenant-verifier";

/** Arguments, inputs or outputs of a resource as plain data. Values that a preview doesn't know yet are `UNKNOWN`. */
export type Properties = Readonly<Record<string, unknown>>;

const TENANT_PROPERTY = "tenant";
/** The output with a salted fingerprint of the domains of the tenant's mailboxes. */
const FINGERPRINT_PROPERTY = "people";

/** How the preview shows that a run which accepts other mail domains renews the fingerprint of each resource. */
const FINGERPRINT_CHANGE: PropertyChange = { property: FINGERPRINT_PROPERTY, kind: "update", replace: false };

/**
 * How a preview shows a move to another tenant. The new tenant isn't an argument, so the preview only shows the old
 * one.
 */
const TENANT_CHANGE: PropertyChange = { property: TENANT_PROPERTY, kind: "delete", replace: true };

export interface ResourceName {
  readonly id: string;
  /** The resource's name for messages. Undefined if the engine doesn't pass it. */
  readonly name: string | undefined;
}

export interface AdapterReadResult {
  readonly id: string;
  readonly outputs: Properties;
  /** The arguments that declare it. Absent if those of the last run still do. */
  readonly inputs?: Properties;
}

/**
 * The operations of one resource kind over plain data, shared by the dynamic provider and the native provider plugin.
 * Each of them only adds its own transport.
 *
 * A partial change throws a {@link PartialFailureError} with the state to store. `seconds` is the timeout (Pulumi's
 * `customTimeouts`). 0 means no timeout.
 */
export interface ProviderAdapter {
  check(
    args: Properties,
    olds: Properties,
    resource: ResourceName,
  ): { readonly inputs: Properties; readonly failures: readonly ArgumentFailure[] };
  diff(id: string, olds: Properties, inputs: Properties): readonly PropertyChange[];
  /**
   * Returns why imported content can't become what the program declares: it belongs to another subject. Undefined if it
   * can. Pure.
   *
   * @param olds the outputs that the import read.
   */
  describeImportMismatch(olds: Properties, inputs: Properties): string | undefined;
  /**
   * Returns the expected result of a create or, with `before`, of an update, as far as it is known without a request.
   * The rest is `UNKNOWN`.
   */
  preview(inputs: Properties, before?: { readonly id: string; readonly outputs: Properties }): Properties;
  create(inputs: Properties, seconds?: number): Promise<{ readonly id: string; readonly outputs: Properties }>;
  read(id: string, outputs: Properties, seconds?: number): Promise<AdapterReadResult | undefined>;
  /** Looks up a resource that isn't in the state, by id or natural key. Returns its arguments too. */
  lookUp(id: string, seconds?: number): Promise<AdapterReadResult | undefined>;
  /**
   * Lists the existing resources of this kind, by ids that {@link lookUp} accepts.
   *
   * @throws {InvalidArgumentError} if the query is invalid.
   */
  list(query: Properties): Promise<readonly ListedResource[]>;
  update(id: string, olds: Properties, inputs: Properties, seconds?: number): Promise<Properties>;
  /**
   * @param name the resource's name for messages. If the program declares a list under it, that list replaces this one.
   */
  delete(id: string, outputs: Properties, seconds?: number, name?: string): Promise<void>;
}

export interface Session {
  /** Sets the configuration. Called first, and synchronous, so that the first calls can't race it. */
  configure(config: ConfigSource): void;
  getContext(): LifecycleContext;
  /**
   * Records the program's declarations, so that the run doesn't delete them. If one collides with another resource's
   * declaration, returns the failures of its arguments.
   */
  declare(owner: DeclarationOwner, declaration: ResourceDeclaration): readonly ArgumentFailure[];
  /** Whether this process declares an item of the declaration in this run. */
  isDeclaredHere(declaration: { readonly getItems: () => Iterable<Pick<DeclarationItem, "key">> }): boolean;
  /** Returns the list that the program declares under a name. Undefined if there is none. */
  findListByName(kind: ResourceKind, name: string): ResourceDeclaration | undefined;
  /** Records an item of this process that is in the state, so that the resource can replace it. */
  addManaged(declaration: ResourceDeclaration): void;
  isManaged(key: string): boolean;
  /** Prevents the run from changing another tenant because of a wrong key. */
  readonly tenantVerifier: TenantVerifier;
  shareManagedIds(ids: readonly string[]): void;
  /** Returns the tenant's own domains. Throws if their configuration can't be read. */
  getOwnDomains(): OwnDomains;
  getTenantLabel(): string | undefined;
  /** Returns the filter if the run enforces a removal-only plan. Throws if the plan can't be read. */
  getRemovalFilter(): RemovalFilter | undefined;
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
  const buildDeclaration = (state: object): ResourceDeclaration =>
    lifecycle.declare(lifecycle.complete(state as Properties));
  const recordTenant = (state: object, before: Properties, { tenant }: LifecycleContext): Properties => ({
    ...state,
    ...omitUndefined({
      [TENANT_PROPERTY]: session.getTenantLabel(),
      [FINGERPRINT_PROPERTY]: session.tenantVerifier.getFingerprint(before[FINGERPRINT_PROPERTY], tenant),
    }),
  });
  /** Registers an item that the state expects at this tenant. */
  const expectDeclared = (outputs: Properties, declared: ResourceDeclaration): void =>
    session.tenantVerifier.expect(list, declared, outputs[FINGERPRINT_PROPERTY]);
  /** Returns the tenant of a resource if it differs from that of this process. */
  const findOtherTenant = ({ [TENANT_PROPERTY]: before }: Properties): string | undefined => {
    const currentTenant = session.getTenantLabel();
    return typeof before === "string" && currentTenant !== undefined && before !== currentTenant ? before : undefined;
  };
  /**
   * Handles the deletion of a resource that belongs to another tenant. Throws if the service's item would have to be
   * deleted, because in this tenant the run would delete something else. Otherwise only logs.
   */
  const assertNothingToDelete = (
    outputs: Properties,
    otherTenantName: string,
    { isDeclared, log }: LifecycleContext,
  ): void => {
    const declaredItems = [...buildDeclaration(stripAdapterOutputs(outputs)).getItems()];
    const [first] = declaredItems;
    const names = `${first?.name ?? kind}${declaredItems.length > 1 ? ` and ${declaredItems.length - 1} more` : ""}`;
    const explanation = `${names} belongs to ${otherTenantName}, but this run uses ${session.getTenantLabel()}`;
    if (outputs["onDelete"] !== "keep" && !declaredItems.every(({ key }) => isDeclared(key))) {
      throw new OtherTenantError(
        `${explanation}, so nothing was deleted. If that is another name of the same tenant, and the deletion is intended, delete it in the console; otherwise run with the previous address. To only remove it from the state: \`pulumi state delete\` with its URN.`,
      );
    }
    log(
      `${explanation}: nothing was deleted there. If that is another tenant, and the deletion is intended, delete it there.`,
    );
  };
  /** For a resource that isn't in the state: only the configured domains can reveal a wrong tenant. */
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
    const snapshot = { id, outputs: recordTenant(state, before, context) };
    return inputs === undefined ? snapshot : { ...snapshot, inputs };
  };
  const addTenantToFailure = async <T>(work: Promise<T>, before: Properties, context: LifecycleContext): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      if (!(error instanceof PartialFailureError)) throw error;
      const { id, state, cause, reasons } = error;
      throw new PartialFailureError(id, recordTenant(state as object, before, context), cause, [...reasons]);
    }
  };
  const runWithTimeout = async <T>(
    operation: "create" | "read" | "update" | "delete",
    seconds: number,
    work: (context: LifecycleContext) => Promise<T>,
  ): Promise<T> => {
    const context = session.getContext();
    if (seconds <= 0) return await work(context);
    const timeout = new TimeLimit({ seconds, option: `customTimeouts.${operation} of this ${kind}` });
    try {
      return await work({
        ...context,
        tenant: timeout.wrapTenant(context.tenant),
        // All resources of the run share the result of this request.
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
      // A refresh also calls `diff` before any check, to compare the actual state with the last run's declaration. Its
      // warnings would not apply to this run.
      if (isChecked) {
        const isDeclared = (key: string): boolean => session.isDeclaredHere({ getItems: () => [{ key }] });
        for (const sentence of lifecycle.warn(state, inputs, isDeclared)) session.log(sentence);
      }
      // A resource of another tenant is created again in this one. The process for the old tenant deletes it there.
      if (findOtherTenant(olds) !== undefined) return [...changes, TENANT_CHANGE];
      const before = buildDeclaration(state);
      session.addManaged(before);
      expectDeclared(olds, before);
      const ids = changes.some(({ replace }) => replace) ? [] : lifecycle.getManagedIds(id, state, inputs);
      // A refresh doesn't tell which process manages the resource in this run, because it asks the last run's process.
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
      // Unknown values give no name for the advice.
      const isKnown = !Object.values(news).includes(UNKNOWN);
      const id = isKnown ? ` such as ${quote(declared.replace(" ", ":"))}` : "";
      return `The import is for ${sanitizeLine(getDeclarationName(buildDeclaration(stripAdapterOutputs(olds))))}, but the program declares ${sanitizeLine(declared)}. Nothing was imported. Import it by an id that matches the declaration${id}, or remove \`import\`: then \`up\` adopts existing entries as declared.`;
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
        return { id, outputs: recordTenant(state, {}, context) };
      }),

    read: (id, outputs, seconds = 0) =>
      runWithTimeout("read", seconds, async (context) => {
        const state = stripAdapterOutputs(outputs);
        // For a lookup by id, a program may pass less than a full state.
        const hasFullState = ["value", "email", "entries", "members"].some((name) => outputs[name] !== undefined);
        if (hasFullState) expectDeclared(outputs, buildDeclaration(state));
        const result = await lifecycle.read(id, state, context);
        // A renamed resource is checked and created as if it were new, and only a refresh shows that it exists. A row
        // from before the refresh may belong to another resource now.
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
          `${kind} can't be listed with these arguments: ${sanitizeLine(failure.property)} ${failure.reason}. Nothing was read.`,
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
        return recordTenant(state, olds, context);
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
 * Merges failures for readable output. The engine prints the property's unescaped value next to each failure, and even
 * the whole of a list. Failures of a list or an element, and of unprintable values, are therefore merged into one
 * without a property, one line each.
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
    { property: "", reason: ["invalid arguments:", ...lines].join("\n") },
  ];
}

function isListElementPath(property: string): boolean {
  return /^(entries|members)\b/.test(property) || property.includes("[");
}

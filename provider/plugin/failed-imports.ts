import { setTimeout as sleep } from "node:timers/promises";
import { NotImportableError } from "../resources/lifecycle/errors";
import { PartialFailureError, type PropertyChange } from "../resources/lifecycle/lifecycle";
import type { Properties, ProviderAdapter } from "../resources/provider-adapter";

/** The output that marks a resource whose import failed: the object with its id never belonged to this stack. */
const FAILED_IMPORT = "failedImport";

/** The resource is replaced by what the program declares; the failed one is then deleted without a request. */
const REPLACEMENT_CHANGE: PropertyChange = { property: FAILED_IMPORT, kind: "delete", replace: true };

/** The change that reports a mismatch. It makes the engine request an update, in which the import can fail. */
const MISMATCH_CHANGE: PropertyChange = { property: FAILED_IMPORT, kind: "add", replace: false };

/**
 * How long a failure waits for other imports, in milliseconds. The wait is limited, because a resource that a program
 * only reads by its id is never compared.
 */
const MAX_WAIT_MS = 2_000;

export function isFailedImport(outputs: Properties): boolean {
  return outputs[FAILED_IMPORT] !== undefined;
}

/**
 * Handles imports by the `import` option whose id names an object other than the declared one. The engine reads an import
 * without the declared arguments, and stores it before it compares. A later run would then delete an object that never belonged
 * to this stack. So the import fails in the preview, before anything is stored. Without a preview, it leaves an empty resource
 * in state, which the next refresh or run drops without a request.
 */
export class FailedImports {
  readonly #imported = new Set<string>();
  /** Imports that were read but are neither verified nor failed. */
  readonly #pending = new Set<string>();
  readonly #failures = new Map<string, NotImportableError>();
  #allDecided = Promise.withResolvers<void>();
  #hasFailed = false;

  begin(urn: string): void {
    this.#imported.add(urn);
    this.#pending.add(urn);
  }

  /**
   * Checks that an import may continue after its read.
   *
   * @throws {NotImportableError} if another import has failed: the engine would store this one without comparing it.
   */
  assertNoOtherFailed(urn: string): void {
    if (!this.#hasFailed) return;
    this.#markDecided(urn);
    throw new NotImportableError("Nothing was imported, because another import in this run failed.");
  }

  /** Returns the changes of a resource whose import failed in this run or an earlier one; undefined for any other. */
  getChanges(
    adapter: ProviderAdapter,
    { urn, olds, news }: { readonly urn: string; readonly olds: Properties; readonly news: Properties },
  ): readonly PropertyChange[] | undefined {
    if (isFailedImport(olds)) return [REPLACEMENT_CHANGE];
    if (!this.#imported.has(urn)) return undefined;
    const mismatch = adapter.describeImportMismatch(olds, news);
    if (mismatch === undefined) {
      this.#markDecided(urn);
      return undefined;
    }
    this.#failures.set(urn, new NotImportableError(mismatch));
    return [MISMATCH_CHANGE];
  }

  /**
   * Fails the update of a resource whose import failed in this run. The engine ends the run at the first failure, so this waits
   * until the other imports are compared.
   *
   * @throws {NotImportableError} in a preview.
   * @throws {PartialFailureError} in a run, with an empty state.
   */
  async assertImported(urn: string, id: string, isPreview: boolean): Promise<void> {
    const failure = this.#failures.get(urn);
    if (failure === undefined) return;
    if (isPreview) throw failure;
    this.#hasFailed = true;
    this.#markDecided(urn);
    if (this.#pending.size > 0) await this.#waitForOthers();
    throw new PartialFailureError(id, { [FAILED_IMPORT]: failure.message }, failure);
  }

  #markDecided(urn: string): void {
    this.#pending.delete(urn);
    if (this.#pending.size > 0) return;
    this.#allDecided.resolve();
    this.#allDecided = Promise.withResolvers();
  }

  async #waitForOthers(): Promise<void> {
    const abortController = new AbortController();
    const timeout = sleep(MAX_WAIT_MS, undefined, { signal: abortController.signal }).catch(() => undefined);
    await Promise.race([this.#allDecided.promise, timeout]);
    abortController.abort();
  }
}

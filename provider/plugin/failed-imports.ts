import { setTimeout as sleep } from "node:timers/promises";
import type { Front, Properties } from "../resources/front";
import { NotImportableError } from "../resources/lifecycle/errors";
import { type Change, PartialFailure } from "../resources/lifecycle/lifecycle";

/** The output that marks a resource whose import failed: what its id names was never this stack's. */
const FAILED_IMPORT = "failedImport";

/** The resource is replaced by what the program declares; the failed one is then deleted without a request. */
const REPLACEMENT_CHANGE: Change = { property: FAILED_IMPORT, kind: "delete", replace: true };

/** How what does not match is shown, so that the engine asks for an update, in which the import can fail. */
const MISMATCH_CHANGE: Change = { property: FAILED_IMPORT, kind: "add", replace: false };

/** How long a failure waits for other imports, in milliseconds: one that a program only gets is never compared. */
const MAX_WAIT_MS = 2_000;

/** Whether the outputs are those of an import that failed. */
export function isFailedImport(outputs: Properties): boolean {
  return outputs[FAILED_IMPORT] !== undefined;
}

/**
 * Imports by the `import` option whose id names something else than the program declares. The engine reads an import without telling
 * what is declared, and puts it into state before it compares: a later run would then delete what was never this stack's. So the
 * import fails in the preview, before anything is in state; without a preview, it leaves a resource in state that names nothing, which
 * the next refresh or run drops without a request.
 */
export class FailedImports {
  readonly #imported = new Set<string>();
  /** Those that were read, and are neither found right nor failed. */
  readonly #pending = new Set<string>();
  readonly #failures = new Map<string, NotImportableError>();
  #allDecided = Promise.withResolvers<void>();
  #hasFailed = false;

  /** A resource is read for an import. */
  begin(urn: string): void {
    this.#imported.add(urn);
    this.#pending.add(urn);
  }

  /**
   * The resource was read.
   *
   * @throws {NotImportableError} where another import has failed: the engine would put this one into state, and not compare it.
   */
  assertWanted(urn: string): void {
    if (!this.#hasFailed) return;
    this.#markDecided(urn);
    throw new NotImportableError("Nothing was imported, since another import of this run failed.");
  }

  /** The changes of a resource whose import failed in this run or in an earlier one; undefined for any other. */
  changes(
    adapter: Front,
    { urn, olds, news }: { readonly urn: string; readonly olds: Properties; readonly news: Properties },
  ): readonly Change[] | undefined {
    if (isFailedImport(olds)) return [REPLACEMENT_CHANGE];
    if (!this.#imported.has(urn)) return undefined;
    const mismatch = adapter.importMismatch(olds, news);
    if (mismatch === undefined) {
      this.#markDecided(urn);
      return undefined;
    }
    this.#failures.set(urn, new NotImportableError(mismatch));
    return [MISMATCH_CHANGE];
  }

  /**
   * Fails the update of a resource whose import failed in this run. The engine ends the run with the first failure, so that one waits
   * until the other imports that were read are compared.
   *
   * @throws {NotImportableError} in a preview.
   * @throws {PartialFailure} in a run, with a state that names nothing.
   */
  async assertImported(urn: string, id: string, isPreview: boolean): Promise<void> {
    const failure = this.#failures.get(urn);
    if (failure === undefined) return;
    if (isPreview) throw failure;
    this.#hasFailed = true;
    this.#markDecided(urn);
    if (this.#pending.size > 0) await this.#waitForOthers();
    throw new PartialFailure(id, { [FAILED_IMPORT]: failure.message }, failure);
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

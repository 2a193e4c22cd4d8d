import { join, posix } from "node:path";
import { inspectSettings, type ReadCache } from "../../files/read-settings";
import type { KnownLists } from "../../plan/desired";
import type { Reached, ReachedBy } from "../../rollout/journal/reached";
import type { PackedFiles } from "../../rollout/journal/rollout-record";
import { withoutUndefined } from "../../settings/without-undefined";

/** The declarations of past rollouts, from the files that the journal keeps. Reads the files of each rollout only once. */
export class AppliedSettings {
  readonly #readFiles: Reached["files"];
  readonly #rollouts = new Map<string, Promise<readonly [files: PackedFiles, cache: ReadCache]>>();

  constructor(readFiles: Reached["files"]) {
    this.#readFiles = readFiles;
  }

  /**
   * Returns the lists as a rollout declared them on its day.
   *
   * @returns undefined if its files can't be read any more, for example because this release requires more fields.
   * @throws {JournalError} if the journal can't be read.
   */
  async of({ rollout, today, settings: file, fingerprint }: ReachedBy): Promise<KnownLists | undefined> {
    const [{ bundle, folder }, cache] = await this.#readRolloutFiles(rollout);
    const readFile = (path: string): string => {
      const bytes = bundle.get(posix.join(folder, path.replaceAll("\\", "/")));
      if (bytes === undefined) throw new Error("the rollout's journal has no such file");
      return Buffer.from(bytes).toString("utf8");
    };
    const options = { readFile, cache, ownDomains: [], together: false, today };
    const { draft } = inspectSettings(join(file), options);
    if (draft === undefined) return undefined;
    const toKnownList = (declared: readonly { readonly key: string; readonly text: string }[]) => ({
      content: Object.fromEntries(declared.map(({ key, text }) => [key, text])),
      ...withoutUndefined({ fingerprint }),
    });
    return { entries: toKnownList(draft.entries), vips: toKnownList(draft.vips) };
  }

  async #readRolloutFiles(rollout: string): Promise<readonly [PackedFiles, ReadCache]> {
    const filesPromise =
      this.#rollouts.get(rollout) ?? this.#readFiles(rollout).then((files) => [files, new Map()] as const);
    this.#rollouts.set(rollout, filesPromise);
    return await filesPromise;
  }
}

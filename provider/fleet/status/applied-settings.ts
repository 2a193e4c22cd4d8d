import { join, posix } from "node:path";
import { omitUndefined } from "../../model/omit-undefined";
import type { StackLists } from "../../plan/desired-state";
import type { AppliedRollout, LastAppliedRollouts } from "../../rollout/journal/last-applied";
import type { PackedFiles } from "../../rollout/journal/rollout-record";
import { inspectSettings, type SettingsReadCache } from "../../settings-files/read-settings";

/** The declarations of past rollouts, from the files that the journal keeps. Reads the files of each rollout only once. */
export class AppliedSettings {
  readonly #readFiles: LastAppliedRollouts["readFiles"];
  readonly #rollouts = new Map<string, Promise<readonly [files: PackedFiles, cache: SettingsReadCache]>>();

  constructor(readFiles: LastAppliedRollouts["readFiles"]) {
    this.#readFiles = readFiles;
  }

  /**
   * Returns the lists as a rollout declared them on its day.
   *
   * @returns undefined if its files can't be read any more, for example because this release requires more fields.
   * @throws {JournalError} if the journal can't be read.
   */
  async getLists({ rollout, today, settings: file, fingerprint }: AppliedRollout): Promise<StackLists | undefined> {
    const [{ bundle, directory }, cache] = await this.#readRolloutFiles(rollout);
    const readFile = (path: string): string => {
      const bytes = bundle.get(posix.join(directory, path.replaceAll("\\", "/")));
      if (bytes === undefined) throw new Error("the rollout's journal has no such file");
      return Buffer.from(bytes).toString("utf8");
    };
    const options = { readFile, cache, ownDomains: [], shouldCrossCheck: false, today };
    const { draft } = inspectSettings(join(file), options);
    if (draft === undefined) return undefined;
    const toKnownList = (declared: readonly { readonly key: string; readonly text: string }[]) => ({
      content: Object.fromEntries(declared.map(({ key, text }) => [key, text])),
      ...omitUndefined({ fingerprint }),
    });
    return { entries: toKnownList(draft.entries), vips: toKnownList(draft.vips) };
  }

  async #readRolloutFiles(rollout: string): Promise<readonly [PackedFiles, SettingsReadCache]> {
    const filesPromise =
      this.#rollouts.get(rollout) ?? this.#readFiles(rollout).then((files) => [files, new Map()] as const);
    this.#rollouts.set(rollout, filesPromise);
    return await filesPromise;
  }
}

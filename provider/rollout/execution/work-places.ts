import type { Journal } from "../journal/journal";
import { layOut, type WorkFolder } from "../planning/file-bundle";
import { engineEnvironment } from "../planning/plan-rollout";
import { projectFolder, requireSameBackend, stateBackend } from "../stack/state-backend";
import type { WorkPlace } from "./tenant-job";

/** The projects of rollouts, each laid out once on this machine. */
export class WorkPlaces {
  readonly #journal: Journal;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #places = new Map<string, Promise<WorkPlace & Pick<WorkFolder, "remove">>>();

  constructor(journal: Journal, environment: NodeJS.ProcessEnv) {
    this.#journal = journal;
    this.#environment = environment;
  }

  /** @throws {RolloutError} if this machine's state backend differs from the rollout's. */
  async of(rollout: string): Promise<WorkPlace> {
    const workspace = this.#places.get(rollout) ?? this.#layOut(rollout);
    this.#places.set(rollout, workspace);
    // The read or layout may succeed on a later attempt.
    workspace.catch(() => this.#places.delete(rollout));
    return await workspace;
  }

  close(): void {
    for (const workspace of this.#places.values()) void workspace.then(({ remove }) => remove()).catch(() => {});
  }

  async #layOut(rollout: string): Promise<WorkPlace & Pick<WorkFolder, "remove">> {
    const { spec } = await this.#journal.record(rollout);
    const backend = stateBackend(this.#environment, projectFolder(spec.source));
    requireSameBackend(rollout, spec, backend);
    const { path, remove } = layOut(await this.#journal.files(rollout), spec.project, backend.url);
    const environment = engineEnvironment(this.#environment, spec.keyVariables, backend);
    return { folder: path, environment, remove };
  }
}

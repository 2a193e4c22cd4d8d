import type { Journal } from "../journal/journal";
import type { RolloutSpec } from "../journal/rollout-record";
import { type BundleDirectory, extractBundle } from "../planning/file-bundle";
import { buildEngineEnvironment } from "../planning/plan-rollout";
import { assertSameBackend, getProjectDirectory, resolveStateBackend, type StateBackend } from "../stack/state-backend";
import type { Workspace } from "./tenant-job";

interface CachedWorkspace extends Pick<Workspace, "directory">, Pick<BundleDirectory, "remove"> {
  readonly backend: StateBackend;
}

export class WorkspaceCache {
  readonly #journal: Journal;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #workspaces = new Map<string, Promise<CachedWorkspace>>();

  constructor(journal: Journal, environment: NodeJS.ProcessEnv) {
    this.#journal = journal;
    this.#environment = environment;
  }

  /**
   * @param spec the rollout's present one, because a key may have moved to another variable.
   * @throws {RolloutError} if this machine's state backend differs from the rollout's.
   */
  async get(rollout: string, spec: RolloutSpec): Promise<Workspace> {
    const workspace = this.#workspaces.get(rollout) ?? this.#create(rollout, spec);
    this.#workspaces.set(rollout, workspace);
    // The read or layout may succeed on a later attempt.
    workspace.catch(() => this.#workspaces.delete(rollout));
    const { directory, backend } = await workspace;
    return { directory, environment: buildEngineEnvironment(this.#environment, spec.keyVariables, backend) };
  }

  close(): void {
    for (const workspace of this.#workspaces.values()) void workspace.then(({ remove }) => remove()).catch(() => {});
  }

  async #create(rollout: string, spec: RolloutSpec): Promise<CachedWorkspace> {
    const backend = resolveStateBackend(this.#environment, getProjectDirectory(spec.source));
    assertSameBackend(rollout, spec, backend);
    const { path, remove } = extractBundle(await this.#journal.readFiles(rollout), spec.project, backend.url);
    return { directory: path, backend, remove };
  }
}

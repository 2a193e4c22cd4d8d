import { findFileRepository, getRepositoryPath } from "../settings-files/repository";
import type { SourceTarget } from "../sources/source-targets";
import { GitError } from "./git";
import { type ProposedFile, SourceBranches } from "./source-branches";
import { type ProposalResult, proposeSourceChange } from "./source-pull-request";

interface ProposalTarget {
  readonly branches: SourceBranches;
  readonly file: ProposedFile;
  /** The declaring settings file, as git names it. */
  readonly declaringPath: string;
}

/** The pull requests of the sources of one or more repositories. */
export class SourceProposals {
  readonly #targets: ReadonlyMap<string, ProposalTarget>;

  private constructor(targets: ReadonlyMap<string, ProposalTarget>) {
    this.#targets = targets;
  }

  /**
   * Fetches the branches of the sources from the remote of each repository.
   *
   * @throws {GitError} (`ERR_GIT`) if a file is in no repository, or a remote can't be read.
   */
  static async fetch(targets: readonly SourceTarget[]): Promise<SourceProposals> {
    const targetsByRepository = Map.groupBy(targets, ({ location }) => findFileRepository(location.file) ?? "");
    const proposalTargets = new Map<string, ProposalTarget>();
    for (const [repository, group] of targetsByRepository) {
      if (repository === "")
        throw new GitError(
          "A settings file isn't in a git repository, so nothing can be proposed. Omit --pr to write the files.",
        );
      const files = group.map(
        (target) => [target, { source: target.name, path: getRepositoryPath(repository, target.file) }] as const,
      );
      const branches = await SourceBranches.fetch(
        repository,
        files.map(([, file]) => file),
      );
      for (const [target, file] of files) {
        proposalTargets.set(target.file, {
          branches,
          file,
          declaringPath: getRepositoryPath(repository, target.location.file),
        });
      }
    }
    return new SourceProposals(proposalTargets);
  }

  /** Returns the texts of the generated files on the branches of their sources, by path. */
  async readTexts(): Promise<ReadonlyMap<string, string>> {
    const texts = new Map<string, string>();
    for (const [path, { branches, file }] of this.#targets) {
      const text = await branches.readProposedText(file);
      if (text !== undefined) texts.set(path, text);
    }
    return texts;
  }

  /**
   * Proposes the text of a generated file.
   *
   * @param generatedPath the file of a source that was passed to {@link SourceProposals.fetch}.
   * @throws {GitError} (`ERR_GIT`) if the working tree differs from the base branch, or the branch can't be pushed.
   */
  async propose(generatedPath: string, text: string, description: string): Promise<ProposalResult | undefined> {
    const target = this.#targets.get(generatedPath);
    if (target === undefined) return undefined;
    const { branches, file, declaringPath } = target;
    await branches.assertSameAsBase([declaringPath, file.path]);
    return await proposeSourceChange(branches, { ...file, text, title: `Sync the source ${file.source}`, description });
  }
}

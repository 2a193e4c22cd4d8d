import { quote } from "../../model/text";
import { RolloutError } from "../model/rollout-error";
import type { Targets } from "../model/target";

/**
 * Rejects a targets file whose project isn't the one of a rollout's stacks, because the run would create the stacks again.
 *
 * @param alternative a sentence that says what to do if the project keeps its new name.
 * @throws {RolloutError} (`ERR_ROLLOUT_NOT_FOUND`).
 */
export function assertSameProject(
  id: string,
  project: string,
  declared: Pick<Targets, "project" | "file">,
  alternative: string,
): void {
  if (declared.project === project) return;
  throw new RolloutError(
    "ERR_ROLLOUT_NOT_FOUND",
    `The rollout ${id} has the project ${quote(project)}, but ${declared.file} has the project ${quote(declared.project)}. Nothing was changed. Write \`project: ${project}\` in ${declared.file} again, and move back stacks that were moved. ${alternative}`,
  );
}

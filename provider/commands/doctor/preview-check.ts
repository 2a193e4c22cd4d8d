import { quote } from "../../model/text";
import {
  type Check,
  type CheckContext,
  type CheckOutcome,
  reportFailure,
  reportOk,
  reportSkipped,
  reportWarning,
} from "./check-outcome";
import { findProject, type PulumiProject } from "./pulumi-project";

/** Checks whether `pulumi preview` reads the tenant, or only compares with the state of the last run. */
export const previewChecks: readonly Check[] = [{ name: "preview", run: checkPreview }];

/** The only string that the engine accepts. */
const REFRESH_ALWAYS = "always";

function checkPreview({ directory }: CheckContext): CheckOutcome {
  let project: PulumiProject | undefined;
  try {
    project = findProject(directory);
  } catch {
    return reportSkipped("the project's Pulumi.yaml can't be read");
  }
  if (project === undefined) return reportSkipped("there is no Pulumi project here");
  if (project.refresh === REFRESH_ALWAYS) return reportOk("`pulumi preview` reads the tenant first");
  if (project.refresh !== undefined) {
    return reportFailure(
      `${project.file} has options.refresh: ${quote(String(project.refresh))}, which Pulumi rejects`,
      `Write ${REFRESH_ALWAYS}.`,
    );
  }
  return reportWarning(
    "`pulumi preview` and `pulumi up` don't read the tenant, and miss edits in the console",
    `Add to ${project.file}, or run both with --refresh:\noptions:\n  refresh: ${REFRESH_ALWAYS}`,
  );
}

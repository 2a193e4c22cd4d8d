import { quote } from "../../settings/text";
import { type Check, type CheckContext, type CheckOutcome, fail, ok, skipped, warn } from "./check";
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
    return skipped("the project's Pulumi.yaml can't be read");
  }
  if (project === undefined) return skipped("there is no Pulumi project here");
  if (project.refresh === REFRESH_ALWAYS) return ok("`pulumi preview` looks at the tenant first");
  if (project.refresh !== undefined) {
    return fail(
      `${project.file} has options.refresh: ${quote(String(project.refresh))}, which Pulumi refuses`,
      `Write ${REFRESH_ALWAYS}.`,
    );
  }
  return warn(
    "`pulumi preview` and `pulumi up` don't look at the tenant, and see no edit of the console",
    `Add to ${project.file}, or give both --refresh:\noptions:\n  refresh: ${REFRESH_ALWAYS}`,
  );
}

import type { Command } from "commander";
import type { PlanOptions } from "../gitops/plan-tenant";
import { createTodayOption } from "./date-options";
import { parsePositiveInteger } from "./option-parsers";

export interface PlanInputOptions extends Pick<PlanOptions, "stack" | "resource" | "name" | "today" | "maxPages"> {
  readonly days: number;
  readonly evidence: boolean;
  /** A file, `-` for standard input, or true to run the preview. */
  readonly fromPreview?: string | true;
  readonly provider?: string;
}

export function addPlanOptions(command: Command): Command {
  return command
    .option(
      "--stack <name>",
      "Use this stack's last state, to distinguish removals from unmanaged entries; apply of a file requires it",
    )
    .option("--resource <name>", "Select one TenantSettings, if the stack has several")
    .option("--name <name>", "Set the tenant's name in the plan (default: from the file's name)")
    .option("--days <number>", "Read this many days of the tenant's mail", parsePositiveInteger, 30)
    .option("--no-evidence", "Skip the tenant's mail")
    .option("--max-pages <number>", "Read at most this many pages of threats (default: 100)", parsePositiveInteger)
    .addOption(createTodayOption())
    .option(
      "--from-preview [file]",
      "Plan any program from its preview: run `pulumi preview --json`, or read its output from a file, or - for stdin",
    )
    .option("--provider <name>", "Select the Provider of the tenant, for --from-preview");
}

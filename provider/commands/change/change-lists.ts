import { askNamed } from "../../cli/asked-tenant";
import { connect, EXIT, type ExitCode } from "../../cli/command-line";
import { fitted } from "../../cli/fitted";
import { journalToRead } from "../../cli/journal-place";
import { TARGETS_FILE, tenantNamed } from "../../cli/tenant-options";
import { lockFiles, showAndWrite, waiting } from "../../cli/write-options";
import { findingText } from "../../files/finding";
import { type ListChange, type Step, stepTransition } from "../../gitops/list-change";
import { describeHidden, sortByDanger } from "../../settings/danger";
import { excerpt, harmless } from "../../settings/text";
import { changeMessage } from "./change-message";
import { type ChangeOptions, chosenFile } from "./change-options";
import type { TenantTold } from "./mail-of-values";
import { makeListChange } from "./make-list-change";

/**
 * Shows the current entries and the planned change, then writes it as the options require.
 *
 * @param promptForConfirmation asks a person to confirm, after everything is shown.
 */
export async function changeLists(
  change: ListChange,
  options: ChangeOptions,
  promptForConfirmation?: () => Promise<boolean>,
): Promise<ExitCode> {
  const changeFile = await chosenFile(options);
  const lockedFiles = [changeFile.file, ...(changeFile.includedBy === undefined ? [] : [changeFile.includedBy])];
  using locks = options.dryRun ? undefined : await lockFiles(lockedFiles);
  let result = makeListChange(changeFile, change);
  // Release the locks during slow service requests, so that other commands don't wait.
  locks?.release();
  const tenantNotes = await loadTenantNotes(result.steps, result.ownDomains, options);
  await locks?.add([...lockedFiles, ...result.read], waiting);
  if (locks !== undefined && result.isStale()) result = makeListChange(changeFile, change);
  const { steps, files, findings, read } = result;
  for (const line of formatSteps(change, steps, tenantNotes)) console.log(fitted(harmless(line)));
  for (const finding of findings) console.log(fitted(harmless(findingText(finding))));
  if (files.length === 0) console.log("There is nothing to change.");
  const code = await showAndWrite(files, changeMessage(change, steps), options, {
    confirm: promptForConfirmation,
    locks,
  });
  locks?.release();
  const uncommitted = files.length === 0 ? await findUncommitted(read, options) : [];
  for (const line of uncommitted) console.error(harmless(line));
  const hasUnfinishedWork = uncommitted.length > 0 || steps.some((step) => step.isLeft);
  return code === EXIT.clean && hasUnfinishedWork ? EXIT.changes : code;
}

/** Finds changes that an earlier run wrote but did not commit or push. */
async function findUncommitted(files: readonly string[], { commit, pr, dryRun }: ChangeOptions): Promise<string[]> {
  if (dryRun || !(commit || pr)) return [];
  const { leftToCommit } = await import("./left-to-commit.js");
  return await leftToCommit(files, pr === true);
}

/** A longer list is hard to read; the diff shows everything. */
const MAX_SHOWN_STEPS = 20;

function formatSteps(change: ListChange, steps: readonly Step[], { of, missing }: TenantTold): string[] {
  const getTransition = stepTransition(change);
  // Steps that need a person's attention come first.
  const sortedSteps = sortByDanger(steps, getTransition).toSorted(
    (one, other) => Number(other.isLeft) - Number(one.isLeft),
  );
  const hiddenSteps = sortedSteps.slice(MAX_SHOWN_STEPS);
  const shownLines = sortedSteps.slice(0, MAX_SHOWN_STEPS).flatMap((step) => {
    const { value, what } = step;
    const originalText = value.isMended ? `  Read from ${excerpt(value.written, 200)}.` : undefined;
    const notes = [...step.told, ...(of.get(value.canonical) ?? [])].map((note) => `  ${note}`);
    return [what, ...(originalText === undefined ? [] : [originalText]), ...notes];
  });
  const moreLines =
    hiddenSteps.length === 0
      ? []
      : [`… and ${describeHidden(hiddenSteps.map(getTransition))}; the diff shows all that is written`];
  return [...shownLines, ...moreLines, ...missing];
}

async function loadTenantNotes(
  steps: readonly Step[],
  ownDomains: readonly string[],
  { offline, tenant, targets }: ChangeOptions,
): Promise<TenantTold> {
  const buildUnavailable = (reason: string): TenantTold => ({ of: new Map(), missing: [reason] });
  if (offline || steps.length === 0) return { of: new Map(), missing: [] };
  const { EMAIL_SECURITY_BASE_URL: url, EMAIL_SECURITY_API_KEY: key } = process.env;
  if (tenant === undefined && (!url || !key)) {
    return buildUnavailable("Did not look at the mail: no connection is configured.");
  }
  try {
    const { tenantTold } = await import("./mail-of-values.js");
    if (tenant !== undefined) {
      // The key in the environment may belong to another tenant.
      const namedTenant = await tenantNamed(tenant, targets ?? TARGETS_FILE);
      return await askNamed(
        namedTenant,
        await journalToRead(undefined),
        async (client) => await tenantTold(client, steps, ownDomains),
      );
    }
    const client = connect();
    try {
      return await tenantTold(client, steps, ownDomains);
    } finally {
      await client.close();
    }
  } catch (error) {
    return buildUnavailable(`Did not look at the mail: ${excerpt((error as Error).message.split("\n")[0] ?? "", 300)}`);
  }
}

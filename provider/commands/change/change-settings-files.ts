import { connectToTenant } from "../../cli/connect-to-tenant";
import { EXIT, type ExitCode } from "../../cli/exit-codes";
import { getExistingJournalLocation } from "../../cli/journal-location";
import { queryNamedTenant } from "../../cli/query-tenant";
import { DEFAULT_TARGETS_FILE, resolveNamedTenant } from "../../cli/tenant-options";
import { wrapForTerminal } from "../../cli/wrap-for-terminal";
import { lockFiles, lockWaitReporter, showAndWrite } from "../../cli/write-file-changes";
import { type ChangeStep, createTransitionGetter, type ListChange } from "../../gitops/list-change";
import { describeHidden, sortByDanger } from "../../model/danger";
import { excerpt, sanitizeMultiline } from "../../model/text";
import { formatFinding } from "../../settings-files/finding";
import { buildChangeMessage } from "./change-commit-message";
import { type ChangeOptions, selectFile } from "./change-options";
import { prepareListChange } from "./prepare-list-change";
import type { TenantNotes } from "./tenant-notes";

/**
 * Shows the current entries and the planned change, then writes it as the options require.
 *
 * @param promptForConfirmation asks a person to confirm, after everything is shown.
 */
export async function changeSettingsFiles(
  change: ListChange,
  options: ChangeOptions,
  promptForConfirmation?: () => Promise<boolean>,
): Promise<ExitCode> {
  const changeFile = await selectFile(options);
  const lockedFiles = [changeFile.file, ...(changeFile.includedBy === undefined ? [] : [changeFile.includedBy])];
  using locks = options.dryRun ? undefined : await lockFiles(lockedFiles);
  let result = prepareListChange(changeFile, change);
  // Release the locks during slow service requests, so that other commands don't wait.
  locks?.release();
  const tenantNotes = await loadTenantNotes(result.steps, result.ownDomains, options);
  await locks?.add([...lockedFiles, ...result.settingsFiles], lockWaitReporter);
  if (locks !== undefined && result.isStale()) result = prepareListChange(changeFile, change);
  const { steps, files, findings, settingsFiles } = result;
  for (const line of formatSteps(change, steps, tenantNotes)) console.log(wrapForTerminal(sanitizeMultiline(line)));
  for (const finding of findings) console.log(wrapForTerminal(sanitizeMultiline(formatFinding(finding))));
  if (files.length === 0) console.log("There is nothing to change.");
  const code = await showAndWrite(files, buildChangeMessage(change, steps), options, {
    confirm: promptForConfirmation,
    locks,
  });
  locks?.release();
  const uncommitted = files.length === 0 ? await findUncommitted(settingsFiles, options) : [];
  for (const line of uncommitted) console.error(sanitizeMultiline(line));
  const hasUnfinishedWork = uncommitted.length > 0 || steps.some((step) => step.isUnresolved);
  return code === EXIT.clean && hasUnfinishedWork ? EXIT.changes : code;
}

async function findUncommitted(files: readonly string[], { commit, pr, dryRun }: ChangeOptions): Promise<string[]> {
  if (dryRun || !(commit || pr)) return [];
  const { describeUncommittedChanges } = await import("./uncommitted-changes.js");
  return await describeUncommittedChanges(files, pr === true);
}

/** A longer list is hard to read; the diff shows everything. */
const MAX_SHOWN_STEPS = 20;

function formatSteps(change: ListChange, steps: readonly ChangeStep[], { byValue, missing }: TenantNotes): string[] {
  const getTransition = createTransitionGetter(change);
  // Steps that need a person's attention come first.
  const sortedSteps = sortByDanger(steps, getTransition).toSorted(
    (a, b) => Number(b.isUnresolved) - Number(a.isUnresolved),
  );
  const hiddenSteps = sortedSteps.slice(MAX_SHOWN_STEPS);
  const shownLines = sortedSteps.slice(0, MAX_SHOWN_STEPS).flatMap((step) => {
    const { value, description } = step;
    const originalText = value.isCorrected ? `  Read from ${excerpt(value.originalText, 200)}.` : undefined;
    const notes = [...step.notes, ...(byValue.get(value.canonical) ?? [])].map((note) => `  ${note}`);
    return [description, ...(originalText === undefined ? [] : [originalText]), ...notes];
  });
  const moreLines =
    hiddenSteps.length === 0
      ? []
      : [`… and ${describeHidden(hiddenSteps.map(getTransition))}; the diff shows everything that is written`];
  return [...shownLines, ...moreLines, ...missing];
}

async function loadTenantNotes(
  steps: readonly ChangeStep[],
  ownDomains: readonly string[],
  { offline, tenant, targets }: ChangeOptions,
): Promise<TenantNotes> {
  const buildUnavailable = (reason: string): TenantNotes => ({ byValue: new Map(), missing: [reason] });
  if (offline || steps.length === 0) return { byValue: new Map(), missing: [] };
  const { EMAIL_SECURITY_BASE_URL: url, EMAIL_SECURITY_API_KEY: key } = process.env;
  if (tenant === undefined && (!url || !key)) {
    return buildUnavailable("The mail was not checked: no connection is configured.");
  }
  try {
    const { readTenantNotes } = await import("./tenant-notes.js");
    if (tenant !== undefined) {
      // The key in the environment may belong to another tenant.
      const namedTenant = await resolveNamedTenant(tenant, targets ?? DEFAULT_TARGETS_FILE);
      return await queryNamedTenant(
        namedTenant,
        await getExistingJournalLocation(undefined),
        async (client) => await readTenantNotes(client, steps, ownDomains),
      );
    }
    const client = connectToTenant();
    try {
      return await readTenantNotes(client, steps, ownDomains);
    } finally {
      await client.close();
    }
  } catch (error) {
    return buildUnavailable(`The mail was not checked: ${excerpt((error as Error).message.split("\n")[0] ?? "", 300)}`);
  }
}

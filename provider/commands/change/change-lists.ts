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
 * Says what is there and what a change comes to, and makes it as far as the options ask for.
 *
 * @param confirm asked once all is shown, where a person is to say yes first.
 */
export async function changeLists(
  change: ListChange,
  options: ChangeOptions,
  confirm?: () => Promise<boolean>,
): Promise<ExitCode> {
  const place = await chosenFile(options);
  const named = [place.file, ...(place.includedBy === undefined ? [] : [place.includedBy])];
  using locks = options.dryRun ? undefined : await lockFiles(named);
  let made = makeListChange(place, change);
  // The service may take its time to answer, and nobody needs to wait for that.
  locks?.release();
  const tenant = await tellOf(made.steps, made.ownDomains, options);
  await locks?.add([...named, ...made.read], waiting);
  if (locks !== undefined && made.isStale()) made = makeListChange(place, change);
  const { steps, files, findings, read } = made;
  for (const line of lines(change, steps, tenant)) console.log(fitted(harmless(line)));
  for (const finding of findings) console.log(fitted(harmless(findingText(finding))));
  if (files.length === 0) console.log("There is nothing to change.");
  const code = await showAndWrite(files, changeMessage(change, steps), options, { confirm, locks });
  locks?.release();
  const left = files.length === 0 ? await leftOf(read, options) : [];
  for (const line of left) console.error(harmless(line));
  const isLeft = left.length > 0 || steps.some((step) => step.isLeft);
  return code === EXIT.clean && isLeft ? EXIT.changes : code;
}

/** What an earlier run left of what is asked for again. */
async function leftOf(files: readonly string[], { commit, pr, dryRun }: ChangeOptions): Promise<string[]> {
  if (dryRun || !(commit || pr)) return [];
  const { leftToCommit } = await import("./left-to-commit.js");
  return await leftToCommit(files, pr === true);
}

/** More of these nobody reads; the diff has them all. */
const SHOWN = 20;

function lines(change: ListChange, steps: readonly Step[], { of, missing }: TenantTold): string[] {
  const transitionOf = stepTransition(change);
  // First what a person has to look at.
  const told = sortByDanger(steps, transitionOf).toSorted(
    (one, other) => Number(other.isLeft) - Number(one.isLeft),
  );
  const hidden = told.slice(SHOWN);
  const shown = told.slice(0, SHOWN).flatMap((step) => {
    const { value, what } = step;
    const read = value.isMended ? `  Read from ${excerpt(value.written, 200)}.` : undefined;
    const about = [...step.told, ...(of.get(value.canonical) ?? [])].map((text) => `  ${text}`);
    return [what, ...(read === undefined ? [] : [read]), ...about];
  });
  const more =
    hidden.length === 0
      ? []
      : [`… and ${describeHidden(hidden.map(transitionOf))}; the diff shows all that is written`];
  return [...shown, ...more, ...missing];
}

async function tellOf(
  steps: readonly Step[],
  ownDomains: readonly string[],
  { offline, tenant, targets }: ChangeOptions,
): Promise<TenantTold> {
  const nothing = (why: string): TenantTold => ({ of: new Map(), missing: [why] });
  if (offline || steps.length === 0) return { of: new Map(), missing: [] };
  const { EMAIL_SECURITY_BASE_URL: url, EMAIL_SECURITY_API_KEY: key } = process.env;
  if (tenant === undefined && (!url || !key)) {
    return nothing("Did not look at the mail: no connection is configured.");
  }
  try {
    const { tenantTold } = await import("./mail-of-values.js");
    if (tenant !== undefined) {
      // The environment's key may be another tenant's.
      const named = await tenantNamed(tenant, targets ?? TARGETS_FILE);
      return await askNamed(
        named,
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
    return nothing(
      `Did not look at the mail: ${excerpt((error as Error).message.split("\n")[0] ?? "", 300)}`,
    );
  }
}

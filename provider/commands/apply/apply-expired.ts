import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { connectToTenant } from "../../cli/connect-to-tenant";
import { findDefaultSettingsFile } from "../../cli/default-settings-file";
import { EXIT, type ExitCode } from "../../cli/exit-codes";
import { addFailOnBlocker, type FailOnLevel, findFailOnBlocker } from "../../cli/fail-on-option";
import type { PlanInputOptions } from "../../cli/plan-options";
import { printError } from "../../cli/print-error";
import { wrapForTerminal } from "../../cli/wrap-for-terminal";
import { ConfigurationError } from "../../client";
import type { ExpiredRemoval, ExpiredRemovalOptions } from "../../gitops/expired-removal";
import { truncateByDanger } from "../../model/danger";
import { omitUndefined } from "../../model/omit-undefined";
import { excerpt, sanitizeLine, sanitizeMultiline } from "../../model/text";
import type { PlanChange } from "../../plan/plan";
import { NO_STACK_CONFIG, readOwnDomainNames } from "../../resources/configuration";
import { createScratchDirectory } from "../../system/scratch-directory";

interface ApplyExpiredOptions extends PlanInputOptions {
  readonly plan?: string;
  readonly planDigest?: string;
  readonly yes?: boolean;
  readonly failOn?: FailOnLevel;
}

/** Runs `email-security apply --only-expired`: removes expired entries and leaves everything else unchanged. */
export async function applyExpired(fileArgument: string | undefined, options: ApplyExpiredOptions): Promise<ExitCode> {
  const { stack, yes } = options;
  if (stack === undefined) {
    throw new ConfigurationError(
      "Set --stack to the stack that applies the settings: only what it has declared is removed.",
    );
  }
  if (options.fromPreview !== undefined || options.plan !== undefined || options.planDigest !== undefined) {
    throw new ConfigurationError(
      "--only-expired creates its own plan from settings files. Omit --plan, --plan-digest and --from-preview.",
    );
  }
  const { findUnremoved } = await import("../../gitops/expired-removal.js");
  const removal = await createExpiredRemovalPlan(fileArgument ?? (await findDefaultSettingsFile()), {
    ...options,
    stack,
  });
  const { printPlan } = await import("../plan/plan-output.js");
  const { plan } = removal;
  if (plan.blockers.length > 0) {
    await printPlan(plan);
    printError("a blocker rejects the plan, see above. Nothing was changed.");
    return EXIT.refused;
  }
  const failOnBlocker = findFailOnBlocker(plan, options.failOn);
  if (failOnBlocker !== undefined) {
    await printPlan(addFailOnBlocker(plan, options.failOn));
    printError(`${failOnBlocker.message} Nothing was changed.`);
    return EXIT.refused;
  }
  if (removal.targets.length === 0) {
    console.log(
      removal.retained.length === 0
        ? "The tenant has no expired entries."
        : "The tenant has expired entries, but this run can't remove any of them.",
    );
    await printRemaining(removal, stack);
    return EXIT.clean;
  }
  if (!yes) {
    await printPlan(plan);
    await printRemaining(removal, stack);
    console.error("Nothing was changed. To apply the plan, add --yes.");
    return EXIT.changes;
  }
  const code = await runTargetedUp(removal, stack);
  if (code !== 0) {
    console.error(
      `error: \`pulumi up\` exited with ${code}; its output above shows its changes and the cause. Fix the cause and run this again: it does the rest.`,
    );
    return EXIT.error;
  }
  const remaining = await findUnremoved(removal, stack, options.resource);
  if (remaining.length > 0) {
    const examples = remaining.slice(0, 5).map(({ key }) => excerpt(key));
    console.error(
      sanitizeMultiline(
        `error: the run succeeded, but the stack still has ${remaining.length} that it should have removed (${examples.join(", ")}). Its program doesn't declare the TenantSettings of these files, or uses another release, or moves it to another provider. Apply everything once: \`email-security apply --stack ${stack} --yes\`.`,
      ),
    );
    return EXIT.error;
  }
  console.log(
    plan.changes.length === 0
      ? "The tenant no longer had any of these entries; the stack's state is now up to date."
      : `Removed because they expired: ${plan.changes.length}`,
  );
  for (const change of plan.changes) console.log(wrapForTerminal(`  ${formatExpiredChange(change, plan.expired)}`));
  console.log(`Digest ${plan.digest}`);
  await printRemaining(removal, stack);
  return EXIT.clean;
}

async function createExpiredRemovalPlan(
  file: string,
  options: ApplyExpiredOptions & { readonly stack: string },
): Promise<ExpiredRemoval> {
  const { planExpiredRemoval } = await import("../../gitops/expired-removal.js");
  const { stack, resource, name, today, days, maxPages, yes, failOn } = options;
  const client = connectToTenant();
  const evidence = options.evidence && (yes !== true || failOn !== undefined);
  const removalOptions: ExpiredRemovalOptions = {
    client,
    stack,
    days: evidence ? days : 0,
    log: (line) => console.error(line),
    ownDomains: readOwnDomainNames(NO_STACK_CONFIG, process.env),
    accepting: { environment: process.env },
    ...omitUndefined({ resource, name, today, maxPages }),
  };
  try {
    return await planExpiredRemoval(file, removalOptions);
  } finally {
    await client.close();
  }
}

/** Runs `pulumi up` for the lists only, without a refresh. Changes from the console stay pending because this run does not read them. */
async function runTargetedUp({ plan, only, targets }: ExpiredRemoval, stack: string): Promise<number> {
  const { runPulumi } = await import("../../plan/pulumi-cli.js");
  const { PLAN_DIGEST_VARIABLE, PLAN_FILE_VARIABLE } = await import("../../resources/lifecycle/reviewed-plan.js");
  using directory = createScratchDirectory("plan");
  const file = join(directory.path, "plan.json");
  writeFileSync(file, JSON.stringify({ ...plan, only }), { mode: 0o600 });
  const targetArguments = targets.flatMap((urn) => ["--target", urn]);
  const { code } = await runPulumi(
    ["up", "--yes", "--skip-preview", "--refresh=false", "--stack", stack, ...targetArguments],
    {
      environment: { [PLAN_FILE_VARIABLE]: file, [PLAN_DIGEST_VARIABLE]: plan.digest },
      log: (line) => console.error(line),
      inherit: true,
    },
  );
  return code;
}

function formatExpiredChange(change: PlanChange, expired: ExpiredRemoval["plan"]["expired"]): string {
  const expiredItem = expired.find(({ kind, key }) => kind === change.kind && key === change.key);
  const listLabel = change.kind === "vip" ? "VIP" : (change.before?.list ?? "");
  const locationText = change.place === undefined ? "" : `, ${change.place.file}:${change.place.line}`;
  return sanitizeLine(`${listLabel} ${change.key} (until ${expiredItem?.expires ?? "a past day"}${locationText})`);
}

const MAX_SHOWN_ITEMS = 20;

async function printRemaining({ retained, pending }: ExpiredRemoval, stack: string): Promise<void> {
  const { getRetainedTransition } = await import("../../gitops/expired-removal.js");
  const { visible, hiddenText } = truncateByDanger(retained, MAX_SHOWN_ITEMS, getRetainedTransition);
  for (const { list = "VIP", key, reason } of visible)
    console.log(wrapForTerminal(sanitizeLine(`Expired, but not removed: ${list} ${key}: ${reason}.`)));
  if (hiddenText !== undefined)
    console.log(
      wrapForTerminal(
        sanitizeLine(`… and ${hiddenText}; \`email-security plan --all --stack ${stack}\` shows all of them`),
      ),
    );
  if (pending > 0)
    console.log(
      wrapForTerminal(
        sanitizeLine(
          `Unchanged: ${pending} other ${pending === 1 ? "change that is" : "changes that are"} pending; \`email-security plan --stack ${stack}\` shows them.`,
        ),
      ),
    );
}

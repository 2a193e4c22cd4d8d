import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect, EXIT, type ExitCode } from "../../cli/command-line";
import { fitted } from "../../cli/fitted";
import {
  defaultFile,
  type FailOn,
  failOnGuard,
  type PlannedOptions,
  withRefusal,
} from "../../cli/plan-options";
import { ConfigurationError } from "../../client";
import type { OnlyExpired, OnlyExpiredOptions } from "../../gitops/only-expired";
import { scratchFolder } from "../../machine/scratch-folder";
import type { Change } from "../../plan/plan";
import { NO_STACK, readOwnDomainNames } from "../../resources/configuration";
import { cutByDanger } from "../../settings/danger";
import { excerpt, harmless, printable } from "../../settings/text";
import { withoutUndefined } from "../../settings/without-undefined";

interface Options extends PlannedOptions {
  readonly plan?: string;
  readonly planDigest?: string;
  readonly yes?: boolean;
  readonly failOn?: FailOn;
}

/** `email-security apply --only-expired`: takes away what has lapsed, and leaves all else as it is. */
export async function applyExpired(given: string | undefined, options: Options): Promise<ExitCode> {
  const { stack, yes } = options;
  if (stack === undefined) {
    throw new ConfigurationError(
      "Say with --stack which stack applies the settings: only what it has declared goes.",
    );
  }
  if (options.fromPreview !== undefined || options.plan !== undefined || options.planDigest !== undefined) {
    throw new ConfigurationError(
      "--only-expired makes a plan of its own, of settings files: it goes without --plan, --plan-digest and --from-preview.",
    );
  }
  const { leftOf } = await import("../../gitops/only-expired.js");
  const made = await planned(given ?? (await defaultFile()), { ...options, stack });
  const { printPlan } = await import("../plan/plan-output.js");
  const { plan } = made;
  if (plan.guards.length > 0) {
    await printPlan(plan);
    console.error("error: refused by a guard, see above. Nothing was changed.");
    return EXIT.refused;
  }
  const refusal = failOnGuard(plan, options.failOn);
  if (refusal !== undefined) {
    await printPlan(withRefusal(plan, options.failOn));
    console.error(`error: ${refusal.message} Nothing was changed.`);
    return EXIT.refused;
  }
  if (made.targets.length === 0) {
    console.log(
      made.kept.length === 0
        ? "Nothing has expired that the tenant still holds."
        : "Nothing of what has expired is this run's to remove.",
    );
    await sayLeft(made, stack);
    return EXIT.clean;
  }
  if (!yes) {
    await printPlan(plan);
    await sayLeft(made, stack);
    console.error("Nothing was changed: say --yes to apply this.");
    return EXIT.changes;
  }
  const code = await up(made, stack);
  if (code !== 0) {
    console.error(
      `error: \`pulumi up\` ended with ${code}; what it did, and why it ended, is told above. Once that is mended, running this again does what is left.`,
    );
    return EXIT.error;
  }
  const left = await leftOf(made, stack, options.resource);
  if (left.length > 0) {
    const some = left.slice(0, 5).map(({ key }) => excerpt(key));
    console.error(
      harmless(
        `error: the run ended well, and the stack still holds ${left.length} that it was to remove (${some.join(", ")}): its program does not declare the TenantSettings of these files, or not by this release, or moves it to another front. Apply the whole once: \`email-security apply --stack ${stack} --yes\`.`,
      ),
    );
    return EXIT.error;
  }
  console.log(
    plan.changes.length === 0
      ? "The tenant held nothing of it any more; the stack knows that now."
      : `Removed, as their last day is past: ${plan.changes.length}`,
  );
  for (const change of plan.changes) console.log(fitted(`  ${lineOf(change, plan.expired)}`));
  console.log(`Digest ${plan.digest}`);
  await sayLeft(made, stack);
  return EXIT.clean;
}

async function planned(file: string, options: Options & { readonly stack: string }): Promise<OnlyExpired> {
  const { planOnlyExpired } = await import("../../gitops/only-expired.js");
  const { stack, resource, name, today, days, maxPages, yes, failOn } = options;
  const client = connect();
  const evidence = options.evidence && (yes !== true || failOn !== undefined);
  const made: OnlyExpiredOptions = {
    client,
    stack,
    days: evidence ? days : 0,
    log: (line) => console.error(line),
    ownDomains: readOwnDomainNames(NO_STACK, process.env),
    accepting: { environment: process.env },
    ...withoutUndefined({ resource, name, today, maxPages }),
  };
  try {
    return await planOnlyExpired(file, made);
  } finally {
    await client.close();
  }
}

/** Runs `pulumi up` for the lists alone, without a refresh: what the console changed is not looked at, so it stays pending. */
async function up({ plan, only, targets }: OnlyExpired, stack: string): Promise<number> {
  const { runPulumi } = await import("../../plan/pulumi.js");
  const { PLAN_DIGEST, PLAN_FILE } = await import("../../resources/lifecycle/reviewed-plan.js");
  using folder = scratchFolder("plan");
  const file = join(folder.path, "plan.json");
  writeFileSync(file, JSON.stringify({ ...plan, only }), { mode: 0o600 });
  const targeted = targets.flatMap((urn) => ["--target", urn]);
  const { code } = await runPulumi(
    ["up", "--yes", "--skip-preview", "--refresh=false", "--stack", stack, ...targeted],
    {
      environment: { [PLAN_FILE]: file, [PLAN_DIGEST]: plan.digest },
      log: (line) => console.error(line),
      inherit: true,
    },
  );
  return code;
}

function lineOf(change: Change, expired: OnlyExpired["plan"]["expired"]): string {
  const end = expired.find(({ kind, key }) => kind === change.kind && key === change.key);
  const what = change.kind === "vip" ? "VIP" : (change.before?.list ?? "");
  const place = change.place === undefined ? "" : `, ${change.place.file}:${change.place.line}`;
  return printable(`${what} ${change.key} (until ${end?.expires ?? "a day that is past"}${place})`);
}

/** How many lines tell what stays, one by one. */
const SHOWN = 20;

async function sayLeft({ kept, pending }: OnlyExpired, stack: string): Promise<void> {
  const { keptTransition } = await import("../../gitops/only-expired.js");
  const { shown, more } = cutByDanger(kept, SHOWN, keptTransition);
  for (const { list = "VIP", key, why } of shown)
    console.log(fitted(printable(`Left, though its last day is past: ${list} ${key}: ${why}.`)));
  if (more !== undefined)
    console.log(
      fitted(printable(`… and ${more}; \`email-security plan --all --stack ${stack}\` shows all of them`)),
    );
  if (pending > 0)
    console.log(
      fitted(
        printable(
          `Left as they are: ${pending} other ${pending === 1 ? "change that is" : "changes that are"} pending; \`email-security plan --stack ${stack}\` shows them.`,
        ),
      ),
    );
}

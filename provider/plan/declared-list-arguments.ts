import { resolve } from "node:path";
import { z } from "zod";
import { InvalidArgumentError } from "../client/errors";
import { omitUndefined } from "../model/omit-undefined";
import { parsePlanDigest } from "../model/plan-digest";
import { quote } from "../model/text";
import { UNKNOWN } from "../model/unknown-value";
import { PlanStaleError } from "../resources/lifecycle/errors";
import { PLAN_FILE_VARIABLE, PRECEDING_FILE_VARIABLE, readPlanFile } from "../resources/lifecycle/reviewed-plan";
import { assertKnownNames } from "../resources/setting-names";
import { toEntryArguments, toMemberArguments } from "../settings-files/declaration-parser";
import { isValidDay } from "../settings-files/element-fields";
import { formatFinding } from "../settings-files/finding";
import { readSettings } from "../settings-files/read-settings";
import type { Settings } from "../settings-files/settings-model";
import { buildDesiredState, hashDesiredState } from "./desired-state";

export const tenantSettingsArguments = z.strictObject({
  file: z.string({ error: ({ input }) => describePlainText("the path of a settings file", input) }),
  today: z
    .string({ error: ({ input }) => describePlainText("a day, such as 2026-11-21,", input) })
    .refine(isIsoDate, { error: ({ input }) => describePlainText("a day, such as 2026-11-21,", input) })
    .exactOptional(),
});

function isIsoDate(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && isValidDay(text);
}

function describePlainText(expected: string, input: unknown): string {
  const inputText = input === UNKNOWN || typeof input === "object" ? "a value that isn't known yet" : quote(input);
  return `must be ${expected} in plain text, because previews also read the files; it is ${inputText}`;
}

export interface DeclaredListArguments {
  readonly entries: { readonly entries: readonly ReturnType<typeof toEntryArguments>[] };
  readonly vips: { readonly members: readonly ReturnType<typeof toMemberArguments>[] };
  /** The tenant's own domains, in canonical form. */
  readonly ownDomains: readonly string[];
  readonly warnings: readonly string[];
  /** A sentence about expired entries; undefined if there are none. */
  readonly expired: string | undefined;
}

/**
 * Reads the declarations of a running program's `TenantSettings`, for either provider. Sends no request to the service.
 *
 * @param input its arguments; `file` is relative to the working directory of the program.
 * @throws {InvalidArgumentError} (`ERR_INVALID_ARGUMENT`) with all invalid arguments.
 * @throws {SettingsFileError} (`ERR_SETTINGS_FILE`) with all mistakes in the files.
 * @throws {PlanStaleError} (`ERR_PLAN_STALE`) if the run enforces a plan of another stack or of a different desired
 * state.
 */
export function readDeclaredListArguments(name: string, stack: string, input: object): DeclaredListArguments {
  const { file, ...options } = parseDeclaredArguments(`TenantSettings ${quote(name)}`, input);
  const settings = readSettings(file, options);
  enforceSettingsFilesPlan(name, stack, settings);
  const { lists, tenantDomains, entries, vips } = settings;
  return {
    entries: { ...lists.entries, entries: entries.map(toEntryArguments) },
    vips: { ...lists.vips, members: vips.map(toMemberArguments) },
    ownDomains: tenantDomains,
    ...buildNotices(settings),
  };
}

function parseDeclaredArguments(label: string, input: object): z.output<typeof tenantSettingsArguments> {
  assertKnownNames(label, input, Object.keys(tenantSettingsArguments.shape));
  const result = tenantSettingsArguments.safeParse(omitUndefined(input));
  if (result.success) return result.data;
  const reasons = result.error.issues.map(({ path, message }) => `${label}: ${path.join(".")} ${message}`);
  throw new InvalidArgumentError(reasons.join("\n"));
}

/**
 * Asserts that an enforced plan is of this stack and of the desired state in these files. The lists compare the actual state themselves,
 * right before they write.
 */
function enforceSettingsFilesPlan(name: string, stackName: string, settings: Settings): void {
  const plan = readPlanFile(process.env);
  const { kind, stack, resource = name } = plan?.source ?? {};
  if (plan === undefined || kind !== "files" || resource !== name) return;
  // This file declares the actual state, not the reviewed one; the lists still enforce the plan.
  if (settings.file === process.env[PRECEDING_FILE_VARIABLE]) return;
  if (stack !== undefined && stack.split("/").at(-1) !== stackName) {
    throw new PlanStaleError(
      `The plan in ${PLAN_FILE_VARIABLE} is for the stack ${quote(stack)}, but this is ${quote(stackName)}. Nothing was changed.`,
    );
  }
  if (parsePlanDigest(plan.digest)?.desired === hashDesiredState(buildDesiredState(settings, undefined))) return;
  const [reviewedFile] = plan.source?.files ?? [];
  if (reviewedFile !== undefined && resolve(reviewedFile) !== resolve(settings.file)) {
    throw new PlanStaleError(
      `${quote(settings.file, 300)}, which TenantSettings ${quote(name)} of the program reads, isn't the reviewed file: the plan is for ${quote(reviewedFile, 300)}. Nothing was changed. Plan and apply the file that the program reads, or change the file in the program.`,
    );
  }
  throw new PlanStaleError(
    `${quote(settings.file, 300)} doesn't match the reviewed plan on ${settings.today} (UTC): it has changed since, an entry in it has expired, or the plan was created for another day. Nothing was changed. Create the plan again, and have it reviewed.`,
  );
}

const MAX_WARNINGS = 20;

function buildNotices({ findings, expired }: Settings): Pick<DeclaredListArguments, "warnings" | "expired"> {
  const warnings = findings.filter(({ level }) => level === "warning");
  const hiddenCount = warnings.length - MAX_WARNINGS;
  const expiredCountText = expired.length === 1 ? "1 has expired and is" : `${expired.length} have expired and are`;
  return {
    warnings: [
      ...warnings.slice(0, MAX_WARNINGS).map(formatFinding),
      ...(hiddenCount > 0 ? [`and ${hiddenCount} more warnings; \`email-security lint\` shows them`] : []),
    ],
    expired:
      expired.length === 0
        ? undefined
        : `${expiredCountText} no longer declared; \`email-security plan\` shows the removals`,
  };
}

import { counted } from "../../render/words";
import { excerpt, quote } from "../../settings/text";
import type { Queryable } from "../database/database";
import type { SkippedTenant, WhoseRollouts } from "../journal/rollout-record";
import { type Skip, skippedTenant, standingSkips } from "../journal/skips";
import type { RolloutCommands } from "../model/commands";
import { RolloutError } from "../model/errors";
import type { Target } from "../model/target";
import type { Selection } from "../targets/select-targets";

/** The targets of a rollout, and the tenants that a person chose to skip. */
export interface WithoutSkipped {
  readonly targets: readonly Target[];
  /** Never empty. Absent: none. */
  readonly skipped?: readonly SkippedTenant[];
}

/**
 * Leaves out skipped tenants.
 *
 * @param only the names in the selection. Naming a skipped tenant is an error, because the user wants that tenant.
 * @param source the targets file.
 * @throws {RolloutError} (`ERR_ROLLOUT_SKIPPED`) if a skipped tenant is selected by name, or all selected tenants are skipped.
 */
export async function withoutSkipped(
  database: Queryable,
  whose: WhoseRollouts,
  targets: readonly Target[],
  { only = [] }: Selection,
  { commands, source }: { readonly commands: RolloutCommands; readonly source: string },
): Promise<WithoutSkipped> {
  const standing = await standingSkips(database, whose);
  const left = targets.flatMap(({ name, stack }) => {
    const skip = standing.get(stack);
    return skip === undefined ? [] : [{ ...skip, name }];
  });
  if (left.length === 0) return { targets };
  const named = left.filter(({ name }) => only.includes(name));
  const rest = targets.filter(({ stack }) => !standing.has(stack));
  const refused = named.length > 0 ? named : rest.length === 0 ? left : [];
  if (refused.length > 0) throw refusal(refused, commands, source);
  return { targets: rest, skipped: left.map(skippedTenant) };
}

/** The maximum number of skipped tenants to show. */
const SHOWN = 5;

function refusal(skips: readonly Skip[], commands: RolloutCommands, source: string): RolloutError {
  const told = skips.slice(0, SHOWN).map(skipText);
  const more = skips.length > SHOWN ? `; and ${counted(skips.length - SHOWN, "more tenant")}` : "";
  const names = skips.slice(0, SHOWN).map(({ name }) => name);
  return new RolloutError(
    "ERR_ROLLOUT_SKIPPED",
    `${skips.length === 1 ? "The tenant is" : "The tenants are"} skipped: ${told.join("; ")}${more}. Nothing was changed. To unskip ${skips.length === 1 ? "it" : "them"}: \`${commands.unskip(names, source)}\``,
  );
}

/** For example: `"t003", since 2026-11-21 03:12 UTC by dana@build-7 (its key is refused)`. */
export function skipText({ name, sinceMs, by, reason }: SkippedTenant): string {
  const since = new Date(sinceMs).toISOString().slice(0, 16).replace("T", " ");
  const who = by === undefined ? "" : ` by ${excerpt(by)}`;
  return `${quote(name)}, since ${since} UTC${who} (${excerpt(reason.replace(/\s+/g, " "), 300)})`;
}

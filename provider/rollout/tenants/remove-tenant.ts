import { resolve } from "node:path";
import { ConfigurationError } from "../../client";
import type { ChangedFile } from "../../files/change-files";
import { readerFrom } from "../../files/read-source";
import { isCommitted } from "../../gitops/git";
import { nearestName } from "../../settings/nearest-name";
import { printable, quote } from "../../settings/text";
import type { Target, Targets } from "../model/target";
import { removeTenant } from "../targets/edit-targets";
import { readTargets } from "../targets/read-targets";
import { readWouldBe } from "./place-tenant";
import { standingTenants } from "./standing-tenants";

/** A tenant that is removed once the files are written. */
export interface RemovedTenant {
  readonly target: Target;
  readonly targets: Targets;
  readonly files: readonly ChangedFile[];
  /** Describes what happens to its settings file, and to the files that only this one includes, in sentences. */
  readonly told: readonly string[];
}

/**
 * Builds the files without a tenant. Also removes its settings file, unless another tenant reads it or git doesn't have its present
 * contents. Writes nothing.
 *
 * @param file the targets file, relative to the working directory.
 * @throws {ConfigurationError} if the tenant doesn't exist or is the only one, or the file can't be used without it.
 * @throws {TargetsFileError} (`ERR_ROLLOUT_TARGETS`) if the present file can't be used.
 * @throws {EditError} (`ERR_SETTINGS_EDIT`) if the file can't be edited.
 */
export async function withoutTenant(file: string, name: string, today: string): Promise<RemovedTenant> {
  const targets = readTargets(file);
  const target = targets.targets.find((one) => one.name === name);
  if (target === undefined) {
    const near = nearestName(
      name,
      targets.targets.map((one) => one.name),
    );
    const meant = near === undefined ? "" : `; did you mean ${near}?`;
    throw new ConfigurationError(
      `${quote(file, 300)} has no tenant ${quote(name)}, and nothing was changed${meant === "" ? "." : meant}`,
    );
  }
  const others = targets.targets.filter((one) => one !== target);
  if (others.length === 0) {
    throw new ConfigurationError(
      `${quote(name)} is the only tenant of ${quote(file, 300)}, which is none without tenants. Where nothing is to be left, remove that file by hand.`,
    );
  }
  const read = readerFrom(file);
  const before = read(target.place.file);
  const after = removeTenant(before, name);
  // A wave with a soak, a health check or a gate must not lose its last tenant silently.
  readWouldBe(`Without ${quote(name)}`, file, (path) =>
    resolve(path) === resolve(target.place.file) ? after : read(path),
  );
  const { files, told } = await settingsGone(target, others, today);
  return { target, targets, files: [{ file: target.place.file, before, after }, ...files], told };
}

async function settingsGone(
  { settings }: Target,
  others: readonly Target[],
  today: string,
): Promise<Pick<RemovedTenant, "files" | "told">> {
  const shown = printable(settings);
  const kept = (why: string): Pick<RemovedTenant, "files" | "told"> => ({
    files: [],
    told: [`${shown} stays: ${why}.`],
  });
  const user = others.find((one) => resolve(one.settings) === resolve(settings));
  if (user !== undefined) return kept(`it is the settings file of ${user.name} too`);
  const { read, unread } = standingTenants(others, today);
  const includer = read.find((one) => one.settings.files.some((file) => resolve(file) === resolve(settings)));
  if (includer !== undefined) return kept(`the files of ${includer.target.name} include it`);
  const [first] = unread;
  if (first !== undefined) {
    return kept(`${printable(first.settings)} can't be read, which may include it`);
  }
  if (!(await isCommitted(settings))) return kept("git does not have it as it is, so nothing would keep it");
  const [own] = standingTenants([{ settings } as Target], today).read;
  const used = new Set(read.flatMap((one) => one.settings.files.map((file) => resolve(file))));
  const alone = (own?.settings.files ?? []).slice(1).filter((file) => !used.has(resolve(file)));
  const text = readerFrom(settings)(settings);
  return {
    files: [{ file: settings, before: text, after: "", does: "remove" }],
    told: [
      `${shown} is removed; git keeps it.`,
      ...(alone.length === 0
        ? []
        : [
            `What it alone included stays, and no tenant reads it any more: ${alone.map(printable).join(", ")}.`,
          ]),
    ],
  };
}

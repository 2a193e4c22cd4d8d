import { existsSync } from "node:fs";
import { normalize } from "node:path";
import { hasErrors, inOrder } from "../../files/finding";
import { withoutUndefined } from "../../settings/without-undefined";
import type { Targets } from "../model/target";
import { reportDuplicates } from "./duplicate-targets";
import { projectOf } from "./project-name";
import { servicesOf } from "./service-limit";
import { TargetsFileError } from "./targets-file-error";
import { TargetsFindings } from "./targets-findings";
import { TARGETS_FILE } from "./targets-schema";
import { TargetsSource } from "./targets-source";
import { TenantTargets } from "./tenant-targets";
import { reportLostWaves, wavesOf } from "./wave-rules";

/**
 * Reads the file of a rollout's tenants and waves, with all included files. Reads no keys and no settings files, because their errors
 * affect only one tenant and appear when that tenant is planned.
 *
 * @param file the path, relative to the working directory.
 * @param readFile reads a file as text, possibly with pending edits. Default: reads from the disk.
 * @throws {TargetsFileError} (`ERR_ROLLOUT_TARGETS`) with every mistake and its place.
 */
export function readTargets(file: string, readFile?: (path: string) => string): Targets {
  const name = normalize(file);
  const mistakes = new TargetsFindings();
  const source = new TargetsSource(name, mistakes, readFile);
  const top = source.file(name, TARGETS_FILE);
  if (top === undefined) throw new TargetsFileError(file, inOrder(mistakes.list), existsSync(name));
  const files = [top, ...source.included(top)];
  const tenants = new TenantTargets(name, mistakes);
  const targets = files.flatMap((one) => tenants.targetsOf(one, top));
  if (targets.length === 0 && !hasErrors(mistakes.list)) {
    const place = top.source.placeOf(["tenants"]);
    mistakes.addError("no-tenants", "declares no tenant; write one under `tenants`", place);
  }
  reportDuplicates(targets, mistakes);
  const waves = wavesOf(top, mistakes);
  reportLostWaves(
    waves,
    targets.map(({ target }) => target),
    mistakes,
  );
  const read: Omit<Targets, "findings"> = withoutUndefined({
    file,
    files: [...source.files],
    project: projectOf(top, mistakes),
    targets: targets.map(({ target }) => target),
    waves,
    failureTolerance: top.content.failureTolerance,
    services: servicesOf(top, targets, mistakes),
    notify: top.content.notify,
  });
  const findings = inOrder(mistakes.list);
  if (hasErrors(findings)) throw new TargetsFileError(file, findings);
  return { ...read, findings };
}

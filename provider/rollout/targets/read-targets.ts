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
  const targetsFindings = new TargetsFindings();
  const source = new TargetsSource(name, targetsFindings, readFile);
  const topPart = source.file(name, TARGETS_FILE);
  if (topPart === undefined) throw new TargetsFileError(file, inOrder(targetsFindings.list), existsSync(name));
  const parts = [topPart, ...source.included(topPart)];
  const tenantTargets = new TenantTargets(name, targetsFindings);
  const targets = parts.flatMap((part) => tenantTargets.targetsOf(part, topPart));
  if (targets.length === 0 && !hasErrors(targetsFindings.list)) {
    const place = topPart.source.placeOf(["tenants"]);
    targetsFindings.addError("no-tenants", "declares no tenant; write one under `tenants`", place);
  }
  reportDuplicates(targets, targetsFindings);
  const waves = wavesOf(topPart, targetsFindings);
  reportLostWaves(
    waves,
    targets.map(({ target }) => target),
    targetsFindings,
  );
  const result: Omit<Targets, "findings"> = withoutUndefined({
    file,
    files: [...source.files],
    project: projectOf(topPart, targetsFindings),
    targets: targets.map(({ target }) => target),
    waves,
    failureTolerance: topPart.content.failureTolerance,
    services: servicesOf(topPart, targets, targetsFindings),
    notify: topPart.content.notify,
  });
  const findings = inOrder(targetsFindings.list);
  if (hasErrors(findings)) throw new TargetsFileError(file, findings);
  return { ...result, findings };
}

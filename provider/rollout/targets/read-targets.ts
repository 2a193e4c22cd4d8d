import { existsSync } from "node:fs";
import { normalize } from "node:path";
import { omitUndefined } from "../../model/omit-undefined";
import { hasErrors, sortFindings } from "../../settings-files/finding";
import type { Targets } from "../model/target";
import { reportDuplicateTargets } from "./duplicate-targets";
import { resolveProjectName } from "./project-name";
import { parseServiceLimits } from "./service-limit";
import { TargetBuilder } from "./target-builder";
import { TargetsFileError } from "./targets-file-error";
import { TargetsFileReader } from "./targets-file-reader";
import { TargetsFindings } from "./targets-findings";
import { TARGETS_FILE_FORMAT } from "./targets-schema";
import { buildWaveRules, reportUnmatchedWaves } from "./wave-rules";

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
  const source = new TargetsFileReader(name, targetsFindings, readFile);
  const topPart = source.read(name, TARGETS_FILE_FORMAT);
  if (topPart === undefined) throw new TargetsFileError(file, sortFindings(targetsFindings.list), existsSync(name));
  const parts = [topPart, ...source.readIncluded(topPart)];
  const tenantTargets = new TargetBuilder(name, targetsFindings);
  const targets = parts.flatMap((part) => tenantTargets.buildTargets(part, topPart));
  if (targets.length === 0 && !hasErrors(targetsFindings.list)) {
    const location = topPart.source.locate(["tenants"]);
    targetsFindings.addError("no-tenants", "declares no tenant; write one under `tenants`", location);
  }
  reportDuplicateTargets(targets, targetsFindings);
  const waves = buildWaveRules(topPart, targetsFindings);
  reportUnmatchedWaves(
    waves,
    targets.map(({ target }) => target),
    targetsFindings,
  );
  const result: Omit<Targets, "findings"> = omitUndefined({
    file,
    files: [...source.files],
    project: resolveProjectName(topPart, targetsFindings),
    targets: targets.map(({ target }) => target),
    waves,
    failureTolerance: topPart.content.failureTolerance,
    services: parseServiceLimits(topPart, targets, targetsFindings),
    notify: topPart.content.notify,
  });
  const findings = sortFindings(targetsFindings.list);
  if (hasErrors(findings)) throw new TargetsFileError(file, findings);
  return { ...result, findings };
}

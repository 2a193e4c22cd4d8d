import { existsSync } from "node:fs";
import { findMissingPackageError, OPTIONAL_FEATURES } from "../../model/optional-features";
import type { Finding } from "../../settings-files/finding";
import { createFileReader, isFinding, readYamlFile } from "../../settings-files/read-yaml-file";
import type { Target } from "../model/target";
import { assignWaves, UnassignedTargetsError } from "./assign-waves";
import { readTargets } from "./read-targets";
import { TargetsFileError } from "./targets-file-error";

interface TargetsLintResult {
  readonly findings: readonly Finding[];
  readonly files: readonly string[];
  readonly settingsFiles: readonly string[];
  readonly isPartial: boolean;
}

export function lintTargets(file: string): TargetsLintResult {
  try {
    const { findings, files, targets, waves } = readTargets(file);
    const missingTargets = findMissingSettings(targets);
    return {
      findings: [
        ...findings,
        ...collectWaveFindings(() => assignWaves(waves, targets).findings),
        ...missingTargets.flatMap(buildMissingSettingsFinding),
      ],
      files,
      settingsFiles: targets.map(({ settings }) => settings).filter((file) => existsSync(file)),
      isPartial: missingTargets.length > 0,
    };
  } catch (error) {
    if (!(error instanceof TargetsFileError)) throw error;
    return { findings: error.findings, files: [file], settingsFiles: [], isPartial: true };
  }
}

/** Finds the missing settings files, and returns the first tenant of each. */
function findMissingSettings(targets: readonly Target[]): readonly Target[] {
  const missingTargets = new Map<string, Target>();
  for (const target of targets) {
    const { settings } = target;
    if (!missingTargets.has(settings) && !existsSync(settings)) missingTargets.set(settings, target);
  }
  return [...missingTargets.values()];
}

function buildMissingSettingsFinding({ settings, place }: Target): readonly Finding[] {
  const source = readYamlFile(settings, { readFile: createFileReader(settings) }, place);
  return isFinding(source) ? [source] : [];
}

/** Reports missing packages, without which no rollout can begin on this machine. */
export function findMissingPackages(): readonly Finding[] {
  const error = OPTIONAL_FEATURES.postgres.isRequested(process.env) ? findMissingPackageError("postgres") : undefined;
  return error === undefined ? [] : [{ code: "missing-package", level: "warning", message: error.message }];
}

function collectWaveFindings(assign: () => readonly Finding[]): readonly Finding[] {
  try {
    return assign();
  } catch (error) {
    if (!(error instanceof UnassignedTargetsError)) throw error;
    const [first] = error.targets;
    return [
      {
        code: "wave-missing",
        level: "error",
        message: error.message,
        ...(first === undefined ? {} : { place: first.place }),
      },
    ];
  }
}

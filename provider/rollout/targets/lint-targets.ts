import type { Finding } from "../../files/finding";
import { missing, OPTIONAL_PARTS } from "../../settings/optional-parts";
import { assignWaves, UnassignedTargetsError } from "./assign-waves";
import { readTargets } from "./read-targets";
import { TargetsFileError } from "./targets-file-error";

/** What is found in a targets file. */
interface Linted {
  readonly findings: readonly Finding[];
  readonly files: readonly string[];
  /** The settings files of its tenants, as far as they are known. */
  readonly settings: readonly string[];
  readonly isPartial: boolean;
}

/** Reads a targets file, and puts its tenants into waves. */
export function lintTargets(file: string): Linted {
  try {
    const { findings, files, targets, waves } = readTargets(file);
    return {
      findings: [...findings, ...waveFindings(() => assignWaves(waves, targets).findings)],
      files,
      settings: targets.map(({ settings }) => settings),
      isPartial: false,
    };
  } catch (error) {
    if (!(error instanceof TargetsFileError)) throw error;
    return { findings: error.findings, files: [file], settings: [], isPartial: true };
  }
}

/** Why the rollout would refuse to begin here, whatever its files say. */
export function missingFindings(): readonly Finding[] {
  const error = OPTIONAL_PARTS.postgres.isAsked(process.env) ? missing("postgres") : undefined;
  return error === undefined ? [] : [{ code: "missing-package", level: "warning", message: error.message }];
}

function waveFindings(assign: () => readonly Finding[]): readonly Finding[] {
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

import { existsSync } from "node:fs";
import type { Finding } from "../../gitops/files/finding";
import { type FilesLintResult, lintFiles, textOf } from "../../gitops/files/lint-files";
import type { ReadOptions } from "../../gitops/files/read-settings";
import { isFinding, readerFrom, readSource } from "../../gitops/files/read-source";
import { missing, OPTIONAL_PARTS } from "../../settings/optional-parts";
import { assignWaves, UnassignedTargetsError } from "./assign-waves";
import { readTargets } from "./read-targets";
import { TargetsFileError } from "./targets-file-error";

/**
 * What {@link lintFiles} finds, and what is wrong with the files of a rollout's tenants among those that are named: with them
 * the settings files of all their tenants are linted. A journal that the environment names, and that can't be opened here, is told too.
 *
 * @throws {EmailSecurityError} (`ERR_NO_SETTINGS`) when there is nothing to lint.
 */
export function lintAll(named: readonly string[], options: ReadOptions = {}): FilesLintResult {
  const targets = named.filter(isTargetsFile);
  if (targets.length === 0) return lintFiles(named, options);
  const linted = targets.map(lintTargets);
  const settings = linted.flatMap((one) => one.settings).filter((file) => existsSync(file));
  const wanted = [...new Set([...named.filter((file) => !targets.includes(file)), ...settings])];
  const rest =
    wanted.length === 0
      ? { findings: [], files: [], tops: [], isPartial: false }
      : lintFiles(wanted, options);
  return {
    findings: [...missingFindings(), ...linted.flatMap(({ findings }) => findings), ...rest.findings],
    files: [...linted.flatMap(({ files }) => files), ...rest.files],
    tops: rest.tops,
    isPartial: rest.isPartial || linted.some((one) => one.isPartial),
  };
}

interface Linted {
  readonly findings: readonly Finding[];
  readonly files: readonly string[];
  /** The settings files of its tenants, as far as they are known. */
  readonly settings: readonly string[];
  readonly isPartial: boolean;
}

function lintTargets(file: string): Linted {
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

/** The rollout would refuse to begin. */
function missingFindings(): readonly Finding[] {
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

/** Whether a file says who the tenants of a rollout are, and not what one of them is to hold. */
function isTargetsFile(file: string): boolean {
  if (!/\.ya?ml$/i.test(file)) return false;
  // Most files are settings, and long ones take long to parse twice.
  if (!/\b(?:tenants|waves)\b/.test(textOf(file))) return false;
  const source = readSource(file, readerFrom(file), undefined);
  if (isFinding(source)) return false;
  const { value } = source;
  return typeof value === "object" && value !== null && ("tenants" in value || "waves" in value);
}

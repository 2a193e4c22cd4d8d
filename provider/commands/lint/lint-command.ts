import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { styleText } from "node:util";
import { Command, Option } from "commander";
import { addHelp } from "../../cli/command-help";
import { createTodayOption } from "../../cli/date-options";
import { EXIT, type ExitCode } from "../../cli/exit-codes";
import { addOutputOptions, type OutputOptions, parseOutputs } from "../../cli/output/output-options";
import { type TextTarget, writeOutputs } from "../../cli/output/write-outputs";
import { getPackageVersion } from "../../cli/package-version";
import { wrapAction } from "../../cli/wrap-action";
import { wrapForTerminal } from "../../cli/wrap-for-terminal";
import { ConfigurationError } from "../../client/errors";
import { omitUndefined } from "../../model/omit-undefined";
import { escapeUnprintableJson, sanitizeLine } from "../../model/text";
import { type Finding, type FindingLevel, sortFindings } from "../../settings-files/finding";
import type { FilesLintResult } from "../../settings-files/lint-files";
import type { ApprovalsOptions, ApprovalsResult } from "./check-approvals";

/**
 * `email-security lint`: reports errors, risks and policy violations in settings files. Needs neither an API key nor the network. Exit
 * codes: 0 nothing worse than a warning, 2 errors, 3 a finding that `--fail-on` names, 1 nothing could be linted.
 */
export function createLintCommand(): Command {
  return addHelp(
    addOutputOptions(new Command("lint"), FORMATS)
      .description("Find mistakes, risks and policy violations in settings files, without the service")
      .argument(
        "[files...]",
        "Settings files, directories that contain them, or a tenants.yaml for the files of its tenants (default: the directory settings, or settings.yaml)",
      )
      .addOption(
        new Option("--fail-on <level>", "Exit with 3 on warnings; with note, on notes too").choices([
          "warning",
          "note",
        ]),
      )
      .option(
        "--approvals <file>",
        "Check a change against its approvals: a file with the response of GitHub (reviews) or GitLab (approvals)",
      )
      .option("--no-approvals", "Leave the check of `requireApproval` to the pipeline")
      .option("--base <revision>", "Set the revision that the change merges into, such as origin/main, for --approvals")
      .option("--author <login>", "Set the author of the change, who can't approve it, for --approvals")
      .addOption(createTodayOption())
      .action(wrapAction(runLintCommand)),
    {
      examples: [
        {
          purpose: "Check all files of a directory for code scanning, and fail on warnings",
          line: "lint settings --output lint.sarif --fail-on warning",
        },
        {
          purpose: "Check approvals in a pipeline, once a change is reviewed",
          line: "lint --approvals reviews.json --base origin/main --author dana-reyes",
        },
        {
          purpose: "Check as of a future day, to find what will have expired",
          line: "lint settings/acme.yaml --today 2026-12-31",
        },
      ],
      exits: {
        0: "There are no errors",
        1: "There is nothing to lint, or the approvals can't be checked",
        2: "There are errors",
        3: "There are findings of the level of --fail-on",
      },
    },
  );
}

const FORMATS = ["text", "json", "sarif"] as const;

interface LintOptions extends OutputOptions<(typeof FORMATS)[number]> {
  readonly failOn?: "warning" | "note";
  readonly today?: string;
  /** False if the pipeline checks approvals. */
  readonly approvals?: string | false;
  readonly base?: string;
  readonly author?: string;
}

async function runLintCommand(
  paths: readonly string[],
  { format, output, failOn, today, ...approvalOptions }: LintOptions,
): Promise<ExitCode> {
  const outputs = parseOutputs(omitUndefined({ format, output }), FORMATS);
  const approvals = parseApprovalsOptions(approvalOptions, today);
  // Loaded here to keep other commands fast.
  const { lintSettingsAndTargets } = await import("../../rollout/targets/lint-settings-and-targets.js");
  const { buildSarifLog } = await import("./sarif-log.js");
  const lintResult = await lintSettingsAndTargets(paths, today === undefined ? {} : { today });
  const approvalResult = await checkRequestedApprovals(approvals, lintResult);
  const findings =
    approvalResult.findings.length === 0
      ? lintResult.findings
      : sortFindings([...lintResult.findings, ...approvalResult.findings]);
  const { files, topLevelFiles } = lintResult;
  const { approvals: counts } = approvalResult;
  await writeOutputs(outputs, {
    text: async (target) => await renderLintText({ ...lintResult, findings }, approvalResult.summary, target),
    json: () =>
      formatLintJson({
        format: 1,
        findings,
        files,
        topLevelFiles,
        counts: countByLevel(findings),
        approvals: counts,
      }),
    sarif: () =>
      formatLintJson(buildSarifLog(findings, { version: getPackageVersion(), root: findWorkingRepository() })),
  });
  const hasLevel = (level: FindingLevel): boolean => findings.some((finding) => finding.level === level);
  if (hasLevel("error")) return EXIT.changes;
  const exceedsFailOn = (failOn !== undefined && hasLevel("warning")) || (failOn === "note" && hasLevel("note"));
  return exceedsFailOn ? EXIT.refused : EXIT.clean;
}

/** Parses the options for approvals; undefined if none are given, false if the pipeline checks approvals. */
function parseApprovalsOptions(
  { approvals: file, base, author }: Pick<LintOptions, "approvals" | "base" | "author">,
  today: string | undefined,
): ApprovalsOptions | false | undefined {
  if (typeof file === "string" && base !== undefined && author !== undefined && author.trim() !== "") {
    return { file, base, author, ...(today === undefined ? {} : { today }) };
  }
  if (typeof file === "string" || base !== undefined || author !== undefined) {
    throw new ConfigurationError(
      "--approvals, --base and --author must be used together: who approved, the branch to merge into, and who proposes the change (whose own approval doesn't count).",
    );
  }
  return file === false ? false : undefined;
}

/** Checks approvals if requested; returns the findings, the closing note and the counts. */
async function checkRequestedApprovals(
  options: ApprovalsOptions | false | undefined,
  lintResult: Pick<FilesLintResult, "tenants" | "included">,
): Promise<{
  readonly findings: readonly Finding[];
  readonly summary: string;
  readonly approvals?: Omit<ApprovalsResult, "findings">;
}> {
  if (options === undefined || options === false) {
    const { findUncheckedApprovals } = await import("./unchecked-approvals.js");
    const unchecked = findUncheckedApprovals(lintResult.tenants);
    if (options === undefined) return { findings: unchecked, summary: "" };
    return { findings: [], summary: unchecked.length === 0 ? "" : " The pipeline checks the approvals." };
  }
  const { checkApprovals } = await import("./check-approvals.js");
  const { findings, ...approvals } = await checkApprovals(lintResult, options);
  const { checked, unchanged, notRequired } = approvals;
  const notRequiredText = notRequired === 0 ? "" : `, ${notRequired} changed that need none`;
  return {
    findings,
    summary: ` Approvals: ${checked} checked${notRequiredText}, ${unchanged} unchanged.`,
    approvals,
  };
}

/**
 * Renders one finding per line, `file:line:column level: message (code)`, then the counts. Lines wrap only on a terminal: editors and
 * problem matchers need whole lines.
 */
async function renderLintText(
  { findings, files, isPartial }: FilesLintResult,
  suffix: string,
  target: TextTarget,
): Promise<string> {
  const { formatLocation } = await import("../../settings-files/finding.js");
  const applyStyle = (style: TerminalStyle, text: string): string =>
    target.color ? styleText(style, text, { validateStream: false }) : text;
  const lines = findings.map(({ place, level, message, code }) => {
    const locationText = place === undefined ? "" : `${applyStyle("bold", formatLocation(place))} `;
    return `${locationText}${applyStyle(STYLES[level], `${level}:`)} ${sanitizeLine(message.replace(/\s*\n\s*/g, " "))} ${applyStyle("dim", `(${code})`)}`;
  });
  const { error, warning, note } = countByLevel(findings);
  const countTexts = [
    formatLevelCount(error, "error"),
    formatLevelCount(warning, "warning"),
    formatLevelCount(note, "note"),
  ].filter(Boolean);
  const summary = `${countTexts.length === 0 ? "No findings" : countTexts.join(", ")} in ${formatLevelCount(files.length, "file")}.${isPartial ? " More may be found once these are fixed." : ""}${suffix}`;
  const text = `${[...lines, summary].join("\n")}\n`;
  return target.isTTY ? wrapForTerminal(text, target) : text;
}

type TerminalStyle = Parameters<typeof styleText>[0];

const STYLES = { error: "red", warning: "yellow", note: "cyan" } as const satisfies Record<FindingLevel, TerminalStyle>;

function countByLevel(findings: readonly Finding[]): Record<FindingLevel, number> {
  const counts = { error: 0, warning: 0, note: 0 };
  for (const { level } of findings) counts[level] += 1;
  return counts;
}

function formatLevelCount(value: number, noun: string): string {
  if (value === 0) return "";
  return value === 1 ? `1 ${noun}` : `${value} ${noun}s`;
}

function formatLintJson(value: unknown): string {
  return `${escapeUnprintableJson(JSON.stringify(value, undefined, 2))}\n`;
}

/** Returns the top of the repository that contains the working directory, or the working directory itself. */
function findWorkingRepository(): string {
  const start = process.cwd();
  for (let directory = start; ; directory = dirname(directory)) {
    if (existsSync(join(directory, ".git"))) return directory;
    if (directory === dirname(directory)) return start;
  }
}

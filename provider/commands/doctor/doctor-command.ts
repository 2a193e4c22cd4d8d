import { styleText } from "node:util";
import { Command } from "commander";
import { addHelp } from "../../cli/command-help";
import { EXIT, type ExitCode } from "../../cli/exit-codes";
import { addOutputOptions, type OutputOptions, parseOutputs } from "../../cli/output/output-options";
import { getTextTarget, type TextTarget, writeOutputs } from "../../cli/output/write-outputs";
import { getPackageVersion } from "../../cli/package-version";
import { wrapAction } from "../../cli/wrap-action";
import { wrapForTerminal } from "../../cli/wrap-for-terminal";
import { escapeUnprintableJson, sanitizeMultiline } from "../../model/text";
import type { Diagnosis } from "./run-checks";

/**
 * Builds `email-security doctor`, which checks the requirements for managing a tenant. It prints a line for each check, with advice. Exit
 * code 0 if no check fails, else 1.
 */
export function createDoctorCommand(): Command {
  return addHelp(
    addOutputOptions(new Command("doctor"), FORMATS)
      .description(
        "Check the tenant's address and key, the clock, Pulumi, the settings files and their sources, and show how to fix problems",
      )
      .argument(
        "[files...]",
        "Settings files, or directories that contain them (default: the directory settings, or settings.yaml)",
      )
      .action(wrapAction(runDoctorCommand)),
    {
      examples: [
        { purpose: "Check the setup before a first run, or after a failure", line: "doctor" },
        {
          purpose: "Check with the files of one tenant, for a script",
          line: "doctor settings/acme.yaml --format json",
        },
      ],
      exits: {
        0: "All checks passed",
        1: "A check failed; its line shows how to fix it",
      },
    },
  );
}

const FORMATS = ["text", "json"] as const;

async function runDoctorCommand(
  files: string[],
  commandOptions: OutputOptions<(typeof FORMATS)[number]>,
): Promise<ExitCode> {
  const outputs = parseOutputs(commandOptions, FORMATS);
  const terminalOutput = outputs.find(({ format, to }) => format === "text" && to === "stdout");
  const { runChecks } = await import("./run-checks.js");
  const diagnoses: Diagnosis[] = [];
  const doctorOptions = { environment: process.env, packageVersion: getPackageVersion() };
  for await (const diagnosis of runChecks(files.length > 0 ? { ...doctorOptions, files } : doctorOptions)) {
    diagnoses.push(diagnosis);
    // Print each result at once, because a check may be slow.
    if (terminalOutput !== undefined) process.stdout.write(formatDiagnosis(diagnosis, getTextTarget("stdout")));
  }
  const isHealthy = diagnoses.every(({ status }) => status !== "fail");
  await writeOutputs(
    outputs.filter((output) => output !== terminalOutput),
    {
      text: (target) => diagnoses.map((diagnosis) => formatDiagnosis(diagnosis, target)).join(""),
      json: () =>
        `${escapeUnprintableJson(JSON.stringify({ format: 1, isHealthy: isHealthy, checks: diagnoses }, null, 2))}\n`,
    },
  );
  return isHealthy ? EXIT.clean : EXIT.error;
}

const STATUS_LABELS = { ok: "ok", warn: "warn", fail: "fail", skipped: "-" } as const;
const STATUS_COLORS = { ok: "green", warn: "yellow", fail: "red", skipped: "dim" } as const;

const INDENT = " ".repeat(21);

function formatDiagnosis({ check, status, result, advice }: Diagnosis, target: TextTarget): string {
  const label = STATUS_LABELS[status].padEnd(6);
  const styledLabel = target.color ? styleText(STATUS_COLORS[status], label, { validateStream: false }) : label;
  const firstLine = `${styledLabel}${check.padEnd(15)}${wrapForTerminal(INDENT + sanitizeMultiline(result), target).slice(INDENT.length)}`;
  if (advice === undefined) return `${firstLine}\n`;
  // Lines to paste into a file keep their format, below the sentence.
  const [firstAdvice = "", ...moreAdvice] = sanitizeMultiline(advice).split("\n");
  return [
    firstLine,
    wrapForTerminal(`${INDENT}→ ${firstAdvice}`, target),
    ...moreAdvice.map((adviceLine) => `${INDENT}  ${adviceLine}`),
    "",
  ].join("\n");
}

import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { styleText } from "node:util";
import { Command, InvalidArgumentError, Option } from "commander";
import type { Finding, FindingLevel } from "../files/finding";
import type { FilesLintResult } from "../files/lint-files";
import { harmless, printable, printableJson } from "../settings/text";
import { EXIT, type ExitCode, verb, writeOutput } from "./command-line";
import { packageVersion } from "./package-version";
import { withHelp } from "./verb-help";

/**
 * `email-security lint`: finds what is wrong or risky in settings files, or breaks the team's policy. Needs neither key
 * nor network. Exit codes: 0 nothing worse than a warning, 2 errors, 3 what `--fail-on` names, 1 nothing could be linted.
 */
export function lintCommand(): Command {
  return withHelp(
    new Command("lint")
      .configureOutput({ outputError: (text, write) => write(harmless(text)) })
      .description(
        "find what is wrong or risky in settings files, or breaks the team's policy; asks nothing of the service",
      )
      .argument(
        "[files...]",
        "settings files, folders of them, or a tenants.yaml with the files of its tenants (default: the folder settings, or settings.yaml)",
      )
      .addOption(
        new Option("--format <format>", "what is printed").choices(["text", "json", "sarif"]).default("text"),
      )
      .option("--sarif <file>", "also write the findings as SARIF 2.1.0, for code scanning")
      .addOption(
        new Option("--fail-on <level>", "also fail, with exit code 3, on findings of this level").choices([
          "warning",
          "note",
        ]),
      )
      .option("--today <date>", "judge ends as of this day (default: today, UTC)", day)
      .action(verb(lint)),
    {
      examples: [
        { does: "look at all files of the folder settings", line: "lint" },
        {
          does: "for code scanning, and refused where there is a warning",
          line: "lint settings --sarif lint.sarif --fail-on warning",
        },
        {
          does: "as if it were that day: what has expired by then",
          line: "lint settings/acme.yaml --today 2026-12-31",
        },
      ],
      exits: {
        0: "nothing is worse than a warning",
        1: "there is nothing to lint",
        2: "there are errors",
        3: "there is what --fail-on names",
      },
    },
  );
}

interface LintOptions {
  readonly format: "text" | "json" | "sarif";
  readonly sarif?: string;
  readonly failOn?: "warning" | "note";
  readonly today?: string;
}

async function lint(
  named: readonly string[],
  { format, sarif, failOn, today }: LintOptions,
): Promise<ExitCode> {
  // Loaded here, so that no other verb pays for it.
  const { lintAll } = await import("../rollout/targets/lint-all.js");
  const { sarifLog } = await import("../files/sarif.js");
  const result = await lintAll(named, today === undefined ? {} : { today });
  const { isPartial, ...told } = result;
  const { findings } = told;
  const asSarif = (): string =>
    json(sarifLog(findings, { version: packageVersion(), root: repositoryRoot() }));
  if (sarif !== undefined) writeOutput(sarif, asSarif(), "SARIF log");
  if (format === "text") await printText(result);
  else
    process.stdout.write(
      format === "sarif" ? asSarif() : json({ format: 1, ...told, counts: counted(findings) }),
    );
  const has = (level: FindingLevel): boolean => findings.some((finding) => finding.level === level);
  if (has("error")) return EXIT.changes;
  const refused = (failOn !== undefined && has("warning")) || (failOn === "note" && has("note"));
  return refused ? EXIT.refused : EXIT.clean;
}

/** A finding a line, `file:line:column level: message (code)`, as editors and problem matchers read it; then the counts. */
async function printText({ findings, files, isPartial }: FilesLintResult): Promise<void> {
  const { placeText } = await import("../files/finding.js");
  const styled = (style: Style, text: string): string => styleText(style, text, { stream: process.stdout });
  const lines = findings.map(({ place, level, message, code }) => {
    const at = place === undefined ? "" : `${styled("bold", placeText(place))} `;
    return `${at}${styled(STYLES[level], `${level}:`)} ${printable(message.replace(/\s*\n\s*/g, " "))} ${styled("dim", `(${code})`)}`;
  });
  const { error, warning, note } = counted(findings);
  const told = [count(error, "error"), count(warning, "warning"), count(note, "note")].filter(Boolean);
  const summary = `${told.length === 0 ? "Nothing found" : told.join(", ")} in ${count(files.length, "file")}.${isPartial ? " More may be found once these are mended." : ""}`;
  process.stdout.write(`${[...lines, summary].join("\n")}\n`);
}

type Style = Parameters<typeof styleText>[0];

const STYLES = { error: "red", warning: "yellow", note: "cyan" } as const satisfies Record<
  FindingLevel,
  Style
>;

function counted(findings: readonly Finding[]): Record<FindingLevel, number> {
  const counts = { error: 0, warning: 0, note: 0 };
  for (const { level } of findings) counts[level] += 1;
  return counts;
}

function count(number: number, noun: string): string {
  if (number === 0) return "";
  return number === 1 ? `1 ${noun}` : `${number} ${noun}s`;
}

function json(value: unknown): string {
  return `${printableJson(JSON.stringify(value, undefined, 2))}\n`;
}

/** The top of the repository that the working folder is in, or the working folder. */
function repositoryRoot(): string {
  const start = process.cwd();
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, ".git"))) return folder;
    if (folder === dirname(folder)) return start;
  }
}

function day(text: string): string {
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text));
  if (isDay && new Date(text).toISOString().startsWith(text)) return text;
  throw new InvalidArgumentError("Give a date as 2026-11-21.");
}

import { styleText } from "node:util";
import { Command } from "commander";
import { addHelp } from "../../cli/command-help";
import { EXIT, type ExitCode } from "../../cli/exit-codes";
import { findNearestName } from "../../model/nearest-name";
import { quote } from "../../model/text";
import type { Explanation } from "./explanation";
import type { ExplainableCode } from "./explanations";
import { formatListItem, wrapParagraph } from "./wrap-paragraph";

/**
 * Builds `email-security explain CODE`, which prints the meaning of an error, an example, its usual causes and the remedies. Without a
 * code, it lists all codes. Exit code 1 for an unknown code.
 */
export function createExplainCommand(): Command {
  return addHelp(
    new Command("explain")
      .description("Explain an error code: its meaning, usual causes and fixes")
      .argument("[code]", "Code of an error or finding, such as ERR_EXISTS or exists (default: lists all errors)")
      // Other commands reject a misspelled variable name. This one accepts it, because it may have to explain that
      // error.
      .action(async (code: string | undefined) => {
        process.exitCode = await runExplainCommand(code);
      }),
    {
      examples: [
        { purpose: "Explain the code at the end of an error", line: "explain ERR_OTHER_TENANT" },
        { purpose: "Give the code in lower case, without its prefix", line: "explain exists" },
        { purpose: "List all codes", line: "explain" },
      ],
      exits: {
        0: "The explanation is printed",
        1: "Unknown code",
      },
    },
  );
}

async function runExplainCommand(input: string | undefined): Promise<ExitCode> {
  // Imported lazily, to keep other commands fast.
  const explanations = await import("./explanations.js");
  if (input === undefined) {
    process.stdout.write(formatCodeList(explanations));
    return EXIT.clean;
  }
  const code = explanations.parseCode(input);
  if (code !== undefined) {
    process.stdout.write(formatExplanation(code, explanations.getExplanation(code)));
    return EXIT.clean;
  }
  const { FINDING_RULES } = await import("../../settings-files/finding-rules.js");
  const rule = FINDING_RULES.get(input.toLowerCase());
  if (rule !== undefined) {
    process.stdout.write(`${formatBold(rule.code)}\n${wrapParagraph(`${rule.title}. ${rule.help}`)}\n`);
    return EXIT.clean;
  }
  const closest = explanations.findNearestCode(input) ?? findNearestName(input, [...FINDING_RULES.keys()]);
  const suggestion = closest === undefined ? "`email-security explain` lists all codes" : `did you mean ${closest}?`;
  console.error(`error: unknown error code ${quote(input, 100)}; ${suggestion}`);
  return EXIT.error;
}

function formatExplanation(
  code: ExplainableCode,
  { meaning: means, example, causes, remedies, nextCommand: next }: Explanation,
): string {
  const formatSection = (title: string, lines: readonly string[]): string => [formatBold(title), ...lines].join("\n");
  const sections = [
    `${formatBold(code)}\n${wrapParagraph(means)}`,
    formatSection(
      "Example",
      example.split("\n").map((line) => formatListItem(`  ${/^ */.exec(line)?.[0] ?? ""}`, line.trimStart())),
    ),
    formatSection(
      "Common causes",
      causes.map((cause) => formatListItem("  - ", cause)),
    ),
    formatSection(
      "How to fix it",
      remedies.map((remedy, index) => formatListItem(`  ${index + 1}. `, remedy)),
    ),
    `${formatBold("Next")}\n  ${next}`,
  ];
  return `${sections.join("\n\n")}\n`;
}

function formatCodeList({ getExplanation, CODE_GROUPS }: typeof import("./explanations.js")): string {
  const width = Math.max(...CODE_GROUPS.flatMap(({ codes }) => codes.map((code) => code.length))) + 2;
  const groupTexts = CODE_GROUPS.map(({ title, codes }) => {
    const lines = codes.map((code) => {
      const [firstSentence = ""] = getExplanation(code).meaning.split(/(?<=\.) /);
      return formatListItem(`  ${code.padEnd(width)}`, firstSentence);
    });
    return [formatBold(title), ...lines].join("\n");
  });
  return `${groupTexts.join("\n\n")}\n\nTo explain a code: email-security explain CODE\n`;
}

function formatBold(text: string): string {
  return styleText("bold", text, { stream: process.stdout });
}

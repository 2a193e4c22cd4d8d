import { styleText } from "node:util";
import { Command } from "commander";
import { EXIT, type ExitCode } from "../../cli/command-line";
import { withHelp } from "../../cli/verb-help";
import { nearestName } from "../../settings/nearest-name";
import { quote } from "../../settings/text";
import type { Explanation } from "./explanation";
import type { Code } from "./explanations";
import { itemText, wrapped } from "./wrapped";

/**
 * `email-security explain CODE`: what an error means, an example, its usual causes and what to do; without a code, all of
 * them. Exit code 1 when there is no such code.
 */
export function explainCommand(): Command {
  return withHelp(
    new Command("explain")
      .description("Explain an error code: its meaning, usual causes and fixes")
      .argument(
        "[code]",
        "Code of an error or finding, such as ERR_EXISTS or exists (default: lists all errors)",
      )
      // A slip in a variable's name, which other verbs refuse, is what this may be asked about.
      .action(async (code: string | undefined) => {
        process.exitCode = await explain(code);
      }),
    {
      examples: [
        { does: "by the code at the end of an error", line: "explain ERR_OTHER_TENANT" },
        { does: "in lower case, without its beginning", line: "explain exists" },
        { does: "list all codes", line: "explain" },
      ],
      exits: {
        0: "it is told",
        1: "there is no such code",
      },
    },
  );
}

async function explain(written: string | undefined): Promise<ExitCode> {
  // Loaded here, so that no other verb pays for it.
  const explanations = await import("./explanations.js");
  if (written === undefined) {
    process.stdout.write(listText(explanations));
    return EXIT.clean;
  }
  const code = explanations.codeOf(written);
  if (code !== undefined) {
    process.stdout.write(explanationText(code, explanations.explanationOf(code)));
    return EXIT.clean;
  }
  const { RULES } = await import("../../files/rules.js");
  const rule = RULES.get(written.toLowerCase());
  if (rule !== undefined) {
    process.stdout.write(`${bold(rule.code)}\n${wrapped(`${rule.title}. ${rule.help}`)}\n`);
    return EXIT.clean;
  }
  const near = explanations.nearestCode(written) ?? nearestName(written, [...RULES.keys()]);
  const meant = near === undefined ? "`email-security explain` lists all" : `did you mean ${near}?`;
  console.error(`error: there is no error code ${quote(written, 100)}; ${meant}`);
  return EXIT.error;
}

function explanationText(code: Code, { means, example, causes, remedies, next }: Explanation): string {
  const part = (title: string, lines: readonly string[]): string => [bold(title), ...lines].join("\n");
  const parts = [
    `${bold(code)}\n${wrapped(means)}`,
    part(
      "For example",
      example.split("\n").map((line) => itemText(`  ${/^ */.exec(line)?.[0] ?? ""}`, line.trimStart())),
    ),
    part(
      "It usually comes of",
      causes.map((cause) => itemText("  - ", cause)),
    ),
    part(
      "What to do",
      remedies.map((remedy, at) => itemText(`  ${at + 1}. `, remedy)),
    ),
    `${bold("Next")}\n  ${next}`,
  ];
  return `${parts.join("\n\n")}\n`;
}

function listText({ explanationOf, GROUPS }: typeof import("./explanations.js")): string {
  const width = Math.max(...GROUPS.flatMap(({ codes }) => codes.map((code) => code.length))) + 2;
  const groups = GROUPS.map(({ title, codes }) => {
    const lines = codes.map((code) => {
      const [first = ""] = explanationOf(code).means.split(/(?<=\.) /);
      return itemText(`  ${code.padEnd(width)}`, first);
    });
    return [bold(title), ...lines].join("\n");
  });
  return `${groups.join("\n\n")}\n\nMore of one: email-security explain CODE\n`;
}

function bold(text: string): string {
  return styleText("bold", text, { stream: process.stdout });
}

import { styleText } from "node:util";
import { Command } from "commander";
import type { Diagnosis } from "../gitops/doctor";
import { harmless, printableJson } from "../settings/text";
import { EXIT, type ExitCode, verb } from "./command-line";
import { fitted } from "./fitted";
import { packageVersion } from "./package-version";
import { withHelp } from "./verb-help";

/**
 * `email-security doctor`: looks at all that is needed to manage a tenant from here, a line each, and says what to do.
 * Exit code 0 when nothing has failed, else 1.
 */
export function doctorCommand(): Command {
  return withHelp(
    new Command("doctor")
      .description("look at address, key, clock, engine and files, and say what to do")
      .argument(
        "[files...]",
        "settings files or folders of them (default: the folder settings, or settings.yaml)",
      )
      .option("--json", "one JSON document instead of lines")
      .action(verb(run)),
    {
      examples: [
        { does: "before a first run, and where something fails", line: "doctor" },
        { does: "for a script, with the files of one tenant", line: "doctor settings/acme.yaml --json" },
      ],
      exits: {
        0: "nothing has failed",
        1: "something has; the line says what to do",
      },
    },
  );
}

async function run(files: string[], { json = false }: { json?: boolean }): Promise<ExitCode> {
  const { examine } = await import("../gitops/doctor.js");
  const diagnoses: Diagnosis[] = [];
  const options = { environment: process.env, packageVersion: packageVersion() };
  for await (const diagnosis of examine(files.length > 0 ? { ...options, files } : options)) {
    diagnoses.push(diagnosis);
    if (!json) console.log(lines(diagnosis));
  }
  const isWell = diagnoses.every(({ health }) => health !== "fail");
  if (json) console.log(printableJson(JSON.stringify({ format: 1, isWell, checks: diagnoses }, null, 2)));
  return isWell ? EXIT.clean : EXIT.error;
}

const WORDS = { ok: "ok", warn: "warn", fail: "fail", skipped: "-" } as const;
const COLOURS = { ok: "green", warn: "yellow", fail: "red", skipped: "dim" } as const;

const INDENT = " ".repeat(21);

function lines({ check, health, found, advice }: Diagnosis): string {
  const word = styleText(COLOURS[health], WORDS[health].padEnd(6));
  const line = `${word}${check.padEnd(15)}${fitted(INDENT + harmless(found)).slice(INDENT.length)}`;
  if (advice === undefined) return line;
  // Lines to write into a file stand as they are to be, below the sentence.
  const [first = "", ...more] = harmless(advice).split("\n");
  return [line, fitted(`${INDENT}→ ${first}`), ...more.map((one) => `${INDENT}  ${one}`)].join("\n");
}

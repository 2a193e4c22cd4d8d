import { styleText } from "node:util";
import { Command } from "commander";
import { EXIT, type ExitCode, verb } from "../../cli/command-line";
import { fitted } from "../../cli/fitted";
import { type OutputOptions, readOutputs, withOutputs } from "../../cli/output/outputs";
import { type TextTarget, targetOf, writeOutputs } from "../../cli/output/write-outputs";
import { packageVersion } from "../../cli/package-version";
import { withHelp } from "../../cli/verb-help";
import { harmless, printableJson } from "../../settings/text";
import type { Diagnosis } from "./doctor";

/**
 * `email-security doctor`: looks at all that is needed to manage a tenant from here, a line each, and says what to do.
 * Exit code 0 when nothing has failed, else 1.
 */
export function doctorCommand(): Command {
  return withHelp(
    withOutputs(new Command("doctor"), FORMATS)
      .description("Check address, key, clock, engine and files, and show how to fix them")
      .argument(
        "[files...]",
        "Settings files or directories of them (default: the directory settings, or settings.yaml)",
      )
      .action(verb(run)),
    {
      examples: [
        { does: "before a first run, and where something fails", line: "doctor" },
        {
          does: "for a script, with the files of one tenant",
          line: "doctor settings/acme.yaml --format json",
        },
      ],
      exits: {
        0: "nothing has failed",
        1: "something has; the line says what to do",
      },
    },
  );
}

const FORMATS = ["text", "json"] as const;

async function run(files: string[], given: OutputOptions<(typeof FORMATS)[number]>): Promise<ExitCode> {
  const outputs = readOutputs(given, FORMATS);
  const printed = outputs.find(({ format, to }) => format === "text" && to === "stdout");
  const { examine } = await import("./doctor.js");
  const diagnoses: Diagnosis[] = [];
  const options = { environment: process.env, packageVersion: packageVersion() };
  for await (const diagnosis of examine(files.length > 0 ? { ...options, files } : options)) {
    diagnoses.push(diagnosis);
    // A check may take its time.
    if (printed !== undefined) process.stdout.write(linesOf(diagnosis, targetOf("stdout")));
  }
  const isWell = diagnoses.every(({ health }) => health !== "fail");
  await writeOutputs(
    outputs.filter((output) => output !== printed),
    {
      text: (target) => diagnoses.map((one) => linesOf(one, target)).join(""),
      json: () => `${printableJson(JSON.stringify({ format: 1, isWell, checks: diagnoses }, null, 2))}\n`,
    },
  );
  return isWell ? EXIT.clean : EXIT.error;
}

const WORDS = { ok: "ok", warn: "warn", fail: "fail", skipped: "-" } as const;
const COLOURS = { ok: "green", warn: "yellow", fail: "red", skipped: "dim" } as const;

const INDENT = " ".repeat(21);

function linesOf({ check, health, found, advice }: Diagnosis, target: TextTarget): string {
  const plain = WORDS[health].padEnd(6);
  const word = target.color ? styleText(COLOURS[health], plain, { validateStream: false }) : plain;
  const line = `${word}${check.padEnd(15)}${fitted(INDENT + harmless(found), target).slice(INDENT.length)}`;
  if (advice === undefined) return `${line}\n`;
  // Lines to write into a file stand as they are to be, below the sentence.
  const [first = "", ...more] = harmless(advice).split("\n");
  return [line, fitted(`${INDENT}→ ${first}`, target), ...more.map((one) => `${INDENT}  ${one}`), ""].join(
    "\n",
  );
}

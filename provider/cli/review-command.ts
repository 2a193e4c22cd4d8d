import { Command } from "commander";
import { ConfigurationError } from "../client/errors";
import { harmless, printable, printableJson, quote } from "../settings/text";
import { connect, EXIT, type ExitCode, verb, writeOutput } from "./command-line";
import { date, defaultFile, wholeNumber } from "./plan-options";
import { withHelp } from "./verb-help";

interface Options {
  readonly days: number;
  readonly maxPages?: number;
  readonly today?: string;
  readonly offline?: true;
  readonly markdown?: string;
  readonly json?: string;
}

/**
 * `email-security review`: what of the settings should be looked at, and the decisions about it. Exit codes: 0 nothing, 2 something,
 * 1 an error.
 */
export function reviewCommand(): Command {
  return withHelp(
    new Command("review")
      .configureOutput({ outputError: (text, write) => write(harmless(text)) })
      .description("list what stands and should be looked at, with a reason each; record what is decided")
      .argument("[file]", "settings file (default: settings.yaml, or the only one in settings)")
      .option("--days <number>", "days of the tenant's mail to look at", wholeNumber, 30)
      .option("--max-pages <number>", "most pages of threats to read (default: 100)", wholeNumber)
      .option("--today <date>", "the day (UTC) by which ends and reviews are judged", date)
      .option("--offline", "ask no tenant; tell what the files alone can")
      .option("--markdown <file>", "also write it as Markdown, for an issue, with a box each")
      .option("--json <file>", "also write it as JSON; - for stdout and nothing else")
      .action(verb(run))
      .addCommand(keepCommand())
      .addCommand(extendCommand())
      .addCommand(dropCommand()),
    {
      examples: [
        { does: "what of a tenant's settings should be looked at", line: "review settings/acme.yaml" },
        { does: "for an issue, as a monthly job does", line: "review --markdown review.md" },
      ],
      exits: { 0: "there is nothing to look at", 1: "an error", 2: "there is something to look at" },
    },
  );
}

async function run(given: string | undefined, options: Options): Promise<ExitCode> {
  const { readSettings } = await import("../files/read-settings.js");
  const { reviewOf } = await import("../gitops/review.js");
  const { reviewMarkdown, reviewText } = await import("../gitops/review-report.js");
  const file = given ?? (await defaultFile());
  const settings = readSettings(file, options.today === undefined ? {} : { today: options.today });
  const review = reviewOf(settings, options.offline ? undefined : await asked(options));
  const json = `${printableJson(JSON.stringify({ format: 1, file, ...review }, undefined, 2))}\n`;
  if (options.markdown !== undefined) writeOutput(options.markdown, reviewMarkdown(review, file), "review");
  if (options.json !== undefined && options.json !== "-") writeOutput(options.json, json, "review");
  process.stdout.write(options.json === "-" ? json : reviewText(review, file));
  return review.items.length === 0 ? EXIT.clean : EXIT.changes;
}

async function asked({ days, maxPages }: Options) {
  const { gatherEvidence } = await import("../plan/evidence.js");
  const { observe } = await import("../plan/observed.js");
  const client = connect();
  try {
    const observed = await observe(client);
    const pages = maxPages === undefined ? {} : { maxPages };
    return { observed, base: await gatherEvidence({ client, days, vips: observed.vips.keys(), ...pages }) };
  } finally {
    await client.close();
  }
}

interface Decision {
  readonly reason: string;
  readonly by: string;
  readonly file?: string;
  readonly scope?: string;
  readonly today?: string;
  readonly for?: string;
}

function decision(name: string, description: string): Command {
  return new Command(name)
    .configureOutput({ outputError: (text, write) => write(harmless(text)) })
    .description(description)
    .argument("<value>", "the domain, IP address or mailbox")
    .requiredOption("--reason <text>", "why, in one line")
    .option("--file <file>", "settings file (default: settings.yaml, or the only one in settings)")
    .option("--scope <scope>", "which one is meant, where it is there in several scopes")
    .option("--today <date>", "the day (UTC) of the decision", date);
}

function keepCommand(): Command {
  return withHelp(
    decision("keep", "record that something stays as it is")
      .requiredOption("--by <name>", "who decided")
      .action(verb((value: string, options: Decision) => decide(value, options, undefined))),
    {
      examples: [
        {
          does: "keep an allow",
          line: 'review keep partner.example --reason "in use" --by lena@acme.example',
        },
        {
          does: "of several scopes, one",
          line: 'review keep partner.example --scope graymail --reason "in use" --by lena@acme.example',
        },
      ],
      exits: { 0: "it stands in the file", 1: "an error; nothing is written" },
    },
  );
}

function extendCommand(): Command {
  return withHelp(
    decision("extend", "let something go on for longer, and record who decided")
      .requiredOption("--by <name>", "who decided")
      .requiredOption("--for <term>", "for how long from today: 90d, 6w, a day as 2027-03-31, or never")
      .action(verb((value: string, options: Decision) => decide(value, options, options.for))),
    {
      examples: [
        {
          does: "let an allow go on",
          line: 'review extend partner.example --for 90d --reason "renewed" --by lena@acme.example',
        },
        {
          does: "until a day",
          line: 'review extend partner.example --for 2027-03-31 --reason "contract" --by lena@acme.example',
        },
      ],
      exits: { 0: "it stands in the file", 1: "an error; nothing is written" },
    },
  );
}

function dropCommand(): Command {
  return withHelp(
    decision("drop", "take something out of the tenant's own file; the reason is for the commit").action(
      verb((value: string, options: Decision) => drop(value, options)),
    ),
    {
      examples: [
        { does: "take a deny out", line: 'review drop evil.example --reason "long gone"' },
        {
          does: "of a named file",
          line: 'review drop evil.example --file settings/acme.yaml --reason "long gone"',
        },
      ],
      exits: { 0: "it is out of the file", 1: "an error; nothing is written" },
    },
  );
}

async function decide(value: string, options: Decision, term: string | undefined): Promise<ExitCode> {
  const { settings, one } = await found(value, options);
  const { reviewedMark } = await import("../files/settings-schema.js");
  const { decisionEdits } = await import("../gitops/review.js");
  const { parseTerm } = await import("../settings/term.js");
  const mark = reviewedMark.safeParse({ on: settings.today, by: options.by, reason: options.reason });
  if (!mark.success) {
    const [issue] = mark.error.issues;
    throw new ConfigurationError(`--${String(issue?.path[0])} ${issue?.message}.`);
  }
  const until = term === undefined ? undefined : parseTerm(term, settings.today);
  if (until?.ok === false) throw new ConfigurationError(`--for: ${until.reason}.`);
  const { on, by } = mark.data;
  return await write(settings, decisionEdits(one, { on, by, reason: options.reason }, until?.value));
}

async function drop(value: string, options: Decision): Promise<ExitCode> {
  const { settings, one } = await found(value, options);
  const [own] = settings.files;
  if (one.place.file !== own || one.overrides.length > 0) {
    throw new ConfigurationError(
      `${quote(value)} is declared in ${quote(one.place.file === own ? one.overrides[0]?.file : one.place.file, 300)}, which others may include; nothing was written. Write it under \`remove\` in ${quote(own, 300)}, or take it out there, where those look at it who share it.`,
    );
  }
  const about =
    one.kind === "vip"
      ? ({ section: "vips", value: one.email } as const)
      : ({ section: one.list, value: one.value, scope: one.verdictScope } as const);
  const code = await write(settings, [{ file: one.place.file, edit: { do: "remove", ...about } }]);
  console.error(`For the commit: ${printable(options.reason)}`);
  return code;
}

/** What a value names in the files. */
async function found(value: string, { file: given, scope, today }: Decision) {
  const { readSettings } = await import("../files/read-settings.js");
  const { canonicalMailbox, canonicalValue } = await import("../settings/entry-value.js");
  const file = given ?? (await defaultFile());
  const settings = readSettings(file, today === undefined ? {} : { today });
  const some = [...settings.entries, ...settings.vips, ...settings.expired].filter((one) =>
    one.kind === "vip"
      ? one.email === canonicalMailbox(value) && scope === undefined
      : one.value === canonicalValue(value) && (scope === undefined || one.verdictScope === scope),
  );
  const [one, other] = some;
  if (one === undefined) {
    throw new ConfigurationError(
      `${quote(value)} is declared nowhere in ${quote(file, 300)}${scope === undefined ? "" : ` with the scope ${quote(scope)}`}. What stands at the tenant alone is taken in first: \`email-security drift --adopt\`.`,
    );
  }
  if (other !== undefined) {
    throw new ConfigurationError(
      `${quote(value)} is declared more than once in ${quote(file, 300)}; say which scope is meant (--scope), or change it by hand.`,
    );
  }
  return { settings, one };
}

async function write(
  settings: import("../files/settings.js").Settings,
  edits: readonly import("../files/change-files.js").FileEdit[],
): Promise<ExitCode> {
  const { changeFiles, patchOf } = await import("../files/change-files.js");
  const { readerFrom } = await import("../files/read-source.js");
  const { repositoryOf } = await import("../files/repository.js");
  const { writeSettings } = await import("../files/write-settings.js");
  const changed = changeFiles(settings, edits, readerFrom(settings.file));
  for (const { file, after } of changed) writeSettings(file, after);
  process.stdout.write(harmless(patchOf(changed, repositoryOf(process.cwd()) ?? process.cwd())));
  for (const { file } of changed) console.error(`Wrote ${printable(file)}.`);
  return EXIT.clean;
}

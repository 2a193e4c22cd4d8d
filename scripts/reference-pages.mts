import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Argument, Command, Option } from "commander";
import { docsFolder, pageList } from "../docs/.vitepress/pages.mts";
import { getHelp } from "../provider/dist/cli/command-help.js";
import { EXIT } from "../provider/dist/cli/command-line.js";
import { RESPONSE_CLASSES, type ResponseClass, SCOPES } from "../provider/dist/client/response-classification.js";
import { getFailureHandling } from "../provider/dist/client/retry-policy.js";
import { CODE_GROUPS, getExplanation } from "../provider/dist/commands/explain/explanations.js";
import { createProgram, forEachCommand, getCommandPath } from "../provider/dist/commands/program.js";

/*
 * Generates the reference pages that describe the command. `npm run docs` writes them, and a test checks that the
 * committed pages are up to date. Each page is identified by its path below docs/.
 */

/** The text of each page, by its path. */
export type ReferencePages = ReadonlyMap<string, string>;

/** Returns all generated pages. */
export function buildReferencePages(): ReferencePages {
  return new Map([
    ...buildErrorPages(),
    ...buildCliPages(),
    ...buildExitCodePages(),
    ...buildResponsesPage(),
    ...buildIndexPage(),
  ]);
}

/** Builds the index page. It lists the pages of each kind between the comments that name their directory. */
function buildIndexPage(): ReferencePages {
  const text = readFileSync(join(docsFolder, "index.md"), "utf8").replace(
    /^(<!-- pages: ([\w/-]+) -->\n).*?^(<!-- \/pages -->)$/gms,
    (_, begin: string, directory: string, end: string) => `${begin}\n${pageList(directory, "index.md")}\n\n${end}`,
  );
  return new Map([["index.md", text]]);
}

const ERRORS_DIRECTORY = "reference/errors";
const COMMANDS = "reference/cli";

function generatedNotice(source: string): string {
  return `<!-- Made by \`npm run docs\` of ${source}; don't edit. -->\n`;
}

/** Builds a page for each error code, and a list of all codes. */
export function buildErrorPages(): ReferencePages {
  const source = "provider/commands/explain";
  const codes = CODE_GROUPS.flatMap(({ codes }) => codes);
  const pages = codes.map((code) => {
    const { means, example, causes, remedies, next } = getExplanation(code);
    const list = (items: readonly string[]): string => items.map((item) => `- ${item}`).join("\n");
    const steps = remedies.map((remedy, index) => `${index + 1}. ${remedy}`).join("\n");
    const text = [
      `${generatedNotice(source)}\n# ${code}`,
      means,
      `## For example\n\n\`\`\`text\n${example}\n\`\`\``,
      `## It usually comes of\n\n${list(causes)}`,
      `## What to do\n\n${steps}`,
      `Then:\n\n\`\`\`sh no-run: how to go on depends on where it failed\n${next}\n\`\`\``,
      `[All codes](index.md). In a terminal: \`email-security explain ${code}\`.`,
    ];
    return [`${ERRORS_DIRECTORY}/${code}.md`, `${text.join("\n\n")}\n`] as const;
  });
  const groups = CODE_GROUPS.map(({ title, codes }) => {
    const rows = codes.map((code) => `| [\`${code}\`](${code}.md) | ${getFirstSentence(getExplanation(code).means)} |`);
    return [`## ${title}`, "", "| code | |", "|---|---|", ...rows].join("\n");
  });
  const index = [
    `${generatedNotice(source)}\n# Error codes`,
    "The first line of an error ends with its code, in brackets. Match errors by their code, which stays the same in every release. Messages are for people and may change. `email-security explain CODE` shows the page of a code in a terminal.",
    ...groups,
  ];
  return new Map([...pages, [`${ERRORS_DIRECTORY}/index.md`, `${index.join("\n\n")}\n`]]);
}

/** Builds a page for each command with its subcommands, and a list of all commands. */
export function buildCliPages(): ReferencePages {
  const rootCommand = createProgram();
  // Hidden commands are for programs; the page itself covers `help`.
  const subcommands = rootCommand
    .createHelp()
    .visibleCommands(rootCommand)
    .filter((command) => command.name() !== "help");
  const groups = Map.groupBy(subcommands, (command) => command.helpGroup().replace(/:$/, ""));
  const pages = subcommands.map((command) => [`${COMMANDS}/${command.name()}.md`, renderCommandPage(command)] as const);
  const index = [
    `${generatedNotice("provider/commands")}\n# The email-security command`,
    `${toSentence(rootCommand.description())} \`email-security COMMAND --help\` shows the same information as the command's page.`,
    ...[...groups].map(([title, groupCommands]) => {
      const rows = groupCommands.map(
        (command) => `| [\`${command.name()}\`](${command.name()}.md) | ${escapeCell(command.description())} |`,
      );
      return [`## ${title}`, "", "| command | |", "|---|---|", ...rows].join("\n");
    }),
    OUTPUT,
    "See also [exit codes](../exit-codes.md) and [error codes](../errors/index.md).",
  ];
  return new Map([...pages, [`${COMMANDS}/index.md`, `${index.join("\n\n")}\n`]]);
}

const OUTPUT = `## Output

Data goes to standard output; progress, notes and errors go to standard error.

| option | |
|---|---|
| \`--format FORMAT\` | The format of what is printed, and of each \`--output\` that names none: \`text\` by default. |
| \`--output FILE\` | Writes to a file. Its extension sets the format where \`--format\` does not: \`.txt\`, \`.md\`, \`.html\`, \`.json\`, \`.csv\` or \`.sarif\`. |
| \`--output FORMAT=FILE\` | Writes this format to a file. |
| \`--output -\` | Writes to standard output, as in \`--output json=-\`. |

Repeat \`--output\` to write several files in one run. Text still goes to the terminal unless an output is \`-\`. A file is written whole
or not at all. Each page says which formats its command has.`;

function renderCommandPage(command: Command): string {
  const parts: string[] = [];
  forEachCommand(command, (one) => parts.push(...buildCommandParts(one, one === command ? 1 : 2)));
  return `${generatedNotice("provider/commands")}\n${parts.join("\n\n")}\n`;
}

function buildCommandParts(command: Command, level: number): string[] {
  const heading = (text: string, below = 0): string => `${"#".repeat(level + below)} ${text}`;
  const { examples = [], exits = {} } = getHelp(command) ?? {};
  const parts = [
    heading(getCommandPath(command)),
    toSentence(command.description()),
    `\`\`\`text\n${getCommandPath(command)} ${command.usage()}\n\`\`\``,
  ];
  const { registeredArguments: args } = command;
  if (args.length > 0)
    parts.push(
      renderTable(
        "argument",
        args.map((one) => [`\`${formatArgument(one)}\``, one.description, describeDefault(one)]),
      ),
    );
  if (command.options.length > 0) {
    parts.push(
      renderTable(
        "option",
        command.options.map((one) => [`\`${one.flags}\``, one.description, describeDefault(one)]),
      ),
    );
  }
  if (command.commands.length > 0) {
    const rows = command.commands.map((one) => [`\`${one.name()}\``, one.description(), ""] as const);
    parts.push(renderTable("subcommand", rows));
  }
  const codes = Object.entries(exits).map(([code, when]) => `| ${code} | ${escapeCell(when)} |`);
  if (codes.length > 0)
    parts.push(`${heading("Exit codes", 1)}\n\n${["| code | when |", "|---|---|", ...codes].join("\n")}`);
  const lines = examples.flatMap(({ line, does }) => [`# ${does}`, `email-security ${line}`]);
  if (lines.length > 0) {
    parts.push(
      `${heading("Examples", 1)}\n\n\`\`\`sh no-run: names files and stacks of yours\n${lines.join("\n")}\n\`\`\``,
    );
  }
  return parts;
}

function renderTable(
  title: string,
  rows: readonly (readonly [term: string, about: string, byDefault: string])[],
): string {
  const lines = rows.map(
    ([term, description, defaultText]) =>
      `| ${escapeCell(term)} | ${escapeCell([description, defaultText].filter(Boolean).join("; "))} |`,
  );
  return [`| ${title} | |`, "|---|---|", ...lines].join("\n");
}

function formatArgument(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}

/** Describes the choices and the default, unless the description already states them. */
function describeDefault({ argChoices, defaultValue, defaultValueDescription }: Argument | Option): string {
  const choices = argChoices === undefined ? "" : `one of ${argChoices.map((one) => `\`${one}\``).join(", ")}`;
  const hasPrintableDefault = defaultValue !== undefined && defaultValue !== false && defaultValue !== true;
  return [choices, hasPrintableDefault ? `default: \`${defaultValueDescription ?? defaultValue}\`` : ""]
    .filter(Boolean)
    .join("; ");
}

/** Builds the page that lists the exit codes of each command. */
export function buildExitCodePages(): ReferencePages {
  const subcommands: Command[] = [];
  forEachCommand(createProgram(), (command) => {
    if (Object.keys(getHelp(command)?.exits ?? {}).length > 0) subcommands.push(command);
  });
  const codes = Object.values(EXIT).sort();
  const rows = subcommands.map((command) => {
    const { exits = {} } = getHelp(command) ?? {};
    const [, top = ""] = getCommandPath(command).split(" ");
    const name = getCommandPath(command).replace("email-security ", "");
    return `| [\`${name}\`](cli/${top}.md) | ${codes.map((code) => escapeCell(exits[code] ?? "")).join(" | ")} |`;
  });
  const text = [
    `${generatedNotice("provider/commands")}\n# Exit codes`,
    "This page lists the exit codes of `email-security`, for scripts and pipelines. In a pipeline, continue on 0, show the output and wait for a person on 2, and stop on 1 and 3.",
    ["| code | meaning |", "|---|---|", ...codes.map((code) => `| ${code} | ${EXIT_MEANINGS[code]} |`)].join("\n"),
    "This table lists the codes by command. An empty cell means that the command doesn't use the code.",
    [`| command | ${codes.join(" | ")} |`, `|---|${codes.map(() => "---|").join("")}`, ...rows].join("\n"),
    "`pulumi preview` and `pulumi up` use Pulumi's own exit codes: 0, or another code if something failed.",
  ];
  return new Map([["reference/exit-codes.md", `${text.join("\n\n")}\n`]]);
}

const EXIT_MEANINGS: Readonly<Record<(typeof EXIT)[keyof typeof EXIT], string>> = {
  [EXIT.clean]: "There is nothing to do, or it is done.",
  [EXIT.error]:
    "Invalid input, no connection, or another failure. The error's code says which: see [error codes](errors/index.md).",
  [EXIT.changes]: "Something remains to be done, or something was found.",
  [EXIT.refused]: "Refused by a blocker, or not the reviewed plan. Nothing was changed.",
};

/** Builds the page that explains each response and the consequence of each scope. */
function buildResponsesPage(): ReferencePages {
  const responses = RESPONSE_CLASSES.map((one) => {
    const [, only] = /^2xx to a (\w+)/.exec(one.response) ?? [];
    const cells = ["GET", "DELETE", "POST"].map((method) =>
      only === undefined || only === method ? describeHandling(one, method) : "",
    );
    return [one.response, ...cells, one.scope, `[\`${one.code}\`](errors/${one.code}.md)`];
  });
  const scopes = Object.entries(SCOPES).map(([scope, effects]) => [
    scope,
    effects.concerns,
    effects.isBreakerFailure ? "a failure" : "",
    effects.isSharedByAddress ? "others are probed" : "",
    effects.isRetryAfterRespected ? "respected" : "",
    effects.abandonsListAfter === undefined ? "goes on" : `abandoned after ${effects.abandonsListAfter}`,
  ]);
  const text = [
    `${generatedNotice("provider/client/response-classification.ts")}\n# Responses and retries`,
    "This table defines how the package handles each response or connection failure. The client, the outcome checks, the rollouts and the notices use it. Read it with [Retries and outcome checks](../explanation/retries-and-outcome-checks.md) when you investigate a failure.",
    renderRows(["response", "GET", "PATCH, DELETE", "POST", "scope", "error code"], responses),
    "- *retry*: send the request again, up to 4 attempts, with backoff and jitter.\n- *pause, then retry*: all requests of the tenant wait as long as `Retry-After` says, or else for a backoff.\n- *outcome check*: the write may have taken effect. Read the list, and send only missing writes.\n- *fail*: end with the error code.",
    "## Scopes",
    "The scope says which requests a failure affects, and how the package treats other requests.",
    renderRows(
      ["scope", "concerns", "circuit breaker", "other tenants of an address", "`Retry-After`", "rest of a list"],
      scopes,
    ),
  ];
  return new Map([["reference/responses.md", `${text.join("\n\n")}\n`]]);
}

function describeHandling(one: ResponseClass, method: string): string {
  const handling = getFailureHandling(one, method);
  return handling === "retry" && one.scope === "rate limit" ? "pause, then retry" : handling;
}

function renderRows(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => "---"), ...rows.map((row) => row.map(escapeCell))];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function getFirstSentence(text: string): string {
  return text.split(/(?<=\.) /)[0] ?? text;
}

function toSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** Escapes text for a table cell. Outside of code, an angle bracket would start a tag. */
function escapeCell(text: string): string {
  const parts = text.split(/(`[^`]*`)/);
  return parts
    .map((part) =>
      part.startsWith("`")
        ? part
        : part.replace(/[<>]/g, (one) => (one === "<" ? "&lt;" : "&gt;")).replaceAll("*", "\\*"),
    )
    .join("")
    .replaceAll("|", "\\|");
}

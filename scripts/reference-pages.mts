import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Argument, Command, Option } from "commander";
import { docsFolder, pageList } from "../docs/.vitepress/pages.mts";
import { EXIT } from "../provider/dist/cli/command-line.js";
import { helpOf } from "../provider/dist/cli/verb-help.js";
import {
  RESPONSE_CLASSES,
  type ResponseClass,
  SCOPES,
} from "../provider/dist/client/response-classification.js";
import { handlingOf } from "../provider/dist/client/retry-policy.js";
import { explanationOf, GROUPS } from "../provider/dist/commands/explain/explanations.js";
import { forEachVerb, pathOf, program } from "../provider/dist/commands/program.js";

/*
 * The pages of the reference that are made from what the command knows: `npm run docs` writes them, and a test holds them equal.
 * Each is by its path below docs/.
 */

/** Path and text. */
export type Pages = ReadonlyMap<string, string>;

/** All of them. */
export function referencePages(): Pages {
  return new Map([...errorPages(), ...cliPages(), ...exitCodePages(), ...responsesPage(), ...firstPage()]);
}

/** The first page, with the pages of each kind between the comments that name their folder. */
function firstPage(): Pages {
  const text = readFileSync(join(docsFolder, "index.md"), "utf8").replace(
    /^(<!-- pages: ([\w/-]+) -->\n).*?^(<!-- \/pages -->)$/gms,
    (_, begin: string, folder: string, end: string) => `${begin}\n${pageList(folder, "index.md")}\n\n${end}`,
  );
  return new Map([["index.md", text]]);
}

const ERRORS = "reference/errors";
const VERBS = "reference/cli";

function made(of: string): string {
  return `<!-- Made by \`npm run docs\` of ${of}; don't edit. -->\n`;
}

/** A page for each code, and one that lists them. */
export function errorPages(): Pages {
  const of = "provider/commands/explain";
  const all = GROUPS.flatMap(({ codes }) => codes);
  const pages = all.map((code) => {
    const { means, example, causes, remedies, next } = explanationOf(code);
    const list = (items: readonly string[]): string => items.map((item) => `- ${item}`).join("\n");
    const steps = remedies.map((remedy, at) => `${at + 1}. ${remedy}`).join("\n");
    const text = [
      `${made(of)}\n# ${code}`,
      means,
      `## For example\n\n\`\`\`text\n${example}\n\`\`\``,
      `## It usually comes of\n\n${list(causes)}`,
      `## What to do\n\n${steps}`,
      `Then:\n\n\`\`\`sh no-run: how to go on depends on where it failed\n${next}\n\`\`\``,
      `[All codes](index.md). In a terminal: \`email-security explain ${code}\`.`,
    ];
    return [`${ERRORS}/${code}.md`, `${text.join("\n\n")}\n`] as const;
  });
  const groups = GROUPS.map(({ title, codes }) => {
    const rows = codes.map(
      (code) => `| [\`${code}\`](${code}.md) | ${firstSentence(explanationOf(code).means)} |`,
    );
    return [`## ${title}`, "", "| code | |", "|---|---|", ...rows].join("\n");
  });
  const index = [
    `${made(of)}\n# Error codes`,
    "The first line of an error ends with its code, in brackets. Match by the code: it stays the same in every release, and messages are written for people. `email-security explain CODE` tells in a terminal what the code's page tells.",
    ...groups,
  ];
  return new Map([...pages, [`${ERRORS}/index.md`, `${index.join("\n\n")}\n`]]);
}

/** A page for each verb, with the verbs below it, and one that lists them. */
export function cliPages(): Pages {
  const all = program();
  // What is hidden is for programs; `help` is told by the page itself.
  const verbs = all
    .createHelp()
    .visibleCommands(all)
    .filter((verb) => verb.name() !== "help");
  const groups = Map.groupBy(verbs, (verb) => verb.helpGroup().replace(/:$/, ""));
  const pages = verbs.map((verb) => [`${VERBS}/${verb.name()}.md`, verbPage(verb)] as const);
  const index = [
    `${made("provider/commands")}\n# The email-security command`,
    `${sentence(all.description())} \`email-security VERB --help\` tells the same as the verb's page.`,
    ...[...groups].map(([title, some]) => {
      const rows = some.map(
        (verb) => `| [\`${verb.name()}\`](${verb.name()}.md) | ${cell(verb.description())} |`,
      );
      return [`## ${title}`, "", "| verb | |", "|---|---|", ...rows].join("\n");
    }),
    OUTPUT,
    "How a verb ends: [exit codes](../exit-codes.md). What an error means: [error codes](../errors/index.md).",
  ];
  return new Map([...pages, [`${VERBS}/index.md`, `${index.join("\n\n")}\n`]]);
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

function verbPage(verb: Command): string {
  const parts: string[] = [];
  forEachVerb(verb, (one) => parts.push(...verbParts(one, one === verb ? 1 : 2)));
  return `${made("provider/commands")}\n${parts.join("\n\n")}\n`;
}

function verbParts(verb: Command, level: number): string[] {
  const heading = (text: string, below = 0): string => `${"#".repeat(level + below)} ${text}`;
  const { examples = [], exits = {} } = helpOf(verb) ?? {};
  const parts = [
    heading(pathOf(verb)),
    sentence(verb.description()),
    `\`\`\`text\n${pathOf(verb)} ${verb.usage()}\n\`\`\``,
  ];
  const { registeredArguments: args } = verb;
  if (args.length > 0)
    parts.push(
      table(
        "argument",
        args.map((one) => [`\`${termOf(one)}\``, one.description, defaultOf(one)]),
      ),
    );
  if (verb.options.length > 0) {
    parts.push(
      table(
        "option",
        verb.options.map((one) => [`\`${one.flags}\``, one.description, defaultOf(one)]),
      ),
    );
  }
  if (verb.commands.length > 0) {
    const rows = verb.commands.map((one) => [`\`${one.name()}\``, one.description(), ""] as const);
    parts.push(table("verb", rows));
  }
  const codes = Object.entries(exits).map(([code, when]) => `| ${code} | ${cell(when)} |`);
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

function table(
  title: string,
  rows: readonly (readonly [term: string, about: string, byDefault: string])[],
): string {
  const lines = rows.map(
    ([term, about, byDefault]) =>
      `| ${cell(term)} | ${cell([about, byDefault].filter(Boolean).join("; "))} |`,
  );
  return [`| ${title} | |`, "|---|---|", ...lines].join("\n");
}

function termOf(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}

/** The choices and the default, as far as the description does not tell them. */
function defaultOf({ argChoices, defaultValue, defaultValueDescription }: Argument | Option): string {
  const choices =
    argChoices === undefined ? "" : `one of ${argChoices.map((one) => `\`${one}\``).join(", ")}`;
  const isTold = defaultValue !== undefined && defaultValue !== false && defaultValue !== true;
  return [choices, isTold ? `default: \`${defaultValueDescription ?? defaultValue}\`` : ""]
    .filter(Boolean)
    .join("; ");
}

/** How each verb ends, by code. */
export function exitCodePages(): Pages {
  const verbs: Command[] = [];
  forEachVerb(program(), (verb) => {
    if (Object.keys(helpOf(verb)?.exits ?? {}).length > 0) verbs.push(verb);
  });
  const codes = Object.values(EXIT).sort();
  const rows = verbs.map((verb) => {
    const { exits = {} } = helpOf(verb) ?? {};
    const [, top = ""] = pathOf(verb).split(" ");
    const name = pathOf(verb).replace("email-security ", "");
    return `| [\`${name}\`](cli/${top}.md) | ${codes.map((code) => cell(exits[code] ?? "")).join(" | ")} |`;
  });
  const text = [
    `${made("provider/commands")}\n# Exit codes`,
    "Every verb of `email-security` ends with one of four codes. What a pipeline does with them: go on with 0, show and ask with 2, stop with 1 and 3.",
    ["| code | |", "|---|---|", ...codes.map((code) => `| ${code} | ${MEANS[code]} |`)].join("\n"),
    "By verb; a cell that is empty is a code with which it does not end:",
    [`| verb | ${codes.join(" | ")} |`, `|---|${codes.map(() => "---|").join("")}`, ...rows].join("\n"),
    "`pulumi preview` and `pulumi up` end as Pulumi has it: 0, or another code where anything failed.",
  ];
  return new Map([["reference/exit-codes.md", `${text.join("\n\n")}\n`]]);
}

const MEANS: Readonly<Record<(typeof EXIT)[keyof typeof EXIT], string>> = {
  [EXIT.clean]: "Nothing to do, or it is done.",
  [EXIT.error]:
    "Bad input, no connection, a failure. The error's code says which: [error codes](errors/index.md).",
  [EXIT.changes]: "There is something to do, or something was found.",
  [EXIT.refused]: "Refused by a guard, or not what was reviewed. Nothing was changed.",
};

/** What each response means, and what each scope has as a consequence. */
function responsesPage(): Pages {
  const responses = RESPONSE_CLASSES.map((one) => {
    const [, only] = /^2xx to a (\w+)/.exec(one.response) ?? [];
    const cells = ["GET", "DELETE", "POST"].map((method) =>
      only === undefined || only === method ? handlingWords(one, method) : "",
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
    `${made("provider/client/response-classification.ts")}\n# Responses and retries`,
    "One table decides what a response means, or a connection that failed in place of one. The client, the outcome checks, the rollouts and the notices use it. [Retries and outcome checks](../explanation/retries.md) explains it.",
    tableOf(["response", "GET", "PATCH, DELETE", "POST", "scope", "error code"], responses),
    "- *retry*: send the request again, up to 4 attempts, with backoff and jitter.\n- *pause, then retry*: all requests of the tenant wait as long as `Retry-After` says, or else for a backoff.\n- *outcome check*: the write may have taken effect. Read the list, and send what is missing.\n- *fail*: end with the error code.",
    "## Scopes",
    "The scope says whom a failure concerns, and what follows for other requests:",
    tableOf(
      [
        "scope",
        "concerns",
        "circuit breaker",
        "other tenants of an address",
        "`Retry-After`",
        "rest of a list",
      ],
      scopes,
    ),
  ];
  return new Map([["reference/responses.md", `${text.join("\n\n")}\n`]]);
}

function handlingWords(one: ResponseClass, method: string): string {
  const handling = handlingOf(one, method);
  return handling === "retry" && one.scope === "rate limit" ? "pause, then retry" : handling;
}

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => "---"), ...rows.map((row) => row.map(cell))];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function firstSentence(text: string): string {
  return text.split(/(?<=\.) /)[0] ?? text;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

/** Text that a table's cell can hold. Outside of code, an angle bracket would begin a tag. */
function cell(text: string): string {
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

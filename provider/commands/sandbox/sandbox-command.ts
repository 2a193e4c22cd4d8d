import { Command, InvalidArgumentError, Option } from "commander";
import { addHelp } from "../../cli/command-help";
import { sanitizeLine, sanitizeMultiline } from "../../model/text";
import type { RateLimit, RetryAfter, Sandbox, SandboxOptions } from "../../sandbox";

/**
 * `email-security sandbox`: runs a sandbox of the service on 127.0.0.1 until SIGINT or SIGTERM. An invalid option or data file is reported
 * on stderr, with exit code 1.
 */
export function createSandboxCommand(): Command {
  return addHelp(
    new Command("sandbox")
      .configureOutput({ outputError: (text, write) => write(sanitizeMultiline(text)) })
      .description("Run a local email-security service with fictional tenants, on 127.0.0.1 only")
      .option("--port <number>", "Listen on this port (default: any free one)", parsePort)
      .option(
        "--data <file>",
        "Keep the data in this SQLite file between runs (default: memory); mail is created only once, so an old file has no recent mail",
      )
      .option("--scenario <name>", 'Fill a new sandbox with "acme" or "empty" (default: "acme")')
      .option(
        "--threats <number>",
        "Set the number of threats in half a year of mail (default: the scenario's)",
        parseCount,
      )
      .option(
        "--rate-limit <rate>",
        'Limit the requests of a tenant, such as "10/s" or "90/m" (default: no limit)',
        parseRate,
      )
      .addOption(
        new Option("--retry-after <form>", "Set the form of Retry-After in a 429")
          .choices(RETRY_AFTER_FORMS)
          .default("seconds"),
      )
      .action(runSandboxCommand),
    {
      examples: [
        { purpose: "Run it with fictional tenants, until Ctrl-C", line: "sandbox" },
        {
          purpose: "Keep empty lists between runs",
          line: "sandbox --scenario empty --data sandbox.db --port 8080",
        },
        { purpose: "Test how a program handles a rate limit", line: "sandbox --rate-limit 10/s --retry-after date" },
      ],
      exits: {
        0: "It was stopped on request",
        1: "An option or a data file is invalid",
      },
    },
  );
}

interface SandboxCommandOptions extends Pick<SandboxOptions, "port" | "data" | "scenario" | "threats"> {
  rateLimit?: Pick<RateLimit, "perSecond" | "burst">;
  retryAfter: RetryAfter;
}

const RETRY_AFTER_FORMS: readonly RetryAfter[] = ["seconds", "date", "none"];

async function runSandboxCommand({ rateLimit, retryAfter, ...options }: SandboxCommandOptions): Promise<void> {
  silenceSqliteWarning();
  // Loaded here so that other commands don't load a server and a database.
  const { SandboxError, startSandbox } = await import("../../sandbox/index.js");
  let sandbox: Sandbox;
  try {
    sandbox = await startSandbox({
      ...options,
      ...(rateLimit && { rateLimit: { ...rateLimit, retryAfter } }),
    });
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    console.error(`error: ${sanitizeLine(error.message)}`);
    process.exitCode = 1;
    return;
  }
  const stopRequested = waitForStopSignal();
  console.log(formatGreeting(sandbox, options.data));
  await stopRequested;
  await sandbox.close();
}

function parsePort(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text);
  throw new InvalidArgumentError("Give a whole number from 0 to 65535.");
}

function parseCount(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Give a whole number.");
}

/** Parses a rate: `90/m` allows bursts of 90 requests and refills 1.5 tokens per second. */
function parseRate(text: string): Pick<RateLimit, "perSecond" | "burst"> {
  const [, number = "0", unit] = /^([1-9]\d{0,6})\/([sm])$/.exec(text) ?? [];
  if (unit === undefined) throw new InvalidArgumentError('Give a number per second or minute: "10/s", "90/m".');
  const burst = Number(number);
  return { perSecond: unit === "s" ? burst : burst / 60, burst };
}

function formatGreeting({ url, tenants }: Sandbox, data: string | undefined): string {
  const getWidth = (texts: string[]) => Math.max(...texts.map((text) => text.length));
  const nameWidth = getWidth(tenants.map(({ name }) => name));
  const keyWidth = getWidth(tenants.map(({ apiKeys }) => apiKeys.ci));
  const keys = tenants.map(
    ({ name, apiKeys: { ci, console } }) => `  ${name.padEnd(nameWidth)}  ${ci.padEnd(keyWidth)}  ${console}`,
  );
  return [
    `The sandbox listens on ${url} and stores its data in ${sanitizeLine(data ?? "memory")}.`,
    "",
    "Its tenants, each with a key for a pipeline and one for a colleague:",
    ...keys,
    "",
    "Point a program at it:",
    `  export EMAIL_SECURITY_BASE_URL=${url} EMAIL_SECURITY_API_KEY=${tenants[0]?.apiKeys.ci}`,
    "",
    "Press Ctrl-C to stop it.",
  ].join("\n");
}

function waitForStopSignal(): Promise<void> {
  return new Promise((resolve) => {
    process.once("SIGINT", () => resolve());
    process.once("SIGTERM", () => resolve());
  });
}

/** Node warns that its SQLite module is experimental, but users of this command can't act on that. */
function silenceSqliteWarning(): void {
  const emitWarning = process.emitWarning;
  process.emitWarning = ((warning: string | Error, ...otherArguments: []) => {
    const isSqlite = String(warning).includes("SQLite is an experimental feature");
    if (!isSqlite) emitWarning.call(process, warning, ...otherArguments);
  }) as typeof process.emitWarning;
}

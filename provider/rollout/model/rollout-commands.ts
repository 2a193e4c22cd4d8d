import { replacePassword } from "../../model/secrets";
import { quoteShellWord } from "../../model/shell-word";
import { MODE_TEXTS, type RolloutMode } from "./rollout-mode";
import type { Target } from "./target";

/**
 * Builds the shell commands that messages suggest. Each works as printed, in the directory where the rollout was started. All advice about
 * rollouts takes its commands from here.
 */
export class RolloutCommands {
  readonly #database: string;
  readonly #program: string;

  /**
   * @param database the journal from `--database`, which the next command must repeat.
   * @param program the command with which the user runs the CLI.
   */
  constructor(database?: string, program = "email-security") {
    this.#program = program;
    this.#database =
      database === undefined ? "" : ` --database ${quoteShellWord(replacePassword(database, "PASSWORD"))}`;
  }

  plan(source: string, names: readonly string[] = [], mode?: RolloutMode): string {
    const modeOption = mode === undefined ? "" : ` ${MODE_TEXTS[mode].option}`;
    return this.#command(
      `${quoteShellWord(source.startsWith("-") ? `./${source}` : source)}${formatOnlyOption(names)}${modeOption}`,
    );
  }

  resume(id: string): string {
    return this.#command(`resume ${id}`);
  }

  status(id: string): string {
    return this.#command(`status ${id}`);
  }

  show(id: string): string {
    return this.#command(`show ${id}`);
  }

  rollback(id: string, to?: string): string {
    return this.#command(`rollback ${id}${to === undefined ? "" : ` --to ${quoteShellWord(to)}`}`);
  }

  skip(names: readonly string[], source: string): string {
    return this.#command(
      `skip ${names.map(quoteShellWord).join(" ")} --reason 'the reason'${formatTargetsOption(source)}`,
    );
  }

  /** Ends the skip of tenants. @param source the targets file. */
  unskip(names: readonly string[], source: string): string {
    return this.#command(`unskip ${names.map(quoteShellWord).join(" ")}${formatTargetsOption(source)}`);
  }

  stop(id: string): string {
    return this.#command(`stop ${id}`);
  }

  abandon(id: string): string {
    return this.#command(`abandon ${id}`);
  }

  /** Shows the status of all or some tenants. @param source the targets file. */
  fleetStatus(source: string, names: readonly string[] = []): string {
    return `${this.#program} fleet status${formatTargetsOption(source)}${formatOnlyOption(names)}${this.#database}`;
  }

  /** Assigns the former stack to a tenant that was renamed in the targets file. @param source the targets file. */
  renameTenant(stack: string, name: string, source: string): string {
    return `${this.#program} tenant rename ${quoteShellWord(stack)} ${quoteShellWord(name)}${formatTargetsOption(source)}${this.#database}`;
  }

  /**
   * Adopts the entries that were added at the tenant into its settings file. Undefined if its key is not in a variable.
   */
  adopt({ baseUrl, key, settings, allowInsecureHttp }: Target): string | undefined {
    if (key.from !== "environment" || !/^[A-Za-z_]\w*$/.test(key.variable) || allowInsecureHttp) return undefined;
    const connection = `EMAIL_SECURITY_BASE_URL=${quoteShellWord(baseUrl)} EMAIL_SECURITY_API_KEY="$${key.variable}"`;
    return `${connection} ${this.#program} drift ${quoteShellWord(settings)} --adopt added`;
  }

  #command(subcommand: string): string {
    return `${this.#program} rollout ${subcommand}${this.#database}`;
  }
}

function formatOnlyOption(names: readonly string[]): string {
  return names.length === 0 ? "" : ` --only ${names.map(quoteShellWord).join(" ")}`;
}

function formatTargetsOption(source: string): string {
  return source === "tenants.yaml" ? "" : ` --targets ${quoteShellWord(source)}`;
}

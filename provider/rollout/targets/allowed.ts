import { delimiter, dirname, resolve } from "node:path";
import { parse } from "yaml";
import { ConfigurationError } from "../../client";
import { isLoopback } from "../../client/address";
import { allowedServices, isServiceOf, SERVICES } from "../../client/allowed-services";
import { isOutside, realPath } from "../../files/repository";
import { leanEnvironment } from "../../machine/child-environment";
import { quote } from "../../settings/text";
import type { Target } from "../model/target";
import type { HealthCheck } from "../model/wave";
import { named } from "./placeholders";

/*
 * What a targets file says is data: whoever opens a pull request can write it, and a journal may have been written by others
 * too. Nothing in it makes a program run, or a secret leave, unless whoever starts the run allows it by the environment.
 */

type Environment = Readonly<Record<string, string | undefined>>;

/** The variables by which whoever starts a run allows what a targets file asks for. */
export const ALLOWING = {
  service: SERVICES,
  environment: "EMAIL_SECURITY_KEY_VARIABLES",
  file: "EMAIL_SECURITY_KEY_FILES",
  command: "EMAIL_SECURITY_COMMANDS",
} as const;

/** What of the environment commands are given beside what every program needs. */
const COMMAND_VARIABLES = "EMAIL_SECURITY_COMMAND_VARIABLES";

/** Variables that hold keys of this service by their very name; any other has to be named by the run. */
const KEYS_BY_NAME = ["EMAIL_SECURITY_API_KEY", "EMAIL_SECURITY_API_KEY_*"];

/** Something that a run does not allow. */
export interface Refused {
  /** By which variable it could be allowed. */
  readonly by: keyof typeof ALLOWING;
  /** What is refused, as the variable would have to name it. */
  readonly what: string;
  /** The words for it: `the environment variable ACME_KEY`. */
  readonly told: string;
}

/** What a run allows, as its environment says. */
export class Allowed {
  readonly #services: readonly string[] | undefined;
  readonly #variables: readonly string[];
  readonly #folders: readonly string[];
  readonly #commands: readonly (readonly string[])[];

  /** @throws {ConfigurationError} that names the variable which can't be read. */
  constructor(environment: Environment) {
    this.#services = allowedServices(environment);
    this.#variables = [...KEYS_BY_NAME, ...patternsIn(ALLOWING.environment, environment)];
    this.#folders = foldersIn(environment);
    this.#commands = commandsIn(environment);
  }

  /** What of a tenant's address and the source of its key is not allowed. */
  refusedOf({ name, baseUrl, key }: Pick<Target, "name" | "baseUrl" | "key">): readonly Refused[] {
    const refused: Refused[] = [];
    if (!this.#isService(baseUrl)) {
      refused.push({ by: "service", what: baseUrl, told: `the address ${quote(baseUrl, 300)}` });
    }
    if (key.from === "environment") {
      const { variable } = key;
      const told = `the environment variable ${variable}`;
      if (!isNamed(variable, this.#variables)) refused.push({ by: "environment", what: variable, told });
    } else if (key.from === "file") {
      const path = resolve(key.path);
      const leadsTo = realPath(path);
      if (!this.#folders.some((folder) => !isOutside(folder, leadsTo))) {
        // A mounted secret is a link into its own folder, which has another name each day.
        const what = isOutside(realPath(dirname(path)), leadsTo) ? leadsTo : path;
        refused.push({ by: "file", what, told: `the file ${quote(key.path, 300)}` });
      }
    } else refused.push(...this.refusedCommand(key.command, name));
    return refused;
  }

  /**
   * Why a command may not be run; empty when it may.
   *
   * @param name the tenant whose key it prints; absent: it is of no tenant.
   */
  refusedCommand(command: readonly string[], name?: string): readonly Refused[] {
    const isAllowed = this.#commands.some(
      (allowed) =>
        allowed.length === command.length &&
        allowed.every((word, index) => (name === undefined ? word : named(word, name)) === command[index]),
    );
    const what = JSON.stringify(command);
    return isAllowed ? [] : [{ by: "command", what, told: `the command ${quote(what, 300)}` }];
  }

  /** The same of a wave's health check. */
  refusedHealth({ command }: HealthCheck): readonly Refused[] {
    return command === undefined ? [] : this.refusedCommand(command);
  }

  #isService(baseUrl: string): boolean {
    // What is sent to this machine leaves nobody's hands.
    if (this.#services === undefined) return isLoopback(URL.parse(baseUrl)?.hostname ?? "");
    return isServiceOf(this.#services, baseUrl);
  }
}

/**
 * The environment of a command of a targets file: what every program needs and what the run names for commands, and nobody's
 * key.
 *
 * @throws {ConfigurationError} when what the run names can't be read.
 */
export function commandEnvironment(environment: Environment): NodeJS.ProcessEnv {
  const given = patternsIn(COMMAND_VARIABLES, environment);
  const keys = [...KEYS_BY_NAME, ...patternsIn(ALLOWING.environment, environment)];
  const named = Object.entries(environment).filter(([name]) => isNamed(name, given));
  const all = Object.entries({ ...leanEnvironment(environment), ...Object.fromEntries(named) });
  return Object.fromEntries(all.filter(([name, value]) => value !== undefined && !isNamed(name, keys)));
}

function isNamed(variable: string, patterns: readonly string[]): boolean {
  return patterns.some((one) =>
    one.endsWith("*")
      ? variable.startsWith(one.slice(0, -1)) && variable !== one.slice(0, -1)
      : variable === one,
  );
}

/** Names of variables, and beginnings of such with a * at the end. */
function patternsIn(variable: string, environment: Environment): readonly string[] {
  const patterns = environment[variable]?.split(/[\s,]+/).filter((one) => one !== "") ?? [];
  const wrong = patterns.find((one) => !/^[A-Za-z_]\w*\*?$/.test(one));
  if (wrong === undefined) return patterns;
  throw new ConfigurationError(
    `${variable} holds ${quote(wrong)}; write names of variables, with commas between them, each whole or with a * at its end, as in TENANT_KEY_*.`,
  );
}

/** Folders, and single files. */
function foldersIn(environment: Environment): readonly string[] {
  const folders = environment[ALLOWING.file]?.split(delimiter).filter((one) => one !== "") ?? [];
  return folders.map((one) => realPath(resolve(one)));
}

/** A line a command, written as in the targets file. */
function commandsIn(environment: Environment): readonly (readonly string[])[] {
  const lines = environment[ALLOWING.command]?.split("\n").filter((line) => line.trim() !== "") ?? [];
  return lines.map((line) => {
    let command: unknown;
    try {
      command = parse(line);
    } catch {
      command = undefined;
    }
    if (isCommand(command)) return command;
    throw new ConfigurationError(
      `${ALLOWING.command} holds a line that is no command; write each on a line of its own as it stands in the targets file, as [vault, read, -field=key, "secret/{name}"].`,
    );
  });
}

function isCommand(parsed: unknown): parsed is readonly string[] {
  return Array.isArray(parsed) && parsed.length > 0 && parsed.every((word) => typeof word === "string");
}

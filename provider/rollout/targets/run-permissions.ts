import { delimiter, dirname, resolve } from "node:path";
import { parse } from "yaml";
import { ConfigurationError } from "../../client";
import { ALLOWED_SERVICES_VARIABLE, isAllowedService, parseAllowedServices } from "../../client/allowed-services";
import { isLoopback } from "../../client/base-url";
import { quote } from "../../model/text";
import { isOutsideDirectory, resolveLinks } from "../../settings-files/repository";
import { minimalEnv } from "../../system/child-environment";
import type { Target } from "../model/target";
import type { HealthCheck } from "../model/wave";
import { fillPlaceholders } from "./placeholders";

/*
 * The contents of a targets file are untrusted: anyone who opens a pull request can write them, and others may have written the journal.
 * They can't run a program or disclose a secret unless the person who starts the run allows it in the environment.
 */

type Environment = Readonly<Record<string, string | undefined>>;

/** The environment variables in which the person who starts a run allows requests of a targets file. */
export const PERMISSION_VARIABLES = {
  service: ALLOWED_SERVICES_VARIABLE,
  environment: "EMAIL_SECURITY_KEY_VARIABLES",
  file: "EMAIL_SECURITY_KEY_FILES",
  command: "EMAIL_SECURITY_COMMANDS",
} as const;

/** Names the environment variables that commands get, in addition to those that every program needs. */
const COMMAND_VARIABLES_VARIABLE = "EMAIL_SECURITY_COMMAND_VARIABLES";

/** Variables that hold keys of this service, according to their names. The run has to name any others. */
const KEY_VARIABLE_PATTERNS = ["EMAIL_SECURITY_API_KEY", "EMAIL_SECURITY_API_KEY_*"];

export interface DisallowedItem {
  readonly kind: keyof typeof PERMISSION_VARIABLES;
  readonly value: string;
  readonly description: string;
}

export class RunPermissions {
  readonly #services: readonly string[] | undefined;
  readonly #variables: readonly string[];
  readonly #directories: readonly string[];
  readonly #commands: readonly (readonly string[])[];

  /** @throws {ConfigurationError} that names the invalid variable. */
  constructor(environment: Environment) {
    this.#services = parseAllowedServices(environment);
    this.#variables = [...KEY_VARIABLE_PATTERNS, ...parsePatterns(PERMISSION_VARIABLES.environment, environment)];
    this.#directories = parseDirectories(environment);
    this.#commands = parseCommands(environment);
  }

  /** Lists the parts of a tenant's address and key source that the run doesn't allow. */
  validateTarget({ name, baseUrl, key }: Pick<Target, "name" | "baseUrl" | "key">): readonly DisallowedItem[] {
    const disallowedItems: DisallowedItem[] = [];
    if (!this.#isService(baseUrl)) {
      disallowedItems.push({
        kind: "service",
        value: baseUrl,
        description: `the address ${quote(baseUrl, 300)}`,
      });
    }
    if (key.from === "environment") {
      const { variable } = key;
      const description = `the environment variable ${variable}`;
      if (!matchesPattern(variable, this.#variables))
        disallowedItems.push({ kind: "environment", value: variable, description });
    } else if (key.from === "file") {
      const path = resolve(key.path);
      const realTarget = resolveLinks(path);
      if (!this.#directories.some((directory) => !isOutsideDirectory(directory, realTarget))) {
        // A mounted secret is a link into a subdirectory next to it, whose name changes with each update.
        const value = isOutsideDirectory(resolveLinks(dirname(path)), realTarget) ? realTarget : path;
        disallowedItems.push({ kind: "file", value, description: `the file ${quote(key.path, 300)}` });
      }
    } else disallowedItems.push(...this.validateCommand(key.command, name));
    return disallowedItems;
  }

  /**
   * Explains why a command may not run. Empty if it may.
   *
   * @param name the tenant whose key the command prints; absent: the command belongs to no tenant.
   */
  validateCommand(command: readonly string[], name?: string): readonly DisallowedItem[] {
    const isAllowed = this.#commands.some(
      (allowedCommand) =>
        allowedCommand.length === command.length &&
        allowedCommand.every(
          (word, index) => (name === undefined ? word : fillPlaceholders(word, name)) === command[index],
        ),
    );
    const value = JSON.stringify(command);
    return isAllowed ? [] : [{ kind: "command", value, description: `the command ${quote(value, 300)}` }];
  }

  /** Explains why the command of a wave's health check may not run. Empty if it may. */
  validateHealthCheck({ command }: HealthCheck): readonly DisallowedItem[] {
    return command === undefined ? [] : this.validateCommand(command);
  }

  #isService(baseUrl: string): boolean {
    // Requests to this machine disclose nothing to anybody else.
    if (this.#services === undefined) return isLoopback(URL.parse(baseUrl)?.hostname ?? "");
    return isAllowedService(this.#services, baseUrl);
  }
}

/**
 * Builds the environment of a targets file's command: the variables that every program needs, and those that the run names for commands,
 * but no keys.
 *
 * @throws {ConfigurationError} if the names are invalid.
 */
export function buildCommandEnvironment(environment: Environment): NodeJS.ProcessEnv {
  const allowedPatterns = parsePatterns(COMMAND_VARIABLES_VARIABLE, environment);
  const keyPatterns = [...KEY_VARIABLE_PATTERNS, ...parsePatterns(PERMISSION_VARIABLES.environment, environment)];
  const allowedVariables = Object.entries(environment).filter(([name]) => matchesPattern(name, allowedPatterns));
  const variables = Object.entries({
    ...minimalEnv(environment),
    ...Object.fromEntries(allowedVariables),
  });
  return Object.fromEntries(
    variables.filter(([name, value]) => value !== undefined && !matchesPattern(name, keyPatterns)),
  );
}

function matchesPattern(variable: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) =>
    pattern.endsWith("*")
      ? variable.startsWith(pattern.slice(0, -1)) && variable !== pattern.slice(0, -1)
      : variable === pattern,
  );
}

/** Parses names of variables, or prefixes with a trailing `*`. */
function parsePatterns(variable: string, environment: Environment): readonly string[] {
  const patterns = environment[variable]?.split(/[\s,]+/).filter((pattern) => pattern !== "") ?? [];
  const invalid = patterns.find((pattern) => !/^[A-Za-z_]\w*\*?$/.test(pattern));
  if (invalid === undefined) return patterns;
  throw new ConfigurationError(
    `${variable} contains ${quote(invalid)}; write names of variables, separated by commas, each complete or with a * at its end, such as TENANT_KEY_*.`,
  );
}

function parseDirectories(environment: Environment): readonly string[] {
  const directories =
    environment[PERMISSION_VARIABLES.file]?.split(delimiter).filter((directory) => directory !== "") ?? [];
  return directories.map((directory) => resolveLinks(resolve(directory)));
}

/** Parses one command per line, in the syntax of the targets file. */
function parseCommands(environment: Environment): readonly (readonly string[])[] {
  const lines = environment[PERMISSION_VARIABLES.command]?.split("\n").filter((line) => line.trim() !== "") ?? [];
  return lines.map((line) => {
    let command: unknown;
    try {
      command = parse(line);
    } catch {
      command = undefined;
    }
    if (isCommand(command)) return command;
    throw new ConfigurationError(
      `${PERMISSION_VARIABLES.command} contains a line that isn't a command; write each on its own line as in the targets file, such as [vault, read, -field=key, "secret/{name}"].`,
    );
  });
}

function isCommand(parsed: unknown): parsed is readonly string[] {
  return Array.isArray(parsed) && parsed.length > 0 && parsed.every((word) => typeof word === "string");
}

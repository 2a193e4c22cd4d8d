import { existsSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { readRegularFile } from "../../system/regular-file";

/** The settings of a Pulumi project that affect plugins and previews. */
export interface PulumiProject {
  /** The file name: `Pulumi.yaml`. */
  readonly file: string;
  /** The directory of the file. The engine resolves relative paths from here. */
  readonly directory: string;
  readonly text: string;
  readonly runtime: string;
  /** The directory or file of the program, if specified. */
  readonly main: string | undefined;
  /** The raw value of `options.refresh`. */
  readonly refresh: unknown;
  /** The list `plugins.providers`. Undefined if it does not exist. */
  readonly providers: readonly PluginEntry[] | undefined;
  readonly hasPlugins: boolean;
  /** The `packages` section, by package name. */
  readonly packages: Readonly<Record<string, string>>;
}

/** An element of `plugins.providers`. */
export interface PluginEntry {
  readonly name: string;
  readonly path: string;
}

/** The project file names, in the engine's lookup order. */
export const PROJECT_FILES: readonly string[] = ["Pulumi.json", "Pulumi.yaml", "Pulumi.yml"];

/**
 * Finds the Pulumi project of a directory or of its closest parent. Undefined if no project exists.
 *
 * @throws {Error} if the file can't be read, or does not contain a valid project in YAML.
 */
export function findProject(start: string): PulumiProject | undefined {
  const location = findProjectFile(start);
  return location && readProject(location.directory, location.file);
}

/**
 * Returns whether Pulumi can read the project file. Pulumi opens any kind of file, and a pipe without a writer blocks
 * it forever.
 */
export function isProjectReadable(start: string): boolean {
  const location = findProjectFile(start);
  return location === undefined || statSync(join(location.directory, location.file)).isFile();
}

function findProjectFile(start: string): { readonly directory: string; readonly file: string } | undefined {
  for (let directory = resolve(start); ; directory = dirname(directory)) {
    const file = PROJECT_FILES.find((name) => existsSync(join(directory, name)));
    if (file !== undefined) return { directory, file };
    if (dirname(directory) === directory) return undefined;
  }
}

const packageSourceSchema = z.union([z.string(), z.looseObject({ source: z.string() })]);
const pluginEntrySchema = z.looseObject({ name: z.string().default(""), path: z.string().default("") });
const projectFileSchema = z.looseObject({
  runtime: z.union([z.string(), z.looseObject({ name: z.string() })]),
  main: z.string().optional(),
  options: z.looseObject({ refresh: z.unknown() }).nullish(),
  plugins: z.looseObject({ providers: z.array(pluginEntrySchema).nullish() }).nullish(),
  packages: z.record(z.string(), packageSourceSchema).nullish(),
});

function readProject(directory: string, file: string): PulumiProject {
  const text = readRegularFile(join(directory, file)).toString("utf8");
  const { runtime, main, options, plugins, packages } = projectFileSchema.parse(parse(text));
  return {
    file,
    directory,
    text,
    runtime: typeof runtime === "string" ? runtime : runtime.name,
    main,
    refresh: options?.refresh,
    // An empty key counts as an empty list.
    providers: plugins?.providers === null ? [] : plugins?.providers,
    hasPlugins: plugins !== undefined,
    packages: Object.fromEntries(
      Object.entries(packages ?? {}).map(([name, source]) => [
        name,
        typeof source === "string" ? source : source.source,
      ]),
    ),
  };
}

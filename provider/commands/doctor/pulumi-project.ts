import { existsSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parse } from "yaml";
import { z } from "zod";
import { readPlainFile } from "../../machine/plain-file";

/** What a Pulumi.yaml says that has to do with plugins and previews. */
export interface PulumiProject {
  /** Its name: `Pulumi.yaml`. */
  readonly file: string;
  /** Its folder, from which the engine takes the paths in it. */
  readonly folder: string;
  readonly text: string;
  readonly runtime: string;
  /** The program's folder or file, where it says so. */
  readonly main: string | undefined;
  /** `options.refresh`, whatever it is. */
  readonly refresh: unknown;
  /** `plugins.providers`; undefined where there is no such list. */
  readonly providers: readonly PluginEntry[] | undefined;
  readonly hasPlugins: boolean;
  /** `packages`, by their name. */
  readonly packages: Readonly<Record<string, string>>;
}

/** One of `plugins.providers`. */
export interface PluginEntry {
  readonly name: string;
  readonly path: string;
}

/** In the order in which the engine looks for them. */
export const PROJECT_FILES: readonly string[] = ["Pulumi.json", "Pulumi.yaml", "Pulumi.yml"];

/**
 * The Pulumi project of a folder: its own, or that of the nearest folder above. Undefined when there is none.
 *
 * @throws {Error} when its file can't be read, or is no YAML with what a project has.
 */
export function findProject(start: string): PulumiProject | undefined {
  const location = findProjectFile(start);
  return location && readProject(location.folder, location.file);
}

/** Whether Pulumi can read the project's file. It reads whatever is there, and waits for ever for the writer of a pipe. */
export function isProjectReadable(start: string): boolean {
  const location = findProjectFile(start);
  return location === undefined || statSync(join(location.folder, location.file)).isFile();
}

function findProjectFile(start: string): { readonly folder: string; readonly file: string } | undefined {
  for (let directory = resolve(start); ; directory = dirname(directory)) {
    const file = PROJECT_FILES.find((name) => existsSync(join(directory, name)));
    if (file !== undefined) return { folder: directory, file };
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
  const text = readPlainFile(join(directory, file)).toString("utf8");
  const { runtime, main, options, plugins, packages } = projectFileSchema.parse(parse(text));
  return {
    file,
    folder: directory,
    text,
    runtime: typeof runtime === "string" ? runtime : runtime.name,
    main,
    refresh: options?.refresh,
    // A key with nothing below it is there all the same.
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

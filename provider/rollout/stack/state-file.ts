import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { omitUndefined } from "../../model/omit-undefined";
import type { StackLists } from "../../plan/desired-state";
import { findOnlyTenantSettings } from "../../plan/exported-stack";
import { PulumiError } from "../../plan/pulumi-cli";
import { parseStackLists } from "../../plan/stack-lists";
import { readRegularFile } from "../../system/regular-file";
import { readStackMarker, type StackMarker } from "../model/stack-marker";
import type { Target } from "../model/target";
import type { StackFiles } from "./repair-file-backend";

/** The required parts of a state that the CLI has written. Other formats are left to the CLI. */
const checkpointSchema = z.object({
  version: z.literal(3),
  checkpoint: z.object({
    latest: z.looseObject({
      resources: z.array(z.looseObject({ urn: z.string(), type: z.string() })).nullish(),
      pending_operations: z.array(z.unknown()).nullish(),
    }),
  }),
});

/** URLs and names that map to a path without any special rules of the CLI. */
const PLAIN_ADDRESS = /^file:\/\/(\/(?:[\p{L}\p{M}\p{N}_./+@,=-]| (?!$))+)$/u;
const PLAIN_NAME = /^\w[\w.-]*$/;

/**
 * Reads a stack's state from its file, in the format of `pulumi stack export`. The CLI replaces the file atomically. Starting the CLI
 * instead would cost more than all other reads of a tenant. Secret values stay encrypted.
 *
 * @returns undefined if the CLI might print something else. The caller must then run it.
 */
export function readStateFile({ backend, project, stack }: StackFiles): NonNullable<unknown> | undefined {
  const directory = PLAIN_ADDRESS.exec(backend ?? "")?.[1];
  if (directory === undefined || ![project, stack].every((name) => PLAIN_NAME.test(name))) return undefined;
  const file = join(directory, ".pulumi", "stacks", project, `${stack}.json`);
  // The CLI uses the newest of these files.
  if ([".gz", ".zst"].some((extension) => existsSync(`${file}${extension}`))) return undefined;
  try {
    const layout = readRegularFile(join(directory, ".pulumi", "meta.yaml")).toString("utf8");
    if (layout.trim() !== "version: 1") return undefined;
    const state: unknown = JSON.parse(readRegularFile(file).toString("utf8"));
    if (!checkpointSchema.safeParse(state).success) return undefined;
    const {
      version,
      checkpoint: { latest: deployment },
    } = state as z.infer<typeof checkpointSchema>;
    return { version, deployment };
  } catch {
    return undefined;
  }
}

/** Reads the marker in a stack's state file. Undefined if it has none, or if no readable file contains the state. */
export function readMarkerFile(files: StackFiles): StackMarker | undefined {
  return readStackMarker(readStateFile(files));
}

/** Reads the last run's results from a stack's state file. Undefined if the CLI must be run instead. */
export function readStateFromFile(
  { name, stack, resource }: Pick<Target, "name" | "stack" | "resource">,
  backendFiles: Omit<StackFiles, "stack">,
): { readonly exists: boolean; readonly lists?: StackLists; readonly marker?: StackMarker } | undefined {
  const state = readStateFile({ ...backendFiles, stack });
  if (state === undefined) return isStateFileMissing({ ...backendFiles, stack }) ? { exists: false } : undefined;
  try {
    const lists = parseStackLists(state, stack, resource ?? findOnlyTenantSettings(state) ?? name);
    return { exists: true, lists, ...omitUndefined({ marker: readStackMarker(state) }) };
  } catch (error) {
    if (error instanceof PulumiError) return undefined;
    throw error;
  }
}

export function listStackNames({ backend, project }: Omit<StackFiles, "stack">): readonly string[] {
  const directory = PLAIN_ADDRESS.exec(backend ?? "")?.[1];
  if (directory === undefined || !PLAIN_NAME.test(project)) return [];
  try {
    const files = readdirSync(join(directory, ".pulumi", "stacks", project));
    return files.flatMap((file) => /^(\w[\w.-]*)\.json$/.exec(file)?.[1] ?? []);
  } catch {
    return [];
  }
}

/** Whether a plain directory backend certainly has no state of a stack. */
function isStateFileMissing({ backend, project, stack }: StackFiles): boolean {
  const directory = PLAIN_ADDRESS.exec(backend ?? "")?.[1];
  if (directory === undefined || ![project, stack].every((name) => PLAIN_NAME.test(name))) return false;
  if (!existsSync(directory)) return false;
  const stateDirectory = join(directory, ".pulumi");
  if (!existsSync(stateDirectory)) return true;
  const file = join(stateDirectory, "stacks", project, `${stack}.json`);
  if (["", ".gz", ".zst"].some((extension) => existsSync(`${file}${extension}`))) return false;
  try {
    return readRegularFile(join(stateDirectory, "meta.yaml")).toString("utf8").trim() === "version: 1";
  } catch {
    return false;
  }
}

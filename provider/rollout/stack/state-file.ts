import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { readPlainFile } from "../../machine/plain-file";
import type { KnownLists } from "../../plan/desired";
import { PulumiError } from "../../plan/pulumi";
import { onlySettings } from "../../plan/stack-holds";
import { knownLists } from "../../plan/stack-state";
import { withoutUndefined } from "../../settings/without-undefined";
import { readStackMarker, type StackMarker } from "../model/stack-marker";
import type { Target } from "../model/target";
import type { StackFiles } from "./torn-files";

/** A state as the CLI writes it, as far as it is to be looked at. What is of another form, the CLI reads or refuses. */
const checkpoint = z.object({
  version: z.literal(3),
  checkpoint: z.object({
    latest: z.looseObject({
      resources: z.array(z.looseObject({ urn: z.string(), type: z.string() })).nullish(),
      pending_operations: z.array(z.unknown()).nullish(),
    }),
  }),
});

/** An address, and names, of which a path is made without any rule of the CLI's. */
const PLAIN_ADDRESS = /^file:\/\/(\/[\w./+@,=-]+)$/;
const PLAIN_NAME = /^\w[\w.-]*$/;

/**
 * The state of a stack as `pulumi stack export` prints it, from the file that holds it, which the CLI replaces as a whole: without a
 * process, which costs more than all else that is read of a tenant. Values that are secret stay encrypted.
 *
 * @returns undefined wherever it is not plain that the CLI would print this: where it is to be asked.
 */
export function readStateFile({ backend, project, stack }: StackFiles): NonNullable<unknown> | undefined {
  const folder = PLAIN_ADDRESS.exec(backend ?? "")?.[1];
  if (folder === undefined || ![project, stack].every((name) => PLAIN_NAME.test(name))) return undefined;
  const file = join(folder, ".pulumi", "stacks", project, `${stack}.json`);
  // The CLI takes the newest of them.
  if ([".gz", ".zst"].some((extension) => existsSync(`${file}${extension}`))) return undefined;
  try {
    // The layout in which a stack is of a project.
    const layout = readPlainFile(join(folder, ".pulumi", "meta.yaml")).toString("utf8");
    if (layout.trim() !== "version: 1") return undefined;
    const state: unknown = JSON.parse(readPlainFile(file).toString("utf8"));
    if (!checkpoint.safeParse(state).success) return undefined;
    const {
      version,
      checkpoint: { latest: deployment },
    } = state as z.infer<typeof checkpoint>;
    return { version, deployment };
  } catch {
    return undefined;
  }
}

/** What the file of a stack tells of its last run; undefined wherever the CLI would have to be asked. */
export function readStackState(
  { name, stack, resource }: Pick<Target, "name" | "stack" | "resource">,
  place: Omit<StackFiles, "stack">,
): { readonly isThere: boolean; readonly known?: KnownLists; readonly marker?: StackMarker } | undefined {
  const state = readStateFile({ ...place, stack });
  if (state === undefined) return isMissing({ ...place, stack }) ? { isThere: false } : undefined;
  try {
    const known = knownLists(state, stack, resource ?? onlySettings(state) ?? name);
    return { isThere: true, known, ...withoutUndefined({ marker: readStackMarker(state) }) };
  } catch (error) {
    if (error instanceof PulumiError) return undefined;
    throw error;
  }
}

/** The stacks of a project whose states a directory holds plainly, as far as they can be listed. */
export function stackNames({ backend, project }: Omit<StackFiles, "stack">): readonly string[] {
  const folder = PLAIN_ADDRESS.exec(backend ?? "")?.[1];
  if (folder === undefined || !PLAIN_NAME.test(project)) return [];
  try {
    const files = readdirSync(join(folder, ".pulumi", "stacks", project));
    return files.flatMap((file) => /^(\w[\w.-]*)\.json$/.exec(file)?.[1] ?? []);
  } catch {
    return [];
  }
}

/** Whether a directory that holds states plainly has none of a stack. */
function isMissing({ backend, project, stack }: StackFiles): boolean {
  const folder = PLAIN_ADDRESS.exec(backend ?? "")?.[1];
  if (folder === undefined || ![project, stack].every((name) => PLAIN_NAME.test(name))) return false;
  if (!existsSync(folder)) return false;
  const states = join(folder, ".pulumi");
  if (!existsSync(states)) return true;
  const file = join(states, "stacks", project, `${stack}.json`);
  if (["", ".gz", ".zst"].some((extension) => existsSync(`${file}${extension}`))) return false;
  try {
    return readPlainFile(join(states, "meta.yaml")).toString("utf8").trim() === "version: 1";
  } catch {
    return false;
  }
}

import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { parse } from "yaml";
import { quote } from "../../model/text";
import { readRegularFile } from "../../system/regular-file";
import { validateName } from "./name-schema";
import type { ParsedTargetsFile } from "./targets-file-reader";
import type { TargetsFindings } from "./targets-findings";

const DEFAULT_PROJECT = "email-security";

/**
 * Returns the Pulumi project of all stacks: the name in the targets file, or else the name of the project next to it.
 */
export function resolveProjectName({ source, content }: ParsedTargetsFile, findings: TargetsFindings): string {
  if (content.project !== undefined) return content.project;
  const directory = dirname(source.file);
  const file = ["Pulumi.yaml", "Pulumi.yml"]
    .map((candidate) => join(directory, candidate))
    .find((candidate) => existsSync(candidate));
  if (file === undefined) return DEFAULT_PROJECT;
  const name = readProjectName(file);
  if (name !== undefined) return name;
  const message = `has no valid Pulumi project name, which is needed because ${quote(source.file)} has no \`project\`; write it in one of the two`;
  findings.addError("project", message, { file, line: 1, column: 1 });
  return DEFAULT_PROJECT;
}

/** Undefined if the project has no valid name. */
function readProjectName(file: string): string | undefined {
  try {
    const content: unknown = parse(readRegularFile(file).toString("utf8"));
    const { name } = content as { readonly name?: unknown };
    return typeof name === "string" && validateName(name) === undefined ? name : undefined;
  } catch {
    return undefined;
  }
}

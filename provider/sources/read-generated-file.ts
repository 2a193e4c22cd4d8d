import { existsSync } from "node:fs";
import { EmailSecurityError } from "../model/email-security-error";
import { quote } from "../model/text";
import { createFileReader } from "../settings-files/read-yaml-file";
import { createOutsideRepositoryTest, isHiddenFile } from "../settings-files/repository";
import type { YamlReader } from "../settings-files/yaml-source";
import { SourceError } from "./source-content";
import { parseSourceFile } from "./source-file";
import type { SourceTarget } from "./source-targets";

/** The content of a generated file. Undefined if the file doesn't exist. */
export type PreviousFile = ReturnType<typeof parseSourceFile> | undefined;

/** The text and the content of a generated file before the sync, or the error that keeps it from being used. */
export interface GeneratedFileReading {
  readonly before?: string | undefined;
  readonly previous?: PreviousFile;
  readonly error?: EmailSecurityError;
}

/** Reads the generated file of a source. */
export function readGeneratedFile(target: SourceTarget, readYaml: YamlReader): GeneratedFileReading {
  try {
    const before = readGeneratedText(target);
    return { before, previous: before === undefined ? undefined : parseSourceFile(before, target, readYaml) };
  } catch (error) {
    if (error instanceof EmailSecurityError) return { error };
    throw error;
  }
}

function readGeneratedText({ name, file, location }: SourceTarget): string | undefined {
  // A link in the repository must not let a sync write elsewhere.
  if (createOutsideRepositoryTest(location.file)(file)) {
    throw new SourceError(
      `The file ${quote(file, 300)} of the source ${name} is outside its repository. Remove the link.`,
    );
  }
  if (isHiddenFile(location.file, file)) {
    throw new SourceError(
      `The file ${quote(file, 300)} of the source ${name} is in a hidden directory. Remove the link.`,
    );
  }
  return existsSync(file) ? createFileReader(location.file)(file) : undefined;
}

/** Returns the values of a generated file; if it can't be used, those that the settings take from it. */
export function listGeneratedValues({ file, tenants }: SourceTarget, reading: GeneratedFileReading): string[] {
  if (reading.error === undefined) return (reading.previous?.elements ?? []).map(({ value }) => value);
  return tenants.flatMap(({ entries, vips }) => [
    ...entries.filter(({ location }) => location.file === file).map(({ value }) => value),
    ...vips.filter(({ location }) => location.file === file).map(({ email }) => email),
  ]);
}

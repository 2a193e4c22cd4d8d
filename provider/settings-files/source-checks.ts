import { basename, dirname, join } from "node:path";
import { canPruneAny } from "../model/list-mode";
import { quote } from "../model/text";
import type { Finding } from "./finding";
import type { EffectiveOptions } from "./policy-override";
import type { DeclaredElement, DeclaredSource, DeclaredVip, GeneratedFile, Settings } from "./settings-model";

/** Returns the path of the file that `email-security sync` writes for a source. */
export function getGeneratedPath({ name, location }: Pick<DeclaredSource, "name" | "location">): string {
  return join(dirname(location.file), "sources", `${name}.yaml`);
}

/** Returns the generated file that declares an element; undefined for an element that a person wrote. */
export function findElementSource(
  { location }: Pick<DeclaredElement, "location">,
  { generatedFiles }: Pick<Settings, "generatedFiles">,
): GeneratedFile | undefined {
  return generatedFiles.find(({ file }) => file === location.file);
}

/** Finds sources that have no effect or may not have one, and generated files without a source. */
export function findSourceProblems({ files, sources, generatedFiles, policy, entries }: Settings): Finding[] {
  const sourceByPath = new Map(sources.map((declared) => [getGeneratedPath(declared), declared]));
  return [
    ...sources.flatMap((declared): Finding[] => {
      const { name, source, location } = declared;
      const findings: Finding[] = [];
      if (source.into === "allow" && policy.allowFrom !== true) {
        const message = `the source ${quote(name)} adds allow entries; write \`allowFrom: true\` under \`policy\` if the owners of the policy agree, or \`into: deny\`. The team's policy requires it`;
        findings.push({ code: "policy-allow-from", level: "error", message, place: location });
      }
      if (!files.includes(getGeneratedPath(declared))) {
        const message = `the source ${quote(name)} has no effect, because no file includes its entries; add sources/${name}.yaml to \`include\`, and run \`email-security sync\``;
        findings.push({ code: "source-not-included", level: "warning", message, place: location });
      }
      return findings;
    }),
    // A file can include a generated file without its source, and with another policy.
    ...generatedFiles
      .filter(({ file }) => !sourceByPath.has(file) && policy.allowFrom !== true)
      .filter(({ file }) => entries.some(({ list, location }) => list === "allow" && location.file === file))
      .map(({ file, record, location }): Finding => {
        const message = `${quote(basename(file), 100)} adds allow entries of the source ${quote(record.name)}; write \`allowFrom: true\` under \`policy\` if the owners of the policy agree, or remove its \`include\`. The team's policy requires it`;
        return { code: "policy-allow-from", level: "error", message, place: location };
      }),
    // A generated file that is linted on its own belongs to the files that include it.
    ...generatedFiles
      .filter(({ file }) => file !== files[0] && !sourceByPath.has(file))
      .map(({ file, record, location }): Finding => {
        const message = `${quote(basename(file), 100)} is the file of the source ${quote(record.name)}, which isn't declared here or in an included file; include the file that declares it. If the source is discontinued, remove the file and its \`include\`, or remove its \`source\` to keep the entries as your own`;
        return { code: "source-gone", level: "warning", message, place: location };
      }),
  ];
}

/**
 * Sets the effect of removing a VIP, if there are VIPs of a source and no file states it: the answer of a directory alone must not exclude
 * anybody permanently.
 */
export function setDefaultOnDelete(
  options: EffectiveOptions,
  sources: readonly DeclaredSource[],
  vips: readonly DeclaredVip[],
): void {
  if (canPruneAny(options.getValue("lists.vips.mode"))) return;
  const vipSources = sources.flatMap(({ source, location }) =>
    source.into === "vips" ? [{ onDelete: source.onDelete, location }] : [],
  );
  const reason =
    vipSources.length > 0
      ? vipSources.find(({ onDelete }) => onDelete !== "exclude")
      : vips.find(({ seen }) => seen !== undefined);
  if (reason === undefined) return;
  options.setDefault({ path: "lists.vips.onDelete", value: "keep", location: reason.location, isOverridable: true });
}

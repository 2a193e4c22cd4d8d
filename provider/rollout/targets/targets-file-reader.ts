import { dirname, join, resolve } from "node:path";
import { quote } from "../../model/text";
import { isMapping } from "../../settings-files/element-identity";
import type { FileLocation, Finding } from "../../settings-files/finding";
import { getFindingRule } from "../../settings-files/finding-rules";
import { createFileReader, isFinding, readYamlFile, validateIncludePath } from "../../settings-files/read-yaml-file";
import { buildSchemaFindings, type FileFormat } from "../../settings-files/schema-findings";
import type { YamlSource } from "../../settings-files/yaml-source";
import { getLocationKey, type TargetsFindings } from "./targets-findings";
import { INCLUDED_FILE_FORMAT, type TargetsFile } from "./targets-schema";

/** A targets file or an included file that parsed without errors. */
export interface ParsedTargetsFile {
  readonly source: YamlSource;
  readonly content: TargetsFile;
}

export class TargetsFileReader {
  readonly files = new Set<string>();
  readonly #findings: TargetsFindings;
  readonly #readFile: (path: string) => string;

  constructor(rootFile: string, findings: TargetsFindings, readFile = createFileReader(rootFile)) {
    this.#findings = findings;
    this.#readFile = readFile;
  }

  /** @param includedAt the place that includes the file. */
  read(name: string, format: FileFormat<TargetsFile>, includedAt?: FileLocation): ParsedTargetsFile | undefined {
    this.files.add(name);
    const source = readYamlFile(name, { readFile: this.#readFile }, includedAt);
    if (isFinding(source)) {
      this.#findings.list.push(source);
      return undefined;
    }
    const lines = source.text.split("\n");
    const yamlFindings = source.findings.map((finding) => redactSecret(finding, lines));
    for (const yamlFinding of yamlFindings) this.#findings.list.push(yamlFinding);
    if (source.value === undefined) return undefined;
    const result = format.schema.safeParse(expandEmptyTenants(source.value));
    const schemaErrors = result.success ? [] : buildSchemaFindings(result.error, source, format);
    const errorLocations = new Set(schemaErrors.map(({ place }) => getLocationKey(place)));
    const errors = [
      ...schemaErrors,
      ...findPrototypeKeys(source).filter(({ place }) => !errorLocations.has(getLocationKey(place))),
    ];
    for (const finding of errors) this.#findings.list.push(finding);
    if (!result.success || errors.length > 0 || yamlFindings.length > 0) return undefined;
    return { source, content: result.data };
  }

  readIncluded({ source, content }: ParsedTargetsFile): ParsedTargetsFile[] {
    return (content.include ?? []).flatMap((path, index) => {
      const location = source.locate(["include", index]);
      const includeProblem = validateIncludePath(path);
      if (includeProblem !== undefined) {
        this.#findings.addError(...includeProblem, location);
        return [];
      }
      const name = join(dirname(source.file), path);
      const isAlreadyRead = [...this.files].some((knownFile) => resolve(knownFile) === resolve(name));
      if (isAlreadyRead) {
        this.#findings.addError("duplicate-include", `${quote(path)} is already included; remove this line`, location);
        return [];
      }
      return this.read(name, INCLUDED_FILE_FORMAT, location) ?? [];
    });
  }
}

/** Expands tenants without fields (`acme:`) to empty mappings. */
function expandEmptyTenants(value: unknown): unknown {
  if (!isMapping(value) || !isMapping(value["tenants"])) return value;
  const tenants = Object.entries(value["tenants"]).map(([name, tenant]) => [name, tenant ?? {}] as const);
  return { ...value, tenants: Object.fromEntries(tenants) };
}

/** Returns an error for each `__proto__` key, because the schema's maps drop such keys silently. */
function findPrototypeKeys(source: YamlSource): Finding[] {
  const findUnder = (value: unknown, path: readonly PropertyKey[]): Finding[] => {
    if (typeof value !== "object" || value === null) return [];
    return Object.entries(value).flatMap(([key, nestedValue]): Finding[] => {
      const keyPath = [...path, Array.isArray(value) ? Number(key) : key];
      if (key !== "__proto__") return findUnder(nestedValue, keyPath);
      const location = source.locateKey(keyPath);
      return [{ code: "invalid-value", level: "error", message: `"__proto__" can't be used here`, place: location }];
    });
  };
  return findUnder(source.value, []);
}

/** Redacts a YAML error next to a line that may hold a secret: keeps its kind, but no text of the file. */
function redactSecret(finding: Finding, lines: readonly string[]): Finding {
  const { code, level, place } = finding;
  const lastLine = place?.line ?? 0;
  const nearbyLines = lines.slice(Math.max(0, lastLine - 2), lastLine);
  if (!nearbyLines.some((line) => /key|secret|token|password/i.test(line))) return finding;
  const { title, help } = getFindingRule(code, level);
  return { ...finding, message: `${title} (not shown, because it may contain a key). ${help}` };
}

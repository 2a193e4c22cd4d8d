import { dirname, join, resolve } from "node:path";
import type { Finding, Place } from "../../files/finding";
import { includeRefusal, isFinding, readerFrom, readSource } from "../../files/read-source";
import { ruleOf } from "../../files/rules";
import { type FileFormat, schemaFindings } from "../../files/schema-findings";
import type { YamlSource } from "../../files/yaml-source";
import { quote } from "../../settings/text";
import { spotOf, type TargetsFindings } from "./targets-findings";
import { INCLUDED_FILE, type TargetsFile } from "./targets-schema";

/** One file, without mistakes of its own. */
export interface TargetsPart {
  readonly source: YamlSource;
  readonly content: TargetsFile;
}

/** Reads the targets file and its included files. */
export class TargetsSource {
  readonly files = new Set<string>();
  readonly #findings: TargetsFindings;
  readonly #readFile: (path: string) => string;

  constructor(top: string, findings: TargetsFindings, readFile = readerFrom(top)) {
    this.#findings = findings;
    this.#readFile = readFile;
  }

  /** @param includedAt the place that includes the file. */
  file(name: string, format: FileFormat, includedAt?: Place): TargetsPart | undefined {
    this.files.add(name);
    const source = readSource(name, { readFile: this.#readFile }, includedAt);
    if (isFinding(source)) {
      this.#findings.list.push(source);
      return undefined;
    }
    const lines = source.text.split("\n");
    const yamlFindings = source.findings.map((finding) => concealKey(finding, lines));
    for (const yamlFinding of yamlFindings) this.#findings.list.push(yamlFinding);
    if (source.value === undefined) return undefined;
    const result = format.schema.safeParse(expandEmptyTenants(source.value));
    const schemaErrors = result.success ? [] : schemaFindings(result.error, source, format);
    const errorLocations = new Set(schemaErrors.map(({ place }) => spotOf(place)));
    const errors = [
      ...schemaErrors,
      ...findPrototypeKeys(source).filter(({ place }) => !errorLocations.has(spotOf(place))),
    ];
    for (const finding of errors) this.#findings.list.push(finding);
    if (!result.success || errors.length > 0 || yamlFindings.length > 0) return undefined;
    return { source, content: result.data as TargetsFile };
  }

  included({ source, content }: TargetsPart): TargetsPart[] {
    return (content.include ?? []).flatMap((path, index) => {
      const place = source.placeOf(["include", index]);
      const includeProblem = includeRefusal(path);
      if (includeProblem !== undefined) {
        this.#findings.addError(...includeProblem, place);
        return [];
      }
      const name = join(dirname(source.file), path);
      const isAlreadyRead = [...this.files].some((knownFile) => resolve(knownFile) === resolve(name));
      if (isAlreadyRead) {
        this.#findings.addError("include-twice", `${quote(path)} is read already; take this line away`, place);
        return [];
      }
      return this.file(name, INCLUDED_FILE, place) ?? [];
    });
  }
}

/** Expands tenants without fields (`acme:`) to empty mappings. */
function expandEmptyTenants(value: unknown): unknown {
  if (!isMapping(value) || !isMapping(value["tenants"])) return value;
  const tenants = Object.entries(value["tenants"]).map(([name, tenant]) => [name, tenant ?? {}] as const);
  return { ...value, tenants: Object.fromEntries(tenants) };
}

/** Reports names that the schema's maps would drop silently. */
function findPrototypeKeys(source: YamlSource): Finding[] {
  const findUnder = (value: unknown, path: readonly PropertyKey[]): Finding[] => {
    if (typeof value !== "object" || value === null) return [];
    return Object.entries(value).flatMap(([key, nestedValue]): Finding[] => {
      const keyPath = [...path, Array.isArray(value) ? Number(key) : key];
      if (key !== "__proto__") return findUnder(nestedValue, keyPath);
      const place = source.placeOfKey(keyPath);
      return [{ code: "invalid-value", level: "error", message: `"__proto__" can't be used here`, place }];
    });
  };
  return findUnder(source.value, []);
}

/** Reduces a YAML error near a key to its kind, without any text of the file. */
function concealKey(finding: Finding, lines: readonly string[]): Finding {
  const { code, level, place } = finding;
  const lastLine = place?.line ?? 0;
  const nearbyLines = lines.slice(Math.max(0, lastLine - 2), lastLine);
  if (!nearbyLines.some((line) => /key|secret|token|password/i.test(line))) return finding;
  const { title, help } = ruleOf(code, level);
  return { ...finding, message: `${title} (not shown, as a key may stand here). ${help}` };
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

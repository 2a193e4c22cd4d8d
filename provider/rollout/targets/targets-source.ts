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

  /** @param from the place that includes the file. */
  file(name: string, format: FileFormat, from?: Place): TargetsPart | undefined {
    this.files.add(name);
    const source = readSource(name, { readFile: this.#readFile }, from);
    if (isFinding(source)) {
      this.#findings.list.push(source);
      return undefined;
    }
    const lines = source.text.split("\n");
    const traps = source.findings.map((finding) => concealed(finding, lines));
    for (const trap of traps) this.#findings.list.push(trap);
    if (source.value === undefined) return undefined;
    const result = format.schema.safeParse(writtenOut(source.value));
    const refused = result.success ? [] : schemaFindings(result.error, source, format);
    const spots = new Set(refused.map(({ place }) => spotOf(place)));
    const told = [...refused, ...prototypeKeys(source).filter(({ place }) => !spots.has(spotOf(place)))];
    for (const finding of told) this.#findings.list.push(finding);
    if (!result.success || told.length > 0 || traps.length > 0) return undefined;
    return { source, content: result.data as TargetsFile };
  }

  included({ source, content }: TargetsPart): TargetsPart[] {
    return (content.include ?? []).flatMap((path, index) => {
      const place = source.placeOf(["include", index]);
      const refusal = includeRefusal(path);
      if (refusal !== undefined) {
        this.#findings.addError(...refusal, place);
        return [];
      }
      const name = join(dirname(source.file), path);
      const isKnown = [...this.files].some((one) => resolve(one) === resolve(name));
      if (isKnown) {
        this.#findings.addError(
          "include-twice",
          `${quote(path)} is read already; take this line away`,
          place,
        );
        return [];
      }
      return this.file(name, INCLUDED_FILE, place) ?? [];
    });
  }
}

/** Expands tenants without fields (`acme:`) to empty mappings. */
function writtenOut(value: unknown): unknown {
  if (!isMapping(value) || !isMapping(value["tenants"])) return value;
  const tenants = Object.entries(value["tenants"]).map(([name, one]) => [name, one ?? {}] as const);
  return { ...value, tenants: Object.fromEntries(tenants) };
}

/** Reports names that the schema's maps would drop silently. */
function prototypeKeys(source: YamlSource): Finding[] {
  const under = (value: unknown, path: readonly PropertyKey[]): Finding[] => {
    if (typeof value !== "object" || value === null) return [];
    return Object.entries(value).flatMap(([key, one]): Finding[] => {
      const at = [...path, Array.isArray(value) ? Number(key) : key];
      if (key !== "__proto__") return under(one, at);
      const place = source.placeOfKey(at);
      return [{ code: "invalid-value", level: "error", message: `"__proto__" can't be used here`, place }];
    });
  };
  return under(source.value, []);
}

/** Reduces a YAML error near a key to its kind, without any text of the file. */
function concealed(finding: Finding, lines: readonly string[]): Finding {
  const { code, level, place } = finding;
  const end = place?.line ?? 0;
  const near = lines.slice(Math.max(0, end - 2), end);
  if (!near.some((line) => /key|secret|token|password/i.test(line))) return finding;
  const { title, help } = ruleOf(code, level);
  return { ...finding, message: `${title} (not shown, as a key may stand here). ${help}` };
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

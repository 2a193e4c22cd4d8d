import { existsSync } from "node:fs";
import { dirname, isAbsolute, join, normalize, resolve } from "node:path";
import { parse } from "yaml";
import { checkBaseUrl } from "../../client/address";
import { type Finding, hasErrors, inOrder, lineText, type Place } from "../../files/finding";
import { includeRefusal, isFinding, readerFrom, readSource } from "../../files/read-source";
import { isBeyondRepositoryOf } from "../../files/repository";
import { ruleOf } from "../../files/rules";
import { type FileFormat, schemaFindings } from "../../files/schema-findings";
import type { YamlSource } from "../../files/yaml-source";
import { readPlainFile } from "../../machine/plain-file";
import { meantOrKnown } from "../../settings/nearest-name";
import { quote } from "../../settings/text";
import { withoutUndefined } from "../../settings/without-undefined";
import type { HealthCheck } from "../wave";
import { doesMatch, lostWith } from "./assign-waves";
import { nameRefusal } from "./name-schema";
import { named } from "./placeholders";
import type { KeySource, ServiceLimit, Target, Targets, WaveRule } from "./target";
import { TargetsFileError } from "./targets-file-error";
import { INCLUDED_FILE, type RawTenant, TARGETS_FILE, type TargetsFile } from "./targets-schema";
import { type RawWave, THREAT_LIMIT } from "./wave-schema";

/**
 * Reads the file of a rollout's tenants and waves, with all that it includes. Neither a key nor a settings file is read:
 * what is wrong with these concerns one tenant, and is found when that is planned.
 *
 * @param file its path, relative to the working folder.
 * @param readFile reads a file as text, as it is or would be. Default: from the disk.
 * @throws {TargetsFileError} (`ERR_ROLLOUT_TARGETS`) with every mistake at its place.
 */
export function readTargets(file: string, readFile?: (path: string) => string): Targets {
  const name = normalize(file);
  const reading = new Reading(name, readFile);
  const top = reading.file(name, TARGETS_FILE);
  if (top === undefined) throw new TargetsFileError(file, inOrder(reading.findings), existsSync(name));
  const files = [top, ...reading.included(top)];
  const targets = files.flatMap((one) => reading.targetsOf(one, top));
  if (targets.length === 0 && !hasErrors(reading.findings)) {
    const place = top.source.placeOf(["tenants"]);
    reading.refuse("no-tenants", "declares no tenant; write one under `tenants`", place);
  }
  reading.refuseTwice(targets);
  const waves = reading.wavesOf(top);
  reading.refuseLostWaves(
    waves,
    targets.map(({ target }) => target),
  );
  const read: Omit<Targets, "findings"> = withoutUndefined({
    file,
    files: [...reading.files],
    project: reading.projectOf(top),
    targets: targets.map(({ target }) => target),
    waves,
    failureTolerance: top.content.failureTolerance,
    services: reading.servicesOf(top, targets),
    notify: top.content.notify,
  });
  const findings = inOrder(reading.findings);
  if (hasErrors(findings)) throw new TargetsFileError(file, findings);
  return { ...read, findings };
}

/** One file, without mistakes of its own. */
interface Part {
  readonly source: YamlSource;
  readonly content: TargetsFile;
}

/** A target, with the places of what must not be there twice. */
interface Placed {
  readonly target: Target;
  readonly stackPlace: Place;
  readonly keyPlace: Place;
}

class Reading {
  readonly findings: Finding[] = [];
  readonly files = new Set<string>();
  readonly #told = new Set<string>();
  readonly #readFile: (path: string) => string;
  readonly #isBeyond: (path: string) => boolean;

  constructor(top: string, readFile = readerFrom(top)) {
    this.#readFile = readFile;
    this.#isBeyond = isBeyondRepositoryOf(top);
  }

  /** @param from where it is included. */
  file(name: string, format: FileFormat, from?: Place): Part | undefined {
    this.files.add(name);
    const source = readSource(name, { readFile: this.#readFile }, from);
    if (isFinding(source)) {
      this.findings.push(source);
      return undefined;
    }
    const lines = source.text.split("\n");
    const traps = source.findings.map((finding) => concealed(finding, lines));
    for (const trap of traps) this.findings.push(trap);
    if (source.value === undefined) return undefined;
    const result = format.schema.safeParse(writtenOut(source.value));
    const refused = result.success ? [] : schemaFindings(result.error, source, format);
    const spots = new Set(refused.map(({ place }) => spotOf(place)));
    const told = [...refused, ...prototypeKeys(source).filter(({ place }) => !spots.has(spotOf(place)))];
    for (const finding of told) this.findings.push(finding);
    if (!result.success || told.length > 0 || traps.length > 0) return undefined;
    return { source, content: result.data as TargetsFile };
  }

  included({ source, content }: Part): Part[] {
    return (content.include ?? []).flatMap((path, index) => {
      const place = source.placeOf(["include", index]);
      const refusal = includeRefusal(path);
      if (refusal !== undefined) {
        this.refuse(...refusal, place);
        return [];
      }
      const name = join(dirname(source.file), path);
      const isKnown = [...this.files].some((one) => resolve(one) === resolve(name));
      if (isKnown) {
        this.refuse("include-twice", `${quote(path)} is read already; take this line away`, place);
        return [];
      }
      return this.file(name, INCLUDED_FILE, place) ?? [];
    });
  }

  /** The tenants of a file, in the order in which they stand there. */
  targetsOf(part: Part, top: Part): Placed[] {
    const { source, content } = part;
    return Object.entries(content.tenants ?? {})
      .map(([name, raw]) => ({ name, raw, place: source.placeOfKey(["tenants", name]) }))
      .toSorted((one, { place }) => one.place.line - place.line || one.place.column - place.column)
      .flatMap(({ name, raw, place }) => {
        const layers: Layer[] = [
          { source, raw, path: ["tenants", name] },
          { source, raw: content.defaults, path: ["defaults"] },
          { source: top.source, raw: top.content.defaults, path: ["defaults"] },
        ];
        return this.#target(name, layers, place) ?? [];
      });
  }

  #target(name: string, layers: readonly Layer[], place: Place): Placed | undefined {
    const allowInsecureHttp = saidOf(layers, "allowInsecureHttp")?.value ?? false;
    const baseUrl = this.#wanted(layers, "baseUrl", name, place);
    const key = this.#wanted(layers, "key", name, place);
    const settings = this.#wanted(layers, "settings", name, place);
    if (baseUrl === undefined || key === undefined || settings === undefined) return undefined;
    const address = this.#address(baseUrl, name, allowInsecureHttp);
    const keySource = this.#keySource(key, name);
    const settingsFile = this.#settingsFile(settings, name);
    if (address === undefined || keySource === undefined || settingsFile === undefined) return undefined;
    const stack = saidOf(layers, "stack");
    const labels: Record<string, string> = {};
    for (const { raw } of layers.toReversed()) Object.assign(labels, raw?.labels);
    const target: Target = withoutUndefined({
      name,
      labels,
      baseUrl: address,
      key: keySource,
      settings: settingsFile,
      stack: stack?.value ?? name,
      resource: saidOf(layers, "resource")?.value,
      front: saidOf(layers, "front")?.value,
      allowInsecureHttp,
      place,
    });
    const isOwn = key.place.file === place.file && key.path[0] === "tenants";
    return { target, stackPlace: stack?.place ?? place, keyPlace: isOwn ? key.place : place };
  }

  #wanted<Field extends "baseUrl" | "key" | "settings">(
    layers: readonly Layer[],
    field: Field,
    name: string,
    place: Place,
  ): Said<Field> | undefined {
    const said = saidOf(layers, field);
    if (said === undefined) {
      const message = `${quote(name)} has no ${field}; write it here, or for all tenants under \`defaults\``;
      this.refuse("tenant-incomplete", message, place);
    }
    return said;
  }

  #address({ value, place }: Said<"baseUrl">, name: string, allowInsecureHttp: boolean): string | undefined {
    const filled = this.#filled(value, name, "baseUrl", place);
    if (filled === undefined) return undefined;
    try {
      return checkBaseUrl(filled, allowInsecureHttp);
    } catch (error) {
      this.refuse("address", error instanceof Error ? error.message : String(error), place);
      return undefined;
    }
  }

  #settingsFile({ value, place }: Said<"settings">, name: string): string | undefined {
    const filled = this.#filled(value, name, "settings", place);
    if (filled === undefined) return undefined;
    const [, message] = includeRefusal(filled) ?? [];
    const path = join(dirname(place.file), filled);
    if (message !== undefined) this.refuse("settings-path", `settings ${message}`, place);
    else if (this.#isBeyond(path)) {
      const beyond = `settings ${quote(filled)} lies outside the repository of this file, where nobody reviews it`;
      this.refuse("settings-path", beyond, place);
    } else return path;
    return undefined;
  }

  #keySource({ value, place }: Said<"key">, name: string): KeySource | undefined {
    const { environment, file, command } = value;
    if (command !== undefined) {
      return { from: "command", command: command.map((one) => named(one, name)) };
    }
    if (file !== undefined) {
      const path = this.#filled(file, name, "file", place);
      if (path === undefined) return undefined;
      return { from: "file", path: isAbsolute(path) ? normalize(path) : join(dirname(place.file), path) };
    }
    const variable = named(environment ?? "", name);
    if (/^[A-Za-z_]\w*$/.test(variable)) return { from: "environment", variable };
    const message = `environment is no name of a variable once the name ${quote(name)} is put into it; give this tenant a key of its own, such as { environment: TENANT_{NAME}_API_KEY }`;
    this.refuse("invalid-value", message, place);
    return undefined;
  }

  /** A text with the tenant's name put in. */
  #filled(text: string, name: string, field: string, place: Place): string | undefined {
    const filled = named(text, name);
    const [odd] = /\{\w*\}/.exec(filled) ?? [];
    if (odd === undefined) return filled;
    // A placeholder is short; what is longer may be anything.
    const what = odd.length > 20 ? "a placeholder that is none" : quote(odd);
    this.refuse("placeholder", `${field} holds ${what}; there are {name} and {NAME}`, place);
    return undefined;
  }

  /** Refuses what two tenants can't have alike. */
  refuseTwice(targets: readonly Placed[]): void {
    const names = new Map<string, Placed>();
    const stacks = new Map<string, Placed>();
    const keys = new Map<string, Placed>();
    for (const placed of targets) {
      const { target, stackPlace, keyPlace } = placed;
      // On many disks, files that differ only in case are one: settings, and the state of stacks.
      const before = names.get(target.name.toLowerCase());
      if (before !== undefined) {
        const { name, place } = before.target;
        const message =
          name === target.name
            ? `the tenant ${quote(name)} is declared twice, here and at ${lineText(place)}; keep one of the two`
            : `the tenant ${quote(target.name)} differs only in case from ${quote(name)}, at ${lineText(place)}; give one another name`;
        this.refuse("tenant-twice", message, target.place);
        continue;
      }
      names.set(target.name.toLowerCase(), placed);
      const sharesStack = stacks.get(target.stack);
      if (sharesStack === undefined) stacks.set(target.stack, placed);
      else {
        const message = `${quote(target.name)} has the stack ${quote(target.stack)}, which ${quote(sharesStack.target.name)} has too, at ${lineText(sharesStack.stackPlace)}; what one declares, the other would remove. Give each a stack of its own`;
        this.refuse("stack-twice", message, stackPlace);
      }
      const identity = `${target.baseUrl} ${keyIdentity(target.key)}`;
      const sharesKey = keys.get(identity);
      if (sharesKey === undefined) keys.set(identity, placed);
      else {
        const message = `${quote(target.name)} has the address and the key of ${quote(sharesKey.target.name)}, at ${lineText(sharesKey.keyPlace)}, so both are one tenant of the service; keep one of the two, or give it its own key`;
        this.refuse("key-twice", message, keyPlace);
      }
    }
  }

  projectOf({ source, content }: Part): string {
    if (content.project !== undefined) return content.project;
    const folder = dirname(source.file);
    const file = ["Pulumi.yaml", "Pulumi.yml"].map((one) => join(folder, one)).find((one) => existsSync(one));
    if (file === undefined) return DEFAULT_PROJECT;
    const name = projectName(file);
    if (name !== undefined) return name;
    const message = `has no name that a Pulumi project can have, and is asked for it as ${quote(source.file)} has no \`project\`; write it in one of the two`;
    this.refuse("project", message, { file, line: 1, column: 1 });
    return DEFAULT_PROJECT;
  }

  servicesOf({ source, content }: Part, targets: readonly Placed[]): ReadonlyMap<string, ServiceLimit> {
    const services = new Map<string, ServiceLimit>();
    const places = new Map<string, Place>();
    const addresses = new Set(targets.map(({ target }) => target.baseUrl));
    for (const [written, limit] of Object.entries(content.services ?? {})) {
      const place = source.placeOfKey(["services", written]);
      const address = this.#serviceAddress(written, place);
      if (address === undefined) continue;
      const before = places.get(address);
      if (before !== undefined) {
        const message = `the service ${quote(address)} is written twice, here and at ${lineText(before)}; keep one of the two`;
        this.refuse("service-twice", message, place);
        continue;
      }
      places.set(address, place);
      services.set(address, limit);
      if (addresses.has(address) || hasErrors(this.findings)) continue;
      const some = [...addresses].slice(0, 3).map((one) => quote(one));
      this.findings.push({
        code: "service-unused",
        level: "warning",
        message: `no tenant has the address ${quote(address)}, so its limits hold for none; there ${addresses.size === 1 ? "is" : "are"} ${some.join(", ")}${addresses.size > 3 ? ", …" : ""}`,
        place,
      });
    }
    return services;
  }

  #serviceAddress(written: string, place: Place): string | undefined {
    try {
      // No key is sent on account of what is written here.
      return checkBaseUrl(written, true);
    } catch (error) {
      this.refuse("address", error instanceof Error ? error.message : String(error), place);
      return undefined;
    }
  }

  wavesOf({ source, content }: Part): WaveRule[] {
    const { waves } = content;
    if (waves === undefined) return [{ ...waveRule({ name: "all" }), place: source.placeOf([]) }];
    const places = new Map<string, Place>();
    return waves.map((raw, index) => {
      const place = source.placeOf(["waves", index, "name"]);
      const before = places.get(raw.name);
      if (before === undefined) places.set(raw.name, place);
      else {
        const message = `the wave ${quote(raw.name)} is declared twice, here and at ${lineText(before)}; give one another name`;
        this.refuse("wave-twice", message, place);
      }
      return { ...waveRule(raw), place };
    });
  }

  /** Refuses a rule that no tenant can match where it asks for a look at what was done: a slip in a label would drop that. */
  refuseLostWaves(waves: readonly WaveRule[], targets: readonly Target[]): void {
    if (hasErrors(this.findings)) return;
    for (const { name, match = {}, place, ...rule } of waves) {
      const lost = lostWith(rule);
      if (lost === undefined || targets.some(({ labels }) => doesMatch(match, labels))) continue;
      const all = Object.entries(match).map(([label, values]) => `${label}: ${values.join(" or ")}`);
      const message = `no tenant matches the wave ${quote(name)} (${quote(all.join(", "))}), so it would be left out, and with it ${lost}; mend its \`match\` or the labels, or take the wave away: ${whyNone(match, targets)}`;
      this.refuse("wave-empty", message, place);
    }
  }

  /** A mistake in what all tenants of a file share is told once. */
  refuse(code: string, message: string, place: Place): void {
    const mistake = `${spotOf(place)} ${message}`;
    if (this.#told.has(mistake)) return;
    this.#told.add(mistake);
    this.findings.push({ code, level: "error", message, place });
  }
}

const DEFAULT_PROJECT = "email-security";

/** What is said of a tenant in one place: by itself, or for all. */
interface Layer {
  readonly source: YamlSource;
  readonly raw: RawTenant | undefined;
  readonly path: readonly PropertyKey[];
}

interface Said<Field extends keyof RawTenant> {
  readonly value: NonNullable<RawTenant[Field]>;
  readonly place: Place;
  readonly path: readonly PropertyKey[];
}

/** The nearest layer that has a field decides. */
function saidOf<Field extends keyof RawTenant>(
  layers: readonly Layer[],
  field: Field,
): Said<Field> | undefined {
  for (const { source, raw, path } of layers) {
    const value = raw?.[field];
    if (value !== undefined && value !== null) {
      return { value, place: source.placeOf([...path, field]), path };
    }
  }
  return undefined;
}

/** Why a rule matches nobody: a name that no tenant has, the one that it may be meant for, or values that never come together. */
function whyNone(match: NonNullable<WaveRule["match"]>, targets: readonly Target[]): string {
  for (const [label, values] of Object.entries(match)) {
    const held = new Set(
      targets.flatMap(({ labels }) => (Object.hasOwn(labels, label) ? (labels[label] ?? []) : [])),
    );
    if (held.size === 0) {
      const known = [...new Set(targets.flatMap(({ labels }) => Object.keys(labels)))].sort();
      return `no tenant has a label ${quote(label)}, ${meantOrKnown(label, known)}`;
    }
    if (values.some((value) => held.has(value))) continue;
    return `none has ${values.map((value) => `${label}: ${quote(value)}`).join(" or ")}, ${meantOrKnown(values[0] ?? "", [...held].sort())}`;
  }
  return "none has all of these labels";
}

function keyIdentity(key: KeySource): string {
  if (key.from === "file") return JSON.stringify([key.from, resolve(key.path)]);
  return JSON.stringify([key.from, key.from === "environment" ? key.variable : key.command]);
}

function waveRule(raw: RawWave): Omit<WaveRule, "place"> {
  const {
    name,
    match,
    take,
    maxConcurrent = 1,
    failureTolerance = { count: 0 },
    soak = 0,
    gate = false,
  } = raw;
  return withoutUndefined({
    name,
    match:
      match === undefined
        ? undefined
        : Object.fromEntries(
            Object.entries(match).map(([label, values]) => [label, [values].flat()] as const),
          ),
    take,
    maxConcurrent,
    failureTolerance,
    soakMs: soak,
    gate,
    health: healthCheck(raw),
    closed: raw.not,
  });
}

function healthCheck({ health }: RawWave): HealthCheck | undefined {
  if (health === undefined) return undefined;
  const { command, timeout = 300_000, threats } = health;
  return withoutUndefined({
    command,
    timeoutMs: timeout,
    threats: threats === undefined ? undefined : { ...THREAT_LIMIT, ...withoutUndefined(threats) },
  });
}

/** Undefined when it has none that could be used. */
function projectName(file: string): string | undefined {
  try {
    const content: unknown = parse(readPlainFile(file).toString("utf8"));
    const { name } = content as { readonly name?: unknown };
    return typeof name === "string" && nameRefusal(name) === undefined ? name : undefined;
  } catch {
    return undefined;
  }
}

/** Tenants of which nothing is said (`acme:`), as the mapping that they stand for. */
function writtenOut(value: unknown): unknown {
  if (!isMapping(value) || !isMapping(value["tenants"])) return value;
  const tenants = Object.entries(value["tenants"]).map(([name, one]) => [name, one ?? {}] as const);
  return { ...value, tenants: Object.fromEntries(tenants) };
}

/** Names that the schema's maps would leave out without a word. */
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

/** What is told of YAML near a key is what it is, and nothing of what stands there. */
function concealed(finding: Finding, lines: readonly string[]): Finding {
  const { code, level, place } = finding;
  const end = place?.line ?? 0;
  const near = lines.slice(Math.max(0, end - 2), end);
  if (!near.some((line) => /key|secret|token|password/i.test(line))) return finding;
  const { title, help } = ruleOf(code, level);
  return { ...finding, message: `${title} (not shown, as a key may stand here). ${help}` };
}

function spotOf(place: Place | undefined): string {
  return `${place?.file}:${place?.line}:${place?.column}`;
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

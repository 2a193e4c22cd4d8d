import { dirname, isAbsolute, join, normalize } from "node:path";
import { checkBaseUrl } from "../../client/address";
import type { Place } from "../../files/finding";
import { includeRefusal } from "../../files/read-source";
import { isBeyondRepositoryOf } from "../../files/repository";
import type { YamlSource } from "../../files/yaml-source";
import { quote } from "../../settings/text";
import { withoutUndefined } from "../../settings/without-undefined";
import type { KeySource, Target } from "../model/target";
import { named } from "./placeholders";
import type { TargetsFindings } from "./targets-findings";
import type { RawTenant } from "./targets-schema";
import type { TargetsPart } from "./targets-source";

/** A target, with the places of its values that must be unique. */
export interface PlacedTarget {
  readonly target: Target;
  readonly stackPlace: Place;
  readonly keyPlace: Place;
}

/** Builds targets from the tenants that the files declare. */
export class TenantTargets {
  readonly #findings: TargetsFindings;
  readonly #isBeyond: (path: string) => boolean;

  constructor(top: string, findings: TargetsFindings) {
    this.#findings = findings;
    this.#isBeyond = isBeyondRepositoryOf(top);
  }

  /** The tenants of a file, in the order of the file. */
  targetsOf(part: TargetsPart, top: TargetsPart): PlacedTarget[] {
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

  #target(name: string, layers: readonly Layer[], place: Place): PlacedTarget | undefined {
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
      this.#findings.addError("tenant-incomplete", message, place);
    }
    return said;
  }

  #address({ value, place }: Said<"baseUrl">, name: string, allowInsecureHttp: boolean): string | undefined {
    const filled = this.#filled(value, name, "baseUrl", place);
    if (filled === undefined) return undefined;
    try {
      return checkBaseUrl(filled, allowInsecureHttp);
    } catch (error) {
      this.#findings.addError("address", error instanceof Error ? error.message : String(error), place);
      return undefined;
    }
  }

  #settingsFile({ value, place }: Said<"settings">, name: string): string | undefined {
    const filled = this.#filled(value, name, "settings", place);
    if (filled === undefined) return undefined;
    const [, message] = includeRefusal(filled) ?? [];
    const path = join(dirname(place.file), filled);
    if (message !== undefined) this.#findings.addError("settings-path", `settings ${message}`, place);
    else if (this.#isBeyond(path)) {
      const beyond = `settings ${quote(filled)} lies outside the repository of this file, where nobody reviews it`;
      this.#findings.addError("settings-path", beyond, place);
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
    this.#findings.addError("invalid-value", message, place);
    return undefined;
  }

  /** Replaces the placeholders in a text. */
  #filled(text: string, name: string, field: string, place: Place): string | undefined {
    const filled = named(text, name);
    const [odd] = /\{\w*\}/.exec(filled) ?? [];
    if (odd === undefined) return filled;
    // A real placeholder is short. Anything longer could be sensitive, so it isn't shown.
    const what = odd.length > 20 ? "a placeholder that is none" : quote(odd);
    this.#findings.addError("placeholder", `${field} holds ${what}; there are {name} and {NAME}`, place);
    return undefined;
  }
}

/** The declarations about a tenant from one source: its own, or the defaults. */
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

/** Finds a field in the nearest layer that declares it. */
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

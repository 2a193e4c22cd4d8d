import { dirname, isAbsolute, join, normalize } from "node:path";
import { normalizeBaseUrl } from "../../client/base-url";
import { getErrorMessage } from "../../model/email-security-error";
import { omitUndefined } from "../../model/omit-undefined";
import { quote } from "../../model/text";
import type { FileLocation } from "../../settings-files/finding";
import { validateIncludePath } from "../../settings-files/read-yaml-file";
import { createOutsideRepositoryTest } from "../../settings-files/repository";
import type { YamlSource } from "../../settings-files/yaml-source";
import type { KeySource, Target } from "../model/target";
import { fillPlaceholders } from "./placeholders";
import type { ParsedTargetsFile } from "./targets-file-reader";
import type { TargetsFindings } from "./targets-findings";
import type { RawTenant } from "./targets-schema";

/** A target, with the places of its values that must be unique. */
export interface LocatedTarget {
  readonly target: Target;
  readonly stackLocation: FileLocation;
  readonly keyLocation: FileLocation;
}

export class TargetBuilder {
  readonly #findings: TargetsFindings;
  readonly #isOutsideRepository: (path: string) => boolean;

  constructor(top: string, findings: TargetsFindings) {
    this.#findings = findings;
    this.#isOutsideRepository = createOutsideRepositoryTest(top);
  }

  buildTargets(parsedFile: ParsedTargetsFile, topFile: ParsedTargetsFile): LocatedTarget[] {
    const { source, content } = parsedFile;
    return Object.entries(content.tenants ?? {})
      .map(([name, fields]) => ({ name, raw: fields, place: source.locateKey(["tenants", name]) }))
      .toSorted((tenant, { place }) => tenant.place.line - place.line || tenant.place.column - place.column)
      .flatMap(({ name, raw, place }) => {
        const layers: Layer[] = [
          { source, raw, path: ["tenants", name] },
          { source, raw: content.defaults, path: ["defaults"] },
          { source: topFile.source, raw: topFile.content.defaults, path: ["defaults"] },
        ];
        return this.#buildTarget(name, layers, place) ?? [];
      });
  }

  #buildTarget(name: string, layers: readonly Layer[], location: FileLocation): LocatedTarget | undefined {
    const allowInsecureHttp = findLayerValue(layers, "allowInsecureHttp")?.value ?? false;
    const baseUrl = this.#requireField(layers, "baseUrl", name, location);
    const key = this.#requireField(layers, "key", name, location);
    const settings = this.#requireField(layers, "settings", name, location);
    if (baseUrl === undefined || key === undefined || settings === undefined) return undefined;
    const address = this.#resolveAddress(baseUrl, name, allowInsecureHttp);
    const keySource = this.#resolveKeySource(key, name);
    const settingsFile = this.#resolveSettingsFile(settings, name);
    if (address === undefined || keySource === undefined || settingsFile === undefined) return undefined;
    const stack = findLayerValue(layers, "stack");
    const labels: Record<string, string> = {};
    for (const { raw } of layers.toReversed()) Object.assign(labels, raw?.labels);
    const target: Target = omitUndefined({
      name,
      labels,
      baseUrl: address,
      key: keySource,
      settings: settingsFile,
      stack: stack?.value ?? name,
      resource: findLayerValue(layers, "resource")?.value,
      provider: findLayerValue(layers, "provider")?.value,
      allowInsecureHttp,
      place: location,
    });
    const isOwnKey = key.location.file === location.file && key.path[0] === "tenants";
    return { target, stackLocation: stack?.location ?? location, keyLocation: isOwnKey ? key.location : location };
  }

  #requireField<Field extends "baseUrl" | "key" | "settings">(
    layers: readonly Layer[],
    field: Field,
    name: string,
    location: FileLocation,
  ): LayerValue<Field> | undefined {
    const layerValue = findLayerValue(layers, field);
    if (layerValue === undefined) {
      const message = `${quote(name)} has no ${field}; write it here, or for all tenants under \`defaults\``;
      this.#findings.addError("tenant-incomplete", message, location);
    }
    return layerValue;
  }

  #resolveAddress(
    { value, location }: LayerValue<"baseUrl">,
    name: string,
    allowInsecureHttp: boolean,
  ): string | undefined {
    const filledText = this.#fillText(value, name, "baseUrl", location);
    if (filledText === undefined) return undefined;
    try {
      return normalizeBaseUrl(filledText, allowInsecureHttp);
    } catch (error) {
      this.#findings.addError("address", getErrorMessage(error), location);
      return undefined;
    }
  }

  #resolveSettingsFile({ value, location }: LayerValue<"settings">, name: string): string | undefined {
    const filledText = this.#fillText(value, name, "settings", location);
    if (filledText === undefined) return undefined;
    const [, message] = validateIncludePath(filledText) ?? [];
    const path = join(dirname(location.file), filledText);
    if (message !== undefined) this.#findings.addError("settings-path", `settings ${message}`, location);
    else if (this.#isOutsideRepository(path)) {
      const outsideMessage = `settings ${quote(filledText)} is outside this file's repository, where changes aren't reviewed`;
      this.#findings.addError("settings-path", outsideMessage, location);
    } else return path;
    return undefined;
  }

  #resolveKeySource({ value, location }: LayerValue<"key">, name: string): KeySource | undefined {
    const { environment, file, command } = value;
    if (command !== undefined) {
      return { from: "command", command: command.map((argument) => fillPlaceholders(argument, name)) };
    }
    if (file !== undefined) {
      const path = this.#fillText(file, name, "file", location);
      if (path === undefined) return undefined;
      return { from: "file", path: isAbsolute(path) ? normalize(path) : join(dirname(location.file), path) };
    }
    const variable = fillPlaceholders(environment ?? "", name);
    if (/^[A-Za-z_]\w*$/.test(variable)) return { from: "environment", variable };
    const message = `environment isn't a valid variable name after the name ${quote(name)} is inserted; give this tenant its own key, such as { environment: TENANT_{NAME}_API_KEY }`;
    this.#findings.addError("invalid-value", message, location);
    return undefined;
  }

  #fillText(text: string, name: string, field: string, location: FileLocation): string | undefined {
    const filledText = fillPlaceholders(text, name);
    const [unknownPlaceholder] = /\{\w*\}/.exec(filledText) ?? [];
    if (unknownPlaceholder === undefined) return filledText;
    // A real placeholder is short. Anything longer could be sensitive, so it isn't shown.
    const placeholderText = unknownPlaceholder.length > 20 ? "an unknown placeholder" : quote(unknownPlaceholder);
    this.#findings.addError(
      "placeholder",
      `${field} contains ${placeholderText}; the placeholders are {name} and {NAME}`,
      location,
    );
    return undefined;
  }
}

/** The declarations about a tenant from one source: its own, or the defaults. */
interface Layer {
  readonly source: YamlSource;
  readonly raw: RawTenant | undefined;
  readonly path: readonly PropertyKey[];
}

interface LayerValue<Field extends keyof RawTenant> {
  readonly value: NonNullable<RawTenant[Field]>;
  readonly location: FileLocation;
  readonly path: readonly PropertyKey[];
}

function findLayerValue<Field extends keyof RawTenant>(
  layers: readonly Layer[],
  field: Field,
): LayerValue<Field> | undefined {
  for (const { source, raw, path } of layers) {
    const value = raw?.[field];
    if (value !== undefined && value !== null) {
      return { value, location: source.locate([...path, field]), path };
    }
  }
  return undefined;
}

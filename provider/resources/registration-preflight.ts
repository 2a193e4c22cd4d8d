import * as pulumi from "@pulumi/pulumi";
import { ConfigurationError, InvalidArgumentError } from "../client/errors";
import { quote } from "../model/text";
import { assertEffectiveIgnores } from "./ignored-changes";
import { buildSharingOptions, InstanceAnnouncements } from "./instance-announcements";
import { getProviderInstanceName, Provider } from "./provider";
import { getTenantList, type ResourceKind } from "./resource-type";
import { assertNoMisspelledVariables, CONFIG_NAMESPACE, describeUnknownSettings } from "./setting-names";

/**
 * Checks a program with dynamic resources before the first is registered. Rejects problems that the engine would
 * silently ignore, or secrets that it would store.
 *
 * @throws {ConfigurationError} for unknown configuration names, and for an API key in plain text.
 * @throws {InvalidArgumentError} for options without effect.
 */
export function runRegistrationPreflight(
  kind: ResourceKind,
  name: string,
  options: pulumi.CustomResourceOptions | undefined,
): void {
  if (options?.import !== undefined) throwImportUnsupported(kind, name);
  const ignoreChanges = options?.ignoreChanges ?? [];
  // Loaded only when called, because it needs the schemas of all arguments. Single entries don't.
  if (ignoreChanges.length > 0) assertEffectiveIgnores(kind, ignoreChanges);
  assertNoMisspelledVariables(process.env);
  assertKnownSettings();
  assertSecretApiKey();
  announceProviderInstance(kind, options);
}

let announcements: InstanceAnnouncements | undefined;

/**
 * Announces to the run's provider processes that an explicit instance will declare something, so that they can wait for
 * it.
 */
function announceProviderInstance(kind: ResourceKind, options: pulumi.CustomResourceOptions | undefined): void {
  const engine = process.env["PULUMI_NODEJS_ENGINE"];
  const { parent } = options ?? {};
  const parentProvider = pulumi.Resource.isInstance(parent)
    ? parent.getProvider("pulumi-nodejs:dynamic:Resource")
    : undefined;
  const provider = options?.provider ?? parentProvider;
  // A resource that depends on another one may have to wait for the other's write first.
  if (engine === undefined || !(provider instanceof Provider) || options?.dependsOn !== undefined) return;
  announcements ??= new InstanceAnnouncements(buildSharingOptions(engine, process.env));
  announcements.add(getTenantList(kind), getProviderInstanceName(provider));
}

/** @throws {ConfigurationError} for an unknown key of the stack's configuration in this package's namespace. */
export function assertKnownSettings(): void {
  const ownKeys = Object.keys(pulumi.runtime.allConfig()).filter((key) => key.startsWith(`${CONFIG_NAMESPACE}:`));
  const names = ownKeys.map((key) => key.slice(CONFIG_NAMESPACE.length + 1));
  const problems = describeUnknownSettings(names, pulumi.getProject());
  if (problems.length > 0) throw new ConfigurationError(problems.join("\n"));
}

/**
 * The engine passes the stack's whole configuration to dynamic resources, and stores it in the state. A plain-text key
 * would remain plain text there.
 */
function assertSecretApiKey(): void {
  const key = `${CONFIG_NAMESPACE}:apiKey`;
  const runtime = pulumi.runtime as { readonly isConfigSecret?: (key: string) => boolean };
  if (pulumi.runtime.allConfig()[key] === undefined || runtime.isConfigSecret?.(key) !== false) return;
  throw new ConfigurationError(
    `The stack's configuration contains the API key in plain text (${key}), and so would the stack's state. Nothing was changed. Set it as a secret: \`pulumi config set --secret ${key}\` prompts for it. If others can read the file or an earlier state, get a new key from the service.`,
  );
}

/**
 * For an import, the engine asks Pulumi's host of dynamic resources to read the resource, but doesn't name its
 * provider.
 */
function throwImportUnsupported(kind: ResourceKind, name: string): never {
  const adoptText = kind.startsWith("AllowDeny") ? ", and with `adopt: true` changes the others" : "";
  throw new InvalidArgumentError(
    [
      `${kind} ${quote(name)}: the option \`import\` isn't supported, because Pulumi can't import dynamic resources. Nothing was changed.`,
      `Remove it: \`pulumi up\` adopts existing entries as declared${adoptText}. \`npx email-security export\` writes all of them to files.`,
      "Or import with the native plugin; the program then imports from pulumi-email-security/native.",
    ].join("\n"),
  );
}

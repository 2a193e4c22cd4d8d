import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { satisfies } from "semver";
import { EmailSecurityError } from "./email-security-error";
import { isPostgresUrl } from "./postgres-url";

/** Rarely used features that need packages installed separately, as optional peer dependencies. */
export const OPTIONAL_FEATURES = {
  postgres: {
    packages: ["pg", "pg-boss"],
    /** The name of the feature in messages. */
    is: "A rollout's journal in PostgreSQL",
    /** Whether the environment enables the feature. */
    isRequested: (environment: NodeJS.ProcessEnv) => isPostgresUrl(environment["EMAIL_SECURITY_DATABASE"] ?? ""),
  },
  microsoftGraph: { packages: ["@azure/identity"], is: "A source of the kind microsoft-graph" },
  googleDirectory: { packages: ["google-auth-library"], is: "A source of the kind google-directory" },
  ldap: { packages: ["ldapts"], is: "A source of the kind ldap" },
} as const;

export type OptionalFeature = keyof typeof OPTIONAL_FEATURES;

export interface OptionalPackage {
  readonly name: string;
  readonly range: string;
  /** The installed version; undefined if the package is not installed. */
  readonly version: string | undefined;
  readonly isCompatible: boolean;
}

/**
 * A required package is not installed, or has an unsupported version (`ERR_MISSING_PACKAGE`). The message names it and the command that
 * installs it.
 */
export class MissingPackageError extends EmailSecurityError {
  constructor(message: string) {
    super("ERR_MISSING_PACKAGE", message);
  }
}

export function getFeaturePackages(feature: OptionalFeature): readonly OptionalPackage[] {
  const { peerDependencies } = readManifest();
  return OPTIONAL_FEATURES[feature].packages.map((name) => {
    const range = peerDependencies[name] ?? "*";
    const version = readInstalledVersion(name);
    return { name, range, version, isCompatible: version !== undefined && satisfies(version, range) };
  });
}

/** Returns the command that installs a feature. It quotes ranges with a caret, which some shells interpret. */
export function formatInstallCommand(feature: OptionalFeature): string {
  const specifiers = getFeaturePackages(feature).map(({ name, range }) => `${name}@${range}`);
  return `npm install ${specifiers.map((specifier) => (specifier.includes("^") ? `"${specifier}"` : specifier)).join(" ")}`;
}

/**
 * Returns why a feature can't be used, with the command that fixes it. Undefined if the feature is usable.
 *
 * @param packages the packages of the feature, if already known.
 */
export function findMissingPackageError(
  feature: OptionalFeature,
  packages = getFeaturePackages(feature),
): MissingPackageError | undefined {
  const incompatible = packages.filter(({ isCompatible }) => !isCompatible);
  if (incompatible.length === 0) return undefined;
  const descriptions = incompatible.map(
    ({ name, range, version }) => `${name} ${range} (${version ?? "none"} is installed)`,
  );
  return new MissingPackageError(
    `${OPTIONAL_FEATURES[feature].is} needs ${descriptions.join(" and ")} in addition to pulumi-email-security: \`${formatInstallCommand(feature)}\`.`,
  );
}

/**
 * Asserts that the packages of a feature are installed. Call it before you load them or start work that needs them. An unsupported version
 * also fails, because it could migrate a database to a format that other machines can't read.
 *
 * @throws {MissingPackageError} (`ERR_MISSING_PACKAGE`)
 */
export function assertFeatureInstalled(feature: OptionalFeature): void {
  const error = findMissingPackageError(feature);
  if (error !== undefined) throw error;
}

interface Manifest {
  readonly name?: string;
  readonly version?: string;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

function readManifest(): Manifest {
  return require("pulumi-email-security/package.json") as Manifest;
}

/** Reads the version from the manifest above the entry file, because some packages don't export their manifest. */
function readInstalledVersion(name: string): string | undefined {
  let directory: string;
  try {
    directory = dirname(require.resolve(name));
  } catch {
    return undefined;
  }
  for (; directory !== dirname(directory); directory = dirname(directory)) {
    const file = join(directory, "package.json");
    if (!existsSync(file)) continue;
    const candidate = JSON.parse(readFileSync(file, "utf8")) as Manifest;
    if (candidate.name === name) return candidate.version;
  }
  return undefined;
}

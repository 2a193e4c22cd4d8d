import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { satisfies } from "semver";
import { EmailSecurityError } from "./email-security-error";
import { isPostgres } from "./postgres-address";

/** What few programs use, of packages that whoever does so installs beside this one: its optional peers. */
export const OPTIONAL_PARTS = {
  postgres: {
    packages: ["pg", "pg-boss"],
    /** For what, as it is told. */
    is: "A rollout's journal in PostgreSQL",
    /** Whether the environment asks for it. */
    isAsked: (environment: NodeJS.ProcessEnv) => isPostgres(environment["EMAIL_SECURITY_DATABASE"] ?? ""),
  },
} as const;

/** The name of such a part. */
export type OptionalPart = keyof typeof OPTIONAL_PARTS;

/** A package of such a part. */
export interface OptionalPackage {
  readonly name: string;
  /** Which versions this package was made for. */
  readonly range: string;
  /** Which is installed; undefined where none is. */
  readonly version: string | undefined;
  readonly isFit: boolean;
}

/** What was asked for needs packages that are not installed: which, and the command that installs them. `ERR_MISSING_PACKAGE` */
export class MissingPackageError extends EmailSecurityError {
  constructor(message: string) {
    super("ERR_MISSING_PACKAGE", message);
  }
}

/** The packages of a part, as they are installed here. */
export function packagesOf(feature: OptionalPart): readonly OptionalPackage[] {
  const { peerDependencies } = readManifest();
  return OPTIONAL_PARTS[feature].packages.map((name) => {
    const range = peerDependencies[name] ?? "*";
    const version = readInstalledVersion(name);
    return { name, range, version, isFit: version !== undefined && satisfies(version, range) };
  });
}

/** The command that installs a part. Ranges with a caret are quoted, since a shell may interpret it. */
export function installCommand(feature: OptionalPart): string {
  const specifiers = packagesOf(feature).map(({ name, range }) => `${name}@${range}`);
  return `npm install ${specifiers.map((specifier) => (specifier.includes("^") ? `"${specifier}"` : specifier)).join(" ")}`;
}

/**
 * Why a part can't be used, with the command that mends it; undefined where it can.
 *
 * @param packages those of the part, where they were looked for already.
 */
export function missing(
  feature: OptionalPart,
  packages = packagesOf(feature),
): MissingPackageError | undefined {
  const incompatible = packages.filter(({ isFit }) => !isFit);
  if (incompatible.length === 0) return undefined;
  const descriptions = incompatible.map(
    ({ name, range, version }) => `${name} ${range} (${version ?? "none"} is installed)`,
  );
  return new MissingPackageError(
    `${OPTIONAL_PARTS[feature].is} needs ${descriptions.join(" and ")} beside pulumi-email-security: \`${installCommand(feature)}\`.`,
  );
}

/**
 * Before a part's packages are loaded, and before anything is begun that needs them. Another version than the one that this
 * package was made for is as good as none: it may bring a database into a form that other machines can't read.
 *
 * @throws {MissingPackageError} (`ERR_MISSING_PACKAGE`)
 */
export function requirePart(feature: OptionalPart): void {
  const error = missing(feature);
  if (error !== undefined) throw error;
}

interface Manifest {
  readonly name?: string;
  readonly version?: string;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

/** Of this package. */
function readManifest(): Manifest {
  return require("pulumi-email-security/package.json") as Manifest;
}

/** By the manifest above the file that an import would load: not each package lets its own be asked for. */
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

import { findLikelyTypo } from "./nearest-name";

const PREFIX = "EMAIL_SECURITY_";

/** All environment variables that this package, its rollouts and its tests read or set, without the prefix. */
export const ENVIRONMENT_VARIABLES: readonly string[] = [
  "ACCEPT_EMPTY_TENANT",
  "ALLOW_INSECURE_HTTP",
  "API_KEY",
  "BASE_URL",
  "CACHE_DIR",
  "COMMANDS",
  "COMMAND_VARIABLES",
  "DATABASE",
  "DEBUG",
  "KEY_FILES",
  "KEY_VARIABLES",
  "NESTED_PREVIEW",
  "NOTIFY_MAIL",
  "NOTIFY_SECRET",
  "NOTIFY_SLACK",
  "NOTIFY_TEAMS",
  "NOTIFY_WEBHOOK",
  "OWN_DOMAINS",
  "RATE_LIMITER",
  "RATE_LIMITER_TOKEN",
  "PLAN",
  "PLAN_DIGEST",
  "PLAN_FIRST",
  "ROLLOUT",
  "SERVICES",
  "SOURCES",
  "TENANTS",
  "TENANT_FINGERPRINT",
  "TENANT_IDENTITY",
  "TENANT_IDENTITY_FILE",
  "TENANT_SOURCE",
  "TEST_PROVIDER",
  "TEST_SEED",
  "TEST_SHARD",
  "TIMEOUT_MS",
  "WAVE",
];

/** Returns whether the text of a variable or a setting means yes: `1`, `true` or `yes`. */
export function isTruthy(text: string | undefined): boolean {
  return /^(1|true|yes)$/i.test(text ?? "");
}

/** Returns whether a run may send credentials over unencrypted connections. */
export function allowsInsecureHttp(environment: Readonly<Record<string, string | undefined>>): boolean {
  return isTruthy(environment["EMAIL_SECURITY_ALLOW_INSECURE_HTTP"]);
}

/** A credential of a source, such as `SOURCE_PHISH_FEED_TOKEN`. */
const SOURCE_CREDENTIAL = /^SOURCE_[A-Z0-9_]+_(?:TOKEN|HEADER|USER|PASSWORD)$/;

export interface MisspelledVariable {
  readonly name: string;
  readonly suggestion: string;
}

/**
 * Finds variables that are probably misspelt, if the variable they resemble isn't set. Other names may be intentional, such as one tenant's
 * key in `EMAIL_SECURITY_API_KEY_ACME`.
 */
export function findMisspelledVariables(
  environment: Readonly<Record<string, string | undefined>>,
): MisspelledVariable[] {
  return Object.keys(environment).flatMap((actualName) => {
    if (!actualName.toUpperCase().startsWith(PREFIX) || !environment[actualName]) return [];
    const name = actualName.slice(PREFIX.length);
    if (SOURCE_CREDENTIAL.test(name)) return [];
    const suggestion = findLikelyTypo(name, ENVIRONMENT_VARIABLES);
    if (suggestion === undefined || name.startsWith(`${suggestion}_`) || environment[PREFIX + suggestion]) return [];
    return [{ name: actualName, suggestion: PREFIX + suggestion }];
  });
}

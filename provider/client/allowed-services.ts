import { quote } from "../model/text";
import { ConfigurationError } from "./errors";

/** The environment variable with the service addresses that may receive keys. The operator who starts a run sets it. */
export const ALLOWED_SERVICES_VARIABLE = "EMAIL_SECURITY_SERVICES";

/**
 * Returns the service addresses that may receive keys, without trailing slashes; undefined if the run doesn't restrict them.
 *
 * @throws {ConfigurationError} if one of them isn't a valid address.
 */
export function parseAllowedServices(
  environment: Readonly<Record<string, string | undefined>>,
): readonly string[] | undefined {
  const addresses = environment[ALLOWED_SERVICES_VARIABLE]?.split(/[\s,]+/).filter((address) => address !== "") ?? [];
  if (addresses.length === 0) return undefined;
  return addresses.map((address) => {
    const url = URL.parse(address);
    if (url !== null && /^https?:$/.test(url.protocol)) return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
    throw new ConfigurationError(
      `${ALLOWED_SERVICES_VARIABLE} contains ${quote(address)}, which isn't a valid address; write addresses such as https://mail-security.example, separated by commas.`,
    );
  });
}

/**
 * Returns whether an address equals one of the services, or is below one.
 *
 * @param baseUrl without a trailing slash.
 */
export function isAllowedService(services: readonly string[], baseUrl: string): boolean {
  // Some servers decode these characters, which would allow an escape from the allowed path.
  if (/%(?:2e|2f|5c)/i.test(baseUrl)) return services.includes(baseUrl);
  return services.some((service) => baseUrl === service || baseUrl.startsWith(`${service}/`));
}

/**
 * Rejects an address that may not receive keys, wherever it was configured. A file in the repository must not redirect the
 * environment's key to another service.
 *
 * @param baseUrl the address as configured.
 * @throws {ConfigurationError} with a message that says how to allow the address.
 */
export function assertAllowedService(baseUrl: string, environment: Readonly<Record<string, string | undefined>>): void {
  const services = parseAllowedServices(environment);
  const url = URL.parse(baseUrl);
  // Invalid addresses get their own error elsewhere.
  if (services === undefined || url === null) return;
  const address = `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
  if (isAllowedService(services, address)) return;
  throw new ConfigurationError(
    `The service's address (baseUrl) is ${quote(address)}, which isn't in ${ALLOWED_SERVICES_VARIABLE}, so this run doesn't send the API key to it. Nothing was sent. If the address is correct, set the variable where the run is started: ${ALLOWED_SERVICES_VARIABLE}=${[...services, address].join(",")}`,
  );
}

import { quote } from "../settings/text";
import { ConfigurationError } from "./errors";

/** The addresses to which whoever starts a run lets keys be sent. */
export const SERVICES = "EMAIL_SECURITY_SERVICES";

/**
 * The addresses to which a run may send keys, without a slash at their ends; undefined where it says nothing of that.
 *
 * @throws {ConfigurationError} when one of them is no address.
 */
export function allowedServices(
  environment: Readonly<Record<string, string | undefined>>,
): readonly string[] | undefined {
  const addresses = environment[SERVICES]?.split(/[\s,]+/).filter((address) => address !== "") ?? [];
  if (addresses.length === 0) return undefined;
  return addresses.map((address) => {
    const url = URL.parse(address);
    if (url !== null && /^https?:$/.test(url.protocol))
      return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
    throw new ConfigurationError(
      `${SERVICES} holds ${quote(address)}, which is no address; write addresses such as https://mail-security.example, with commas between them.`,
    );
  });
}

/** Whether an address is one of these, or below one. @param baseUrl without a slash at its end. */
export function isServiceOf(services: readonly string[], baseUrl: string): boolean {
  // Some servers take these for what they stand for, and so for a way out of what is named.
  if (/%(?:2e|2f|5c)/i.test(baseUrl)) return services.includes(baseUrl);
  return services.some((service) => baseUrl === service || baseUrl.startsWith(`${service}/`));
}

/**
 * Refuses an address that the run does not let keys be sent to, wherever it was configured: a file of the repository that
 * names another must not get the key of the environment.
 *
 * @param baseUrl as it was configured.
 * @throws {ConfigurationError} that says what would allow it.
 */
export function refuseOtherService(
  baseUrl: string,
  environment: Readonly<Record<string, string | undefined>>,
): void {
  const services = allowedServices(environment);
  const url = URL.parse(baseUrl);
  // What is no address is refused as such, and in other words.
  if (services === undefined || url === null) return;
  const address = `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
  if (isServiceOf(services, address)) return;
  throw new ConfigurationError(
    `The service's address (baseUrl) is ${quote(address)}, to which this run sends no key: ${SERVICES} does not name it. Nothing was sent. If it is meant, set it where the run is started: ${SERVICES}=${[...services, address].join(",")}`,
  );
}

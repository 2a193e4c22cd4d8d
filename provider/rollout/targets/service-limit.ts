import { normalizeBaseUrl } from "../../client/base-url";
import { getErrorMessage } from "../../model/email-security-error";
import { quote } from "../../model/text";
import { type FileLocation, formatLineLocation, hasErrors } from "../../settings-files/finding";
import type { ServiceLimit, Target } from "../model/target";
import type { LocatedTarget } from "./target-builder";
import type { ParsedTargetsFile } from "./targets-file-reader";
import type { TargetsFindings } from "./targets-findings";

export function findServiceLimit(
  services: readonly (readonly [address: string, limit: ServiceLimit])[],
  { baseUrl }: Target,
): ServiceLimit | undefined {
  return services.find(([address]) => address === baseUrl)?.[1];
}

export function parseServiceLimits(
  { source, content }: ParsedTargetsFile,
  targets: readonly LocatedTarget[],
  findings: TargetsFindings,
): ReadonlyMap<string, ServiceLimit> {
  const services = new Map<string, ServiceLimit>();
  const locations = new Map<string, FileLocation>();
  const addresses = new Set(targets.map(({ target }) => target.baseUrl));
  for (const [addressText, limit] of Object.entries(content.services ?? {})) {
    const location = source.locateKey(["services", addressText]);
    const address = parseServiceAddress(addressText, location, findings);
    if (address === undefined) continue;
    const firstLocation = locations.get(address);
    if (firstLocation !== undefined) {
      const message = `the service ${quote(address)} is declared twice, here and at ${formatLineLocation(firstLocation)}; keep one of the two`;
      findings.addError("duplicate-service", message, location);
      continue;
    }
    locations.set(address, location);
    services.set(address, limit);
    if (addresses.has(address) || hasErrors(findings.list)) continue;
    const knownAddresses = [...addresses].slice(0, 3).map((knownAddress) => quote(knownAddress));
    findings.list.push({
      code: "service-unused",
      level: "warning",
      message: `no tenant has the address ${quote(address)}, so its limits apply to none; ${addresses.size === 1 ? "the only address is" : "the tenants' addresses are"} ${knownAddresses.join(", ")}${addresses.size > 3 ? ", …" : ""}`,
      place: location,
    });
  }
  return services;
}

function parseServiceAddress(
  addressText: string,
  location: FileLocation,
  findings: TargetsFindings,
): string | undefined {
  try {
    // Accepts plain HTTP here, because this entry only sets a limit and no key is sent because of it.
    return normalizeBaseUrl(addressText, true);
  } catch (error) {
    findings.addError("address", getErrorMessage(error), location);
    return undefined;
  }
}

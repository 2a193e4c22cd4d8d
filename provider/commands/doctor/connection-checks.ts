import { lookup } from "node:dns/promises";
import { connect } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { ConfigurationError } from "../../client";
import { getEndpointPathHint, normalizeBaseUrl } from "../../client/address";
import { assertAllowedService } from "../../client/allowed-services";
import { isSuccess } from "../../client/parse-response";
import { classifyResponse } from "../../client/response-classification";
import { sanitizeLine } from "../../settings/text";
import { type Check, type CheckContext, type CheckOutcome, fail, ok, skipped, warn } from "./check";

/** Checks each step from the address to a response. The first failure is the one to fix. */
export const connectionChecks: readonly Check[] = [
  { name: "address", run: checkAddress },
  { name: "proxy", needs: ["address"], run: checkProxy },
  { name: "dns", needs: ["address"], run: createDirectCheck(checkDns) },
  { name: "tcp", needs: ["dns"], run: createDirectCheck(checkTcp) },
  { name: "tls", needs: ["tcp"], run: createDirectCheck(checkTls) },
  { name: "answer", needs: ["tls"], run: checkResponse },
  { name: "clock", needs: ["answer"], run: checkClock },
];

const TIMEOUT_MS = 10_000;

/** A larger clock error noticeably affects `expires` and the delays that the service requests. */
const CLOCK_TOLERANCE_MS = 60_000;

/** The number of days before expiry at which a certificate causes a warning. */
const CERTIFICATE_DAYS = 14;

const DAY_MS = 86_400_000;

/**
 * Returns the service's address.
 *
 * @throws {ConfigurationError} if the address is invalid, or a run would not send a key there.
 */
export function resolveAddress({ environment }: CheckContext): string {
  const address = normalizeBaseUrl(
    environment["EMAIL_SECURITY_BASE_URL"] ?? "",
    /^(1|true|yes)$/i.test(environment["EMAIL_SECURITY_ALLOW_INSECURE_HTTP"] ?? ""),
  );
  assertAllowedService(address, environment);
  return address;
}

function checkAddress(context: CheckContext): CheckOutcome {
  if (!context.environment["EMAIL_SECURITY_BASE_URL"]) {
    return fail(
      "no address is given",
      "Set EMAIL_SECURITY_BASE_URL to your service's, such as https://mail-security.example.",
    );
  }
  try {
    const address = resolveAddress(context);
    const isUnencrypted = address.startsWith("http:") && context.environment["EMAIL_SECURITY_ALLOW_INSECURE_HTTP"];
    return isUnencrypted
      ? warn(`${sanitizeLine(address)}, in the clear`, "Use https: whoever is on the way can read the key.")
      : ok(sanitizeLine(address));
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return fail("the address can't be used", error.message);
  }
}

async function checkProxy(context: CheckContext): Promise<CheckOutcome> {
  const { environment } = context;
  const { proxy } = await context.probeService();
  if (proxy !== undefined) return ok(`requests go by ${sanitizeLine(proxy)}`);
  const isConfigured = ["https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY"].some((name) => environment[name]);
  return ok(isConfigured ? "one is set, and not used for this address" : "none is used");
}

/** Creates a check for a direct connection. With a proxy, the proxy does this step. */
function createDirectCheck(check: (url: URL, context: CheckContext) => Promise<CheckOutcome>): Check["run"] {
  return async (context) => {
    const { proxy } = await context.probeService();
    if (proxy !== undefined) return skipped("the proxy does it");
    return await check(new URL(resolveAddress(context)), context);
  };
}

async function checkDns(url: URL): Promise<CheckOutcome> {
  try {
    const { address } = await lookup(getHostname(url));
    return ok(`${sanitizeLine(url.hostname)} is ${address}`);
  } catch (error) {
    return fail(
      `${sanitizeLine(url.hostname)} has no address here (${getErrorCode(error)})`,
      "Is the name right? Some names are known inside a company's network only.",
    );
  }
}

async function checkTcp(url: URL): Promise<CheckOutcome> {
  const socket = connect({ host: getHostname(url), port: getPort(url), timeout: TIMEOUT_MS });
  try {
    await waitForSocket(socket, "connect");
    return ok(`port ${getPort(url)} accepts connections`);
  } catch (error) {
    const code = getErrorCode(error);
    return fail(
      `port ${getPort(url)} of ${sanitizeLine(url.hostname)} can't be reached (${code})`,
      code === "ECONNREFUSED"
        ? "Nothing listens there: is it the right port, and does the service run? Behind a company's proxy, set HTTPS_PROXY."
        : "Does a firewall stand between? Behind a company's proxy, set HTTPS_PROXY.",
    );
  } finally {
    socket.destroy();
  }
}

async function checkTls(url: URL, { environment }: CheckContext): Promise<CheckOutcome> {
  if (url.protocol !== "https:") return skipped("plain http has none");
  const host = getHostname(url);
  const servername = /^[\d.]+$|:/.test(host) ? {} : { servername: host };
  // Real requests ignore NODE_TLS_REJECT_UNAUTHORIZED, so this check does too.
  const tlsOptions = { rejectUnauthorized: true, ...servername };
  const socket = connectTls({ host, port: getPort(url), timeout: TIMEOUT_MS, ...tlsOptions });
  try {
    await waitForSocket(socket, "secureConnect");
    return checkCertificate(socket, environment);
  } catch (error) {
    // OpenSSL reports these codes if the peer doesn't use TLS.
    if (/^(?:EPROTO|ERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG))$/.test(getErrorCode(error))) {
      return fail(
        `what answers there speaks no TLS (${getErrorCode(error)})`,
        `Is port ${getPort(url)} one of plain http? Give the address with the port of its https.`,
      );
    }
    return fail(
      `what answers there is not trusted (${getErrorCode(error)})`,
      "Where your company's own authority vouches for it, name the file of its certificate in NODE_EXTRA_CA_CERTS.",
    );
  } finally {
    socket.destroy();
  }
}

function checkCertificate(socket: TLSSocket, environment: CheckContext["environment"]): CheckOutcome {
  const expiresAt = Date.parse(socket.getPeerCertificate().valid_to);
  const expiryDay = new Date(expiresAt).toISOString().slice(0, 10);
  const summary = `${socket.getProtocol()}, certificate until ${expiryDay}`;
  if (environment["NODE_TLS_REJECT_UNAUTHORIZED"] === "0") {
    return warn(
      `${summary}, and NODE_TLS_REJECT_UNAUTHORIZED=0 is set`,
      "Unset it: no request to the service follows it, and whatever else runs here trusts anybody.",
    );
  }
  return expiresAt - Date.now() < CERTIFICATE_DAYS * DAY_MS
    ? warn(summary, "It ends soon; who runs the service is to renew it.")
    : ok(summary);
}

async function checkResponse(context: CheckContext): Promise<CheckOutcome> {
  const { response, error, proxy } = await context.probeService();
  if (response === undefined) {
    const proxyText = proxy === undefined ? "" : ` by the proxy ${sanitizeLine(proxy)}`;
    return fail(
      `no answer came${proxyText} (${sanitizeLine(error?.message ?? "")})`,
      proxy === undefined
        ? "Try again; if it lasts, ask who runs the service."
        : "Is it the right proxy, and does it let this address through?",
    );
  }
  const { status, contentType } = response;
  if (/\bhtml\b/i.test(contentType)) {
    return fail(
      `a page for people answers (HTML, ${status}), not the service`,
      getEndpointPathHint(resolveAddress(context)) ??
        "A proxy, a sign-in page or another service answers at this address. Is EMAIL_SECURITY_BASE_URL the part before /api/v1?",
    );
  }
  const code = isSuccess(status) ? undefined : classifyResponse({ status }).code;
  if (code === "ERR_REDIRECT") {
    return fail(
      `it sends elsewhere (${status})`,
      getEndpointPathHint(resolveAddress(context)) ??
        "Give the address that it sends to; a redirect is never followed.",
    );
  }
  if (code === "ERR_NOT_FOUND") {
    return fail(
      "there is no such service below this address (404)",
      getEndpointPathHint(resolveAddress(context)) ??
        "EMAIL_SECURITY_BASE_URL is the part before /api/v1; is a path in it wrong or missing?",
    );
  }
  if (code === "ERR_RATE_LIMITED")
    return warn(`it refuses requests for now (${status})`, "Wait a minute, and look again.");
  if (code === "ERR_SERVER")
    return fail(`the service is in trouble (${status})`, "Try again; if it lasts, ask who runs it.");
  return ok(code === "ERR_AUTH" ? "it answers, and wants a key" : `it answers (${status})`);
}

async function checkClock(context: CheckContext): Promise<CheckOutcome> {
  const { response } = await context.probeService();
  if (response?.serverTime === undefined) return skipped("the service doesn't tell the time");
  const skewMs = response.receivedAt - response.serverTime;
  const seconds = Math.round(Math.abs(skewMs) / 1_000);
  if (Math.abs(skewMs) <= CLOCK_TOLERANCE_MS) return ok(`within ${Math.max(seconds, 1)} s of the service's`);
  return warn(
    `this machine is ${seconds} s ${skewMs > 0 ? "ahead of" : "behind"} the service`,
    "Set its clock by a time server: by it `expires` is judged, and how long the service asks to wait.",
  );
}

/** Waits for a socket event. Rejects if an error or a timeout comes first. */
function waitForSocket(socket: ReturnType<typeof connect>, event: "connect" | "secureConnect"): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once(event, () => resolve());
    socket.once("error", reject);
    socket.once("timeout", () => reject(Object.assign(new Error("timed out"), { code: "ETIMEDOUT" })));
  });
}

function getHostname({ hostname }: URL): string {
  return hostname.replace(/^\[(.+)\]$/, "$1");
}

function getPort({ port, protocol }: URL): number {
  return Number(port) || (protocol === "https:" ? 443 : 80);
}

function getErrorCode(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return sanitizeLine(code ?? message);
}

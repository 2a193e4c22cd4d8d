import { lookup } from "node:dns/promises";
import { connect } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { ConfigurationError } from "../../client";
import { checkBaseUrl, endpointPathHint } from "../../client/address";
import { refuseOtherService } from "../../client/allowed-services";
import { isSuccess } from "../../client/answer";
import { classify } from "../../client/response-classification";
import { printable } from "../../settings/text";
import { type Check, fail, type Observation, ok, type Patient, skipped, warn } from "./check";

/** Checks each step from the address to an answer. The first failure is the one to fix. */
export const connectionChecks: readonly Check[] = [
  { name: "address", look: checkAddress },
  { name: "proxy", needs: ["address"], look: checkProxy },
  { name: "dns", needs: ["address"], look: createDirectCheck(checkDns) },
  { name: "tcp", needs: ["dns"], look: createDirectCheck(checkTcp) },
  { name: "tls", needs: ["tcp"], look: createDirectCheck(checkTls) },
  { name: "answer", needs: ["tls"], look: checkResponse },
  { name: "clock", needs: ["answer"], look: checkClock },
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
export function addressOf({ environment }: Patient): string {
  const address = checkBaseUrl(
    environment["EMAIL_SECURITY_BASE_URL"] ?? "",
    /^(1|true|yes)$/i.test(environment["EMAIL_SECURITY_ALLOW_INSECURE_HTTP"] ?? ""),
  );
  refuseOtherService(address, environment);
  return address;
}

function checkAddress(context: Patient): Observation {
  if (!context.environment["EMAIL_SECURITY_BASE_URL"]) {
    return fail(
      "no address is given",
      "Set EMAIL_SECURITY_BASE_URL to your service's, such as https://mail-security.example.",
    );
  }
  try {
    const address = addressOf(context);
    const isUnencrypted = address.startsWith("http:") && context.environment["EMAIL_SECURITY_ALLOW_INSECURE_HTTP"];
    return isUnencrypted
      ? warn(`${printable(address)}, in the clear`, "Use https: whoever is on the way can read the key.")
      : ok(printable(address));
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return fail("what is given is no address that can be used", error.message);
  }
}

async function checkProxy(context: Patient): Promise<Observation> {
  const { environment } = context;
  const { proxy } = await context.contact();
  if (proxy !== undefined) return ok(`requests go by ${printable(proxy)}`);
  const isConfigured = ["https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY"].some((name) => environment[name]);
  return ok(isConfigured ? "one is set, and not used for this address" : "none is used");
}

/** Creates a check for a direct connection. With a proxy, the proxy does this step. */
function createDirectCheck(check: (url: URL, context: Patient) => Promise<Observation>): Check["look"] {
  return async (context) => {
    const { proxy } = await context.contact();
    if (proxy !== undefined) return skipped("the proxy does it");
    return await check(new URL(addressOf(context)), context);
  };
}

async function checkDns(url: URL): Promise<Observation> {
  try {
    const { address } = await lookup(getHostname(url));
    return ok(`${printable(url.hostname)} is ${address}`);
  } catch (error) {
    return fail(
      `${printable(url.hostname)} has no address here (${getErrorCode(error)})`,
      "Is the name right? Some names are known inside a company's network only.",
    );
  }
}

async function checkTcp(url: URL): Promise<Observation> {
  const socket = connect({ host: getHostname(url), port: getPort(url), timeout: TIMEOUT_MS });
  try {
    await waitForSocket(socket, "connect");
    return ok(`port ${getPort(url)} accepts connections`);
  } catch (error) {
    const code = getErrorCode(error);
    return fail(
      `port ${getPort(url)} of ${printable(url.hostname)} can't be reached (${code})`,
      code === "ECONNREFUSED"
        ? "Nothing listens there: is it the right port, and does the service run? Behind a company's proxy, set HTTPS_PROXY."
        : "Does a firewall stand between? Behind a company's proxy, set HTTPS_PROXY.",
    );
  } finally {
    socket.destroy();
  }
}

async function checkTls(url: URL, { environment }: Patient): Promise<Observation> {
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

function checkCertificate(socket: TLSSocket, environment: Patient["environment"]): Observation {
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

async function checkResponse(context: Patient): Promise<Observation> {
  const { answer, error, proxy } = await context.contact();
  if (answer === undefined) {
    const proxyText = proxy === undefined ? "" : ` by the proxy ${printable(proxy)}`;
    return fail(
      `no answer came${proxyText} (${printable(error?.message ?? "")})`,
      proxy === undefined
        ? "Try again; if it lasts, ask who runs the service."
        : "Is it the right proxy, and does it let this address through?",
    );
  }
  const { status, contentType } = answer;
  if (/\bhtml\b/i.test(contentType)) {
    return fail(
      `a page for people answers (HTML, ${status}), not the service`,
      endpointPathHint(addressOf(context)) ??
        "A proxy, a sign-in page or another service stands at this address. Is EMAIL_SECURITY_BASE_URL the part before /api/v1?",
    );
  }
  const code = isSuccess(status) ? undefined : classify({ status }).code;
  if (code === "ERR_REDIRECT") {
    return fail(
      `it sends elsewhere (${status})`,
      endpointPathHint(addressOf(context)) ?? "Give the address that it sends to; a redirect is never followed.",
    );
  }
  if (code === "ERR_NOT_FOUND") {
    return fail(
      "there is no such service below this address (404)",
      endpointPathHint(addressOf(context)) ??
        "EMAIL_SECURITY_BASE_URL is the part before /api/v1; is a path in it wrong or missing?",
    );
  }
  if (code === "ERR_RATE_LIMITED")
    return warn(`it refuses requests for now (${status})`, "Wait a minute, and look again.");
  if (code === "ERR_SERVER")
    return fail(`the service is in trouble (${status})`, "Try again; if it lasts, ask who runs it.");
  return ok(code === "ERR_AUTH" ? "it answers, and wants a key" : `it answers (${status})`);
}

async function checkClock(context: Patient): Promise<Observation> {
  const { answer } = await context.contact();
  if (answer?.serverTime === undefined) return skipped("the service doesn't tell the time");
  const skewMs = answer.at - answer.serverTime;
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
  return printable(code ?? message);
}

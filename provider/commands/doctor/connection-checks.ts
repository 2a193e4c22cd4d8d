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

/** From the address to an answer, one step at a time, so that the first that fails is the one to mend. */
export const connectionChecks: readonly Check[] = [
  { name: "address", look: lookAtAddress },
  { name: "proxy", needs: ["address"], look: lookAtProxy },
  { name: "dns", needs: ["address"], look: direct(lookUp) },
  { name: "tcp", needs: ["dns"], look: direct(connects) },
  { name: "tls", needs: ["tcp"], look: direct(greets) },
  { name: "answer", needs: ["tls"], look: lookAtAnswer },
  { name: "clock", needs: ["answer"], look: lookAtClock },
];

const TIMEOUT_MS = 10_000;

/** From this on `expires` and the waits that the service asks for are wrong by something that matters. */
const CLOCK_TOLERANCE_MS = 60_000;

/** A certificate that ends so soon is to be looked after. */
const CERTIFICATE_DAYS = 14;

const DAY_MS = 86_400_000;

/** The service's address. @throws {ConfigurationError} when it is none, or the run sends no key there. */
export function addressOf({ environment }: Patient): string {
  const address = checkBaseUrl(
    environment["EMAIL_SECURITY_BASE_URL"] ?? "",
    /^(1|true|yes)$/i.test(environment["EMAIL_SECURITY_ALLOW_INSECURE_HTTP"] ?? ""),
  );
  refuseOtherService(address, environment);
  return address;
}

function lookAtAddress(patient: Patient): Observation {
  if (!patient.environment["EMAIL_SECURITY_BASE_URL"]) {
    return fail(
      "no address is given",
      "Set EMAIL_SECURITY_BASE_URL to your service's, such as https://mail-security.example.",
    );
  }
  try {
    const address = addressOf(patient);
    const isClear = address.startsWith("http:") && patient.environment["EMAIL_SECURITY_ALLOW_INSECURE_HTTP"];
    return isClear
      ? warn(`${printable(address)}, in the clear`, "Use https: whoever is on the way can read the key.")
      : ok(printable(address));
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return fail("what is given is no address that can be used", error.message);
  }
}

async function lookAtProxy(patient: Patient): Promise<Observation> {
  const { environment } = patient;
  const { proxy } = await patient.contact();
  if (proxy !== undefined) return ok(`requests go by ${printable(proxy)}`);
  const isSet = ["https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY"].some((name) => environment[name]);
  return ok(isSet ? "one is set, and not used for this address" : "none is used");
}

/** A step of a direct connection; by a proxy it is the proxy that does it. */
function direct(step: (url: URL, patient: Patient) => Promise<Observation>): Check["look"] {
  return async (patient) => {
    const { proxy } = await patient.contact();
    if (proxy !== undefined) return skipped("the proxy does it");
    return await step(new URL(addressOf(patient)), patient);
  };
}

async function lookUp(url: URL): Promise<Observation> {
  try {
    const { address } = await lookup(hostOf(url));
    return ok(`${printable(url.hostname)} is ${address}`);
  } catch (error) {
    return fail(
      `${printable(url.hostname)} has no address here (${codeOf(error)})`,
      "Is the name right? Some names are known inside a company's network only.",
    );
  }
}

async function connects(url: URL): Promise<Observation> {
  const socket = connect({ host: hostOf(url), port: portOf(url), timeout: TIMEOUT_MS });
  try {
    await opened(socket, "connect");
    return ok(`port ${portOf(url)} accepts connections`);
  } catch (error) {
    const code = codeOf(error);
    return fail(
      `port ${portOf(url)} of ${printable(url.hostname)} can't be reached (${code})`,
      code === "ECONNREFUSED"
        ? "Nothing listens there: is it the right port, and does the service run? Behind a company's proxy, set HTTPS_PROXY."
        : "Does a firewall stand between? Behind a company's proxy, set HTTPS_PROXY.",
    );
  } finally {
    socket.destroy();
  }
}

async function greets(url: URL, { environment }: Patient): Promise<Observation> {
  if (url.protocol !== "https:") return skipped("plain http has none");
  const host = hostOf(url);
  const servername = /^[\d.]+$|:/.test(host) ? {} : { servername: host };
  // As requests do: not by what NODE_TLS_REJECT_UNAUTHORIZED says.
  const trust = { rejectUnauthorized: true, ...servername };
  const socket = connectTls({ host, port: portOf(url), timeout: TIMEOUT_MS, ...trust });
  try {
    await opened(socket, "secureConnect");
    return certificateOf(socket, environment);
  } catch (error) {
    // OpenSSL's words for what is no TLS at all.
    if (/^(?:EPROTO|ERR_SSL_(?:WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG))$/.test(codeOf(error))) {
      return fail(
        `what answers there speaks no TLS (${codeOf(error)})`,
        `Is port ${portOf(url)} one of plain http? Give the address with the port of its https.`,
      );
    }
    return fail(
      `what answers there is not trusted (${codeOf(error)})`,
      "Where your company's own authority vouches for it, name the file of its certificate in NODE_EXTRA_CA_CERTS.",
    );
  } finally {
    socket.destroy();
  }
}

function certificateOf(socket: TLSSocket, environment: Patient["environment"]): Observation {
  const until = Date.parse(socket.getPeerCertificate().valid_to);
  const day = new Date(until).toISOString().slice(0, 10);
  const found = `${socket.getProtocol()}, certificate until ${day}`;
  if (environment["NODE_TLS_REJECT_UNAUTHORIZED"] === "0") {
    return warn(
      `${found}, and NODE_TLS_REJECT_UNAUTHORIZED=0 is set`,
      "Unset it: no request to the service follows it, and whatever else runs here trusts anybody.",
    );
  }
  return until - Date.now() < CERTIFICATE_DAYS * DAY_MS
    ? warn(found, "It ends soon; who runs the service is to renew it.")
    : ok(found);
}

async function lookAtAnswer(patient: Patient): Promise<Observation> {
  const { answer, error, proxy } = await patient.contact();
  if (answer === undefined) {
    const by = proxy === undefined ? "" : ` by the proxy ${printable(proxy)}`;
    return fail(
      `no answer came${by} (${printable(error?.message ?? "")})`,
      proxy === undefined
        ? "Try again; if it lasts, ask who runs the service."
        : "Is it the right proxy, and does it let this address through?",
    );
  }
  const { status, contentType } = answer;
  if (/\bhtml\b/i.test(contentType)) {
    return fail(
      `a page for people answers (HTML, ${status}), not the service`,
      endpointPathHint(addressOf(patient)) ??
        "A proxy, a sign-in page or another service stands at this address. Is EMAIL_SECURITY_BASE_URL the part before /api/v1?",
    );
  }
  const code = isSuccess(status) ? undefined : classify({ status }).code;
  if (code === "ERR_REDIRECT") {
    return fail(
      `it sends elsewhere (${status})`,
      endpointPathHint(addressOf(patient)) ??
        "Give the address that it sends to; a redirect is never followed.",
    );
  }
  if (code === "ERR_NOT_FOUND") {
    return fail(
      "there is no such service below this address (404)",
      endpointPathHint(addressOf(patient)) ??
        "EMAIL_SECURITY_BASE_URL is the part before /api/v1; is a path in it wrong or missing?",
    );
  }
  if (code === "ERR_RATE_LIMITED")
    return warn(`it refuses requests for now (${status})`, "Wait a minute, and look again.");
  if (code === "ERR_SERVER")
    return fail(`the service is in trouble (${status})`, "Try again; if it lasts, ask who runs it.");
  return ok(code === "ERR_AUTH" ? "it answers, and wants a key" : `it answers (${status})`);
}

async function lookAtClock(patient: Patient): Promise<Observation> {
  const { answer } = await patient.contact();
  if (answer?.serverTime === undefined) return skipped("the service doesn't tell the time");
  const offMs = answer.at - answer.serverTime;
  const seconds = Math.round(Math.abs(offMs) / 1_000);
  if (Math.abs(offMs) <= CLOCK_TOLERANCE_MS) return ok(`within ${Math.max(seconds, 1)} s of the service's`);
  return warn(
    `this machine is ${seconds} s ${offMs > 0 ? "ahead of" : "behind"} the service`,
    "Set its clock by a time server: by it `expires` is judged, and how long the service asks to wait.",
  );
}

/** Waits for an event of a socket, and fails on an error or a time-out before it. */
function opened(socket: ReturnType<typeof connect>, event: "connect" | "secureConnect"): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once(event, () => resolve());
    socket.once("error", reject);
    socket.once("timeout", () => reject(Object.assign(new Error("timed out"), { code: "ETIMEDOUT" })));
  });
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.+)\]$/, "$1");
}

function portOf({ port, protocol }: URL): number {
  return Number(port) || (protocol === "https:" ? 443 : 80);
}

function codeOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return printable(code ?? message);
}

import { ConfigurationError } from "../../client";
import { isLoopback } from "../../client/address";
import { NOTICE_KINDS, type NoticeKind, type Notify, RECEIVERS, type ReceiverName } from "../model/notify";

/** Where notices go. */
export interface Receiver {
  readonly name: ReceiverName;
  /** A secret: whoever has it can write there. */
  readonly url: URL;
  readonly kinds: ReadonlySet<NoticeKind>;
  /** Whether it is told what changes, and not just how much. */
  readonly changes: boolean;
  /** Signs what is sent, where it is a webhook that asks for it. */
  readonly secret?: Uint8Array;
}

/** The variables of the environment that hold where to send, each a secret. */
export const ADDRESSES: Readonly<Record<ReceiverName, string>> = {
  webhook: "EMAIL_SECURITY_NOTIFY_WEBHOOK",
  slack: "EMAIL_SECURITY_NOTIFY_SLACK",
  teams: "EMAIL_SECURITY_NOTIFY_TEAMS",
  mail: "EMAIL_SECURITY_NOTIFY_MAIL",
};

/** The variable that holds what signs a webhook's body. */
export const SECRET = "EMAIL_SECURITY_NOTIFY_SECRET";

/**
 * Who is told: whom the environment gives an address for, of what the targets file says. A file alone has nothing sent, since an
 * address comes from the environment alone; without a word in the file, all kinds are told.
 *
 * @throws {ConfigurationError} that names the variable which holds no address; never what stands there.
 */
export function receiversOf(
  notify: Notify | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): readonly Receiver[] {
  return RECEIVERS.flatMap((name): Receiver[] => {
    const address = environment[ADDRESSES[name]];
    if (address === undefined || address.trim() === "") return [];
    const { events = NOTICE_KINDS, changes = false } = notify?.[name] ?? {};
    const secret = name === "webhook" ? secretOf(environment[SECRET]) : undefined;
    return [
      {
        name,
        url: urlOf(ADDRESSES[name], address),
        kinds: new Set<NoticeKind>(events),
        changes,
        ...(secret === undefined ? {} : { secret }),
      },
    ];
  });
}

/** Whom the targets file names, and the environment has no address for: the variables that are not set. */
export function unaddressed(
  notify: Notify | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  return RECEIVERS.filter(
    (name) => notify?.[name] !== undefined && !environment[ADDRESSES[name]]?.trim(),
  ).map((name) => ADDRESSES[name]);
}

function urlOf(variable: string, address: string): URL {
  const url = URL.parse(address.trim());
  const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback(url.hostname));
  if (url !== null && isSafe) return url;
  throw new ConfigurationError(
    `${variable} holds no address to send to (what stands there is not shown, as it is a secret); write one that begins with https://.`,
  );
}

/** As Standard Webhooks has it: `whsec_` and base64, of 24 to 64 bytes. */
function secretOf(text: string | undefined): Uint8Array | undefined {
  if (text === undefined || text.trim() === "") return undefined;
  const base64 = /^(?:whsec_)?([A-Za-z0-9+/]+={0,2})$/.exec(text.trim())?.[1] ?? "";
  const secret = Buffer.from(base64, "base64");
  if (secret.length >= 24 && secret.length <= 64) return secret;
  throw new ConfigurationError(
    `${SECRET} holds no secret (what stands there is not shown); write whsec_ and 24 to 64 bytes in base64, as \`openssl rand -base64 32\` makes them.`,
  );
}

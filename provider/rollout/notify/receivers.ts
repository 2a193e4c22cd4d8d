import { ConfigurationError } from "../../client";
import { isLoopback } from "../../client/base-url";
import {
  NOTICE_KINDS,
  type NoticeKind,
  type NotificationSettings,
  RECEIVERS,
  type ReceiverName,
} from "../model/notification-settings";

export interface Receiver {
  readonly name: ReceiverName;
  /** A secret: anyone who has it can post there. */
  readonly url: URL;
  readonly kinds: ReadonlySet<NoticeKind>;
  /** Whether notices include the changes, not only their numbers. */
  readonly includesChanges: boolean;
  /** The key to sign webhook bodies with, if configured. */
  readonly secret?: Uint8Array;
}

export const RECEIVER_ADDRESS_VARIABLES: Readonly<Record<ReceiverName, string>> = {
  webhook: "EMAIL_SECURITY_NOTIFY_WEBHOOK",
  slack: "EMAIL_SECURITY_NOTIFY_SLACK",
  teams: "EMAIL_SECURITY_NOTIFY_TEAMS",
  mail: "EMAIL_SECURITY_NOTIFY_MAIL",
};

export const WEBHOOK_SECRET_VARIABLE = "EMAIL_SECURITY_NOTIFY_SECRET";

/**
 * Returns the receivers with an address in the environment, and the kinds that the targets file selects. Addresses come only from
 * the environment, so the file alone sends nothing. Without a selection in the file, a receiver gets all kinds.
 *
 * @throws {ConfigurationError} for an invalid address. It names the variable, never its value.
 */
export function getReceivers(
  notify: NotificationSettings | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): readonly Receiver[] {
  return RECEIVERS.flatMap((name): Receiver[] => {
    const address = environment[RECEIVER_ADDRESS_VARIABLES[name]];
    if (address === undefined || address.trim() === "") return [];
    const { events = NOTICE_KINDS, changes: includesChanges = false } = notify?.[name] ?? {};
    const secret = name === "webhook" ? parseWebhookSecret(environment[WEBHOOK_SECRET_VARIABLE]) : undefined;
    return [
      {
        name,
        url: parseReceiverUrl(RECEIVER_ADDRESS_VARIABLES[name], address),
        kinds: new Set<NoticeKind>(events),
        includesChanges,
        ...(secret === undefined ? {} : { secret }),
      },
    ];
  });
}

export function findUnsetAddressVariables(
  notify: NotificationSettings | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  return RECEIVERS.filter(
    (name) => notify?.[name] !== undefined && !environment[RECEIVER_ADDRESS_VARIABLES[name]]?.trim(),
  ).map((name) => RECEIVER_ADDRESS_VARIABLES[name]);
}

function parseReceiverUrl(variable: string, address: string): URL {
  const url = URL.parse(address.trim());
  const isSecure = url?.protocol === "https:" || (url?.protocol === "http:" && isLoopback(url.hostname));
  if (url !== null && isSecure) return url;
  throw new ConfigurationError(
    `${variable} contains an invalid address (not shown, because it is a secret); it must begin with https://.`,
  );
}

/** Parses a key in the Standard Webhooks format: `whsec_` and base64, 24 to 64 bytes. */
function parseWebhookSecret(text: string | undefined): Uint8Array | undefined {
  if (text === undefined || text.trim() === "") return undefined;
  const base64 = /^(?:whsec_)?([A-Za-z0-9+/]+={0,2})$/.exec(text.trim())?.[1] ?? "";
  const secret = Buffer.from(base64, "base64");
  if (secret.length >= 24 && secret.length <= 64) return secret;
  throw new ConfigurationError(
    `${WEBHOOK_SECRET_VARIABLE} contains an invalid secret (not shown); write whsec_ and 24 to 64 bytes in base64, such as the output of \`openssl rand -base64 32\`.`,
  );
}

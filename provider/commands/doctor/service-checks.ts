import {
  AuthenticationError,
  CircuitOpenError,
  ConfigurationError,
  NotFoundError,
  RateLimitedError,
  ServiceError,
  SettingsClient,
} from "../../client";
import { getEndpointPathHint } from "../../client/base-url";
import { EmailSecurityError } from "../../model/email-security-error";
import {
  ADD_OWN_DOMAIN_ADVICE,
  collectMailDomains,
  describeUnexpectedDomains,
  formatFirstDomains,
  hasOnlyForeignDomains,
  suggestOwnDomains,
} from "../../model/mail-domains";
import { OwnDomains } from "../../model/own-domains";
import { quote } from "../../model/text";
import { NO_STACK_CONFIG, readOwnDomainNames } from "../../resources/configuration";
import { lintFiles } from "../../settings-files/lint-files";
import { inspectSettings } from "../../settings-files/read-settings";
import {
  type Check,
  type CheckContext,
  type CheckOutcome,
  reportFailure,
  reportOk,
  reportWarning,
} from "./check-outcome";
import { resolveAddress } from "./connection-checks";

/** Checks whether a key is set, whether the service accepts it, and what it can read. */
export const serviceChecks: readonly Check[] = [
  { name: "key", run: checkApiKey },
  {
    name: "key-accepted",
    needs: ["key", "answer"],
    run: createReadCheck("the allow/deny list", (client) =>
      client.allowDenyEntries.list({ list: "deny", page_size: 1 }),
    ),
  },
  {
    name: "vips-access",
    needs: ["key-accepted"],
    run: createReadCheck("the VIP employees", (client) => client.vipEmployees.list({ page_size: 1 })),
  },
  { name: "own-domains", needs: ["vips-access"], run: checkOwnDomains },
  {
    name: "threats-access",
    needs: ["key-accepted"],
    run: createReadCheck("threats", (client) => client.threats.list({ page_size: 1, minutes_ago: 60 }), "plan"),
  },
  {
    name: "reports-access",
    needs: ["key-accepted"],
    run: createReadCheck("phishing reports", (client) => client.phishingReports.list({ minutes_ago: 60 }), "plan"),
  },
];

const TIMEOUT_MS = 15_000;

function getApiKey({ environment }: CheckContext): string {
  return environment["EMAIL_SECURITY_API_KEY"] ?? "";
}

/** Describes the length and characters of the key without revealing any part of it. */
function checkApiKey(context: CheckContext): CheckOutcome {
  const key = getApiKey(context);
  if (key === "") {
    return reportFailure("no key is set", "Set EMAIL_SECURITY_API_KEY to the tenant's key, from your secret store.");
  }
  const summary = `${key.length} characters`;
  if (!/^[\x21-\x7e]+$/.test(key)) {
    return reportFailure(
      `${summary}, including white space, a line break or a non-ASCII character`,
      "A header can't contain that. Check how the key was copied; a secret store often keeps the line break at the end.",
    );
  }
  if (/^(["'`]).*\1$/.test(key)) return reportFailure(`${summary}, in quotes`, "Remove the quotes.");
  if (/^(?:bearer|x-api-key|api-?key)[:=]/i.test(key)) {
    return reportFailure(`${summary}, with a header name in front`, "Set only the key.");
  }
  if (/^[<$]/.test(key)) {
    return reportFailure(`${summary}, which look like a placeholder`, "Replace it with the key itself.");
  }
  return reportOk(`${summary}, ${/^[A-Za-z0-9]+$/.test(key) ? "letters and digits" : "letters, digits and symbols"}`);
}

/** Compares the domains of the tenant's mailboxes with the configured own domains. */
async function checkOwnDomains(context: CheckContext): Promise<CheckOutcome> {
  let ownDomains: OwnDomains;
  try {
    ownDomains = readExpectedOwnDomains(context);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return reportFailure("the tenant's own domains can't be read", error.message);
  }
  let mailboxes: readonly (string | undefined)[] | undefined;
  const check = createReadCheck("the VIP employees", async (client) => {
    const { items } = await client.vipEmployees.list({ page_size: 100 });
    mailboxes = items.map(({ email }) => email);
  });
  const result = await check(context);
  if (mailboxes === undefined) return result;
  const [firstDomain] = ownDomains.names;
  if (firstDomain === undefined) {
    const likelyDomains = suggestOwnDomains(mailboxes);
    return reportWarning(
      `ownDomains is not set here${likelyDomains.length === 0 ? "" : `; the VIPs have mailboxes of ${formatFirstDomains(likelyDomains)}`}`,
      OWN_DOMAINS_ADVICE,
    );
  }
  const mailDomains = collectMailDomains(mailboxes, false);
  if (hasOnlyForeignDomains(mailDomains, ownDomains)) {
    return reportFailure(
      describeUnexpectedDomains(mailDomains),
      `Check whether the key belongs to another tenant. ${ADD_OWN_DOMAIN_ADVICE}`,
    );
  }
  if (mailDomains.domains.size === 0) return reportOk("no VIP has a mailbox that could identify the tenant");
  return reportOk(
    `VIPs have mailboxes of ${quote(firstDomain)} or another own domain: it seems to be the right tenant`,
  );
}

const OWN_DOMAINS_ADVICE =
  "Set the tenant's own domains, in ownDomains of the settings file or in EMAIL_SECURITY_OWN_DOMAINS. They identify a key of another tenant, even on a first run, and risky entries.";

/**
 * Returns the own domains of a single settings file, as an apply would use them. With several files, the domains in the environment take
 * precedence.
 */
function readExpectedOwnDomains({ environment, files }: CheckContext): OwnDomains {
  const environmentDomains = readOwnDomainNames(NO_STACK_CONFIG, environment);
  const [fileDomains = [], ...otherFileDomains] = readFileOwnDomains(files);
  if (fileDomains.length > 0 && otherFileDomains.length === 0) return new OwnDomains(fileDomains);
  return new OwnDomains(environmentDomains.length > 0 ? environmentDomains : [fileDomains, ...otherFileDomains].flat());
}

function readFileOwnDomains(files: readonly string[] = []): readonly (readonly string[])[] {
  try {
    const { topLevelFiles } = lintFiles(files);
    return topLevelFiles.map((file) => inspectSettings(file, { ownDomains: [] }).settings?.tenantDomains ?? []);
  } catch (error) {
    // The settings check reports errors in the files.
    if (error instanceof EmailSecurityError) return [];
    throw error;
  }
}

/** @param onlyForCommand the command that needs this permission, if others don't. */
function createReadCheck(
  subject: string,
  request: (client: SettingsClient) => Promise<unknown>,
  onlyForCommand?: "plan",
): Check["run"] {
  return async (context) => {
    let client: SettingsClient;
    try {
      client = new SettingsClient({
        baseUrl: resolveAddress(context),
        apiKey: getApiKey(context),
        allowInsecureHttp: true,
        retries: false,
        timeoutMs: TIMEOUT_MS,
      });
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      return reportFailure("the key can't be used", error.message);
    }
    try {
      await request(client);
      return reportOk(`${subject} can be read`);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const result = describeRequestFailure(error, subject, getEndpointPathHint(client.baseUrl));
      return onlyForCommand === undefined || result.status === "warn"
        ? result
        : reportWarning(
            result.result,
            `\`${onlyForCommand}\` continues without them, and reports it. ${result.advice ?? ""}`.trim(),
          );
    } finally {
      await client.close();
    }
  };
}

function describeRequestFailure(error: ServiceError, subject: string, addressHint: string | undefined): CheckOutcome {
  if (error instanceof RateLimitedError || error instanceof CircuitOpenError) {
    const { retryAfterMs } = error;
    const waitText = retryAfterMs === undefined ? "a minute" : `${Math.ceil(retryAfterMs / 1_000)} s`;
    return reportWarning(
      "the service rejects requests for now (429)",
      `Wait ${waitText}, and check again. Another run may be in progress. Runs wait automatically.`,
    );
  }
  if (error instanceof AuthenticationError && error.status === 401) {
    return reportFailure(
      "the service rejects the key (401)",
      "Check that the key belongs to this tenant and this address. It may have been revoked; get a new one.",
    );
  }
  if (error instanceof AuthenticationError) {
    return reportFailure(
      `the key isn't allowed to read ${subject} (${error.status})`,
      "The service knows the key. Grant it the permission, or use another key.",
    );
  }
  if (error instanceof NotFoundError) {
    return reportFailure(
      `the service has no endpoint for ${subject} at this address (404)`,
      addressHint ?? "EMAIL_SECURITY_BASE_URL is the part before /api/v1. Check whether its path is wrong or missing.",
    );
  }
  return reportFailure(`${subject} can't be read [${error.code}]`, error.message);
}

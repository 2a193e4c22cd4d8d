import type { Explanations } from "./explanation";

export const SERVICE_ERRORS = {
  ERR_AUTH: {
    meaning: "The service rejected the API key (status 401 or 403). Nothing was changed.",
    example:
      "GET /api/v1/settings/vip_employees at https://mail-security.example returned 401: the X-Api-Key header is missing or does not contain a valid API key. The service does not accept this API key; check the key, and that it belongs to this address and tenant.",
    causes: [
      "the key is mistyped, was replaced, or has expired",
      "the key belongs to another tenant, or to a service other than the address",
      "the key may read settings, but not change them",
    ],
    remedies: [
      "Check in the service's console that the key is valid and may change settings.",
      "Set it again: `EMAIL_SECURITY_API_KEY`, or `pulumi config set --secret email-security:apiKey`.",
    ],
    nextCommand: "email-security doctor",
  },
  ERR_BAD_REQUEST: {
    meaning: "The service rejected the request as invalid (status 400). Nothing was changed.",
    example:
      'POST /api/v1/settings/allow_deny_entries at https://mail-security.example returned 400: value: "no domain" isn\'t a valid domain. The service rejected the request as invalid; nothing was changed.',
    causes: [
      "a value, scope or comment that this service doesn't accept; its own message says which",
      "a release of the service whose requirements differ from its API reference",
    ],
    remedies: ["Fix the problem in the service's message, in the program or in the settings file."],
    nextCommand: "pulumi up --refresh",
  },
  ERR_NOT_FOUND: {
    meaning: "The requested object doesn't exist at this tenant (status 404).",
    example:
      "DELETE /api/v1/settings/allow_deny_entries/ade_7q2m at https://mail-security.example returned 404: the allow/deny entry ade_7q2m does not exist. Either it does not exist for this tenant, or the address isn't the service's.",
    causes: [
      "somebody removed it in the console since the last read",
      "the address isn't the service's, or has an extra path",
      "the id belongs to another tenant",
    ],
    remedies: [
      "Check `EMAIL_SECURITY_BASE_URL`: it is the part before `/api/v1`, such as https://mail-security.example.",
      "If it is right, a refresh detects the missing object, and the next `up` creates it again.",
    ],
    nextCommand: "pulumi up --refresh",
  },
  ERR_CONFLICT: {
    meaning: "The object already exists, or conflicts with another entry (status 409).",
    example:
      "POST /api/v1/settings/allow_deny_entries at https://mail-security.example returned 409: twice.example is already on the deny list with verdict scope global. It already exists, or conflicts with another entry.",
    causes: ["the same value is on the other list", "a colleague or another stack added it at the same moment"],
    remedies: ["Look in the service's console for the existing entry, and declare or remove it."],
    nextCommand: "pulumi up --refresh",
  },
  ERR_RATE_LIMITED: {
    meaning: "The service limited the rate of requests (status 429), even after all retries. Completed changes stay.",
    example:
      "GET /api/v1/settings/allow_deny_entries at https://mail-security.example returned 429: too many requests: the limit is 0.1 per second. Too many requests; wait 10 s, then run again.",
    causes: [
      "other programs send requests with the same key",
      "a limit that is too low for a run of this size",
      "the service requests a longer wait (`Retry-After`) than the run's maximum of 2 minutes; the message says until when to wait",
    ],
    remedies: [
      "Wait as long as the message says.",
      "For rollouts, set a lower `requestsPerSecond` for the address in `tenants.yaml`.",
      "For hundreds of entries, use a whole list: it sends far fewer requests.",
    ],
    nextCommand: "pulumi up --refresh",
  },
  ERR_SERVER: {
    meaning: "The service failed (status 5xx) in every attempt. Completed changes stay, and you can safely run again.",
    example:
      "GET /api/v1/settings/allow_deny_entries at https://mail-security.example returned 503: down for maintenance. The service failed. You can safely run again.",
    causes: ["the service is down or under maintenance", "a proxy in front of the service can't reach it"],
    remedies: ["Check whether the service is healthy, and wait until it is."],
    nextCommand: "pulumi up --refresh",
  },
  ERR_UNEXPECTED_STATUS: {
    meaning: "The service returned a status that its API reference doesn't define.",
    example:
      "GET /api/v1/settings/allow_deny_entries at https://mail-security.example returned 418: I am a teapot. The service's reference does not define this status.",
    causes: ["a proxy, a firewall or another service responds at this address"],
    remedies: ["Find out from the quoted response what responds at the address."],
    nextCommand: "email-security doctor",
  },
  ERR_REDIRECT: {
    meaning: "The address responds with a redirect. It isn't followed, because that would send the API key elsewhere.",
    example:
      'GET /api/v1/settings/allow_deny_entries at https://mail-security.example returned 302, a redirect to "https://sign-in.example/", which is not followed because it would send the API key elsewhere. Configure the address that responds without a redirect.',
    causes: ["the address is outdated, or lacks a part, such as `www.`", "a sign-in page in front of the service"],
    remedies: ["Configure the final address: the target of the redirect, if that is the service."],
    nextCommand: "email-security doctor",
  },
  ERR_TIMEOUT: {
    meaning: "No complete response arrived within the request timeout.",
    example:
      "GET /api/v1/settings/allow_deny_entries at https://mail-security.example received no complete response within 100 ms. Check the address. If the service is slow, increase the timeout: EMAIL_SECURITY_TIMEOUT_MS, or timeoutMs in a program.",
    causes: ["the service is slow or down", "a firewall drops the packets without a response"],
    remedies: [
      "Check whether the service is healthy, and whether its address can be reached from here.",
      "If it is only slow, raise the timeout: `EMAIL_SECURITY_TIMEOUT_MS=60000`.",
    ],
    nextCommand: "email-security doctor",
  },
  ERR_NETWORK: {
    meaning: "The connection to the service failed or was lost.",
    example:
      "GET /api/v1/settings/allow_deny_entries at https://mail-security.example failed: connect ECONNREFUSED mail-security.example. Check that the address is correct and reachable from here.",
    causes: [
      "a typo in the address, or a name that can't be resolved here",
      "a corporate proxy that must be set in `HTTPS_PROXY`",
      "a certificate of a private authority that must be set in `NODE_EXTRA_CA_CERTS`",
      "the service is down",
    ],
    remedies: ["Check the address and the connection to it, based on the reason in the message."],
    nextCommand: "email-security doctor",
  },
  ERR_CIRCUIT_OPEN: {
    meaning:
      "The request was not sent, because previous requests kept failing. The message begins with the last of these failures.",
    example:
      "GET /api/v1/settings/allow_deny_entries at https://mail-security.example returned 503: down for maintenance. The service failed. You can safely run again. Because requests kept failing, GET /api/v1/settings/allow_deny_entries at https://mail-security.example was not sent. You can safely run again: only the remaining changes are made.",
    causes: ["the service is down and failed several times in a row"],
    remedies: [
      "Look up the code of the failure at the start of the message.",
      "Wait until the service is healthy; after half a minute, the next request probes it.",
    ],
    nextCommand: "pulumi up --refresh",
  },
  ERR_CANCELLED: {
    meaning: "The request was not sent, because the run was cancelled. Completed changes stay.",
    example:
      "The run was cancelled, so GET /api/v1/settings/allow_deny_entries at https://mail-security.example was not sent. Completed changes stay. Run again to make the rest.",
    causes: ["Ctrl-C", "the CI job was stopped"],
    remedies: ["You don't need to fix anything: the next run does the rest."],
    nextCommand: "pulumi up --refresh",
  },
  ERR_CUSTOM_TIMEOUT: {
    meaning:
      "A resource took longer than its `customTimeouts` allow. Requests that are reported as in progress may have taken effect. All others did not, and won't be sent.",
    example:
      "The operation timed out before the service responded: the timeout of 1 s of customTimeouts.create of this AllowDenyEntry was exceeded during POST /api/v1/settings/allow_deny_entries at https://mail-security.example, which may have taken effect. Nothing more is sent. You can safely run again: a run checks the current state and does the rest. If the service needs longer, increase the timeout.",
    causes: [
      "the service is slow, or failed and was retried repeatedly",
      "a limit that was meant for one entry, on a list of thousands",
    ],
    remedies: [
      "Run again: the run first verifies which changes took effect, and adopts them.",
      "Raise the limit in `customTimeouts`, or remove it: each request has its own timeout (`timeoutMs`), and the number of retries is limited.",
    ],
    nextCommand: "pulumi up --refresh",
  },
  ERR_NO_TOKEN: {
    meaning:
      "The request was not sent: the rollout that shares the address's rate limit among its tenants grants no more tokens.",
    example:
      "GET /api/v1/settings/allow_deny_entries at https://mail-security.example was not sent: the rollout that started this process has ended, so it isn't allowed to continue.",
    causes: [
      "the rollout's process ended or was killed, and left an engine running",
      "another worker now has the tenant's job",
    ],
    remedies: ["You don't need to fix anything: the rollout continues from where it was."],
    nextCommand: "email-security rollout resume",
  },
  ERR_HTML_RESPONSE: {
    meaning: "The response is a web page instead of the service's data.",
    example:
      'GET /api/v1/settings/allow_deny_entries at https://mail-security.example returned 200 with an HTML page instead of JSON: "<!doctype html><title>Sign in</title>". Check that the address is the service\'s own, and not that of a sign-in page or a proxy.',
    causes: [
      "the address belongs to the service's console, not to its API",
      "a sign-in page or a proxy in front of the service",
    ],
    remedies: ["Configure the address of the API."],
    nextCommand: "email-security doctor",
  },
  ERR_CONTENT_TYPE: {
    meaning: "The response isn't JSON, but something else.",
    example:
      'GET /api/v1/settings/allow_deny_entries at https://mail-security.example returned 200 with content of type "text/plain" instead of JSON: "It works!"',
    causes: [
      "a proxy or another service responds at this address",
      "a proxy encodes responses in a way that wasn't requested",
    ],
    remedies: ["Find out from the quoted response what responds at the address."],
    nextCommand: "email-security doctor",
  },
  ERR_EMPTY_BODY: {
    meaning: "The service reported success, but returned no data where data is required.",
    example:
      "GET /api/v1/settings/allow_deny_entries at https://mail-security.example returned 200 with an empty body instead of JSON",
    causes: ["a proxy that truncates responses", "a bug in the service"],
    remedies: [
      "Find out what responds at the address: a proxy, or another service.",
      "If it is the service, report the request in the message to its operators.",
    ],
    nextCommand: "email-security doctor",
  },
  ERR_TRUNCATED_BODY: {
    meaning: "A response is truncated, or isn't valid JSON.",
    example:
      "GET /api/v1/settings/allow_deny_entries at https://mail-security.example returned 200 with JSON that is invalid or truncated: '{\"results\": {'",
    causes: ["a connection that was lost", "a proxy that truncates long responses"],
    remedies: ["Run again: the run first verifies which changes took effect, and does nothing twice."],
    nextCommand: "pulumi up --refresh",
  },
  ERR_WRONG_ENVELOPE: {
    meaning: "The response has the form of another endpoint or of an error, and was rejected.",
    example:
      "GET /api/v1/settings/allow_deny_entries at https://mail-security.example returned 200, but it has `error` instead of `results`; the service reports: try later",
    causes: [
      "another service, or another release of this one, responds at this address",
      "the service reports a failure with a success status",
    ],
    remedies: [
      "Read the service's own message, if it is quoted.",
      "Check the address, and that the service's release is supported.",
    ],
    nextCommand: "email-security doctor",
  },
  ERR_INVALID_RESPONSE: {
    meaning: "The response is valid JSON, but doesn't match the service's API reference. No action is based on it.",
    example:
      "GET /api/v1/settings/allow_deny_entries at https://mail-security.example returned 200, but its body doesn't match the reference: results: Invalid input: expected object, received undefined",
    causes: [
      "another service responds at this address",
      "a release of the service whose responses differ from its API reference",
    ],
    remedies: ["Check the address.", "If it is right, report the message: it shows the field, and contains no key."],
    nextCommand: "email-security doctor",
  },
  ERR_RESPONSE_TOO_LARGE: {
    meaning: "The response exceeds a limit: 16 MiB, a million JSON values or 50,000 items.",
    example:
      "GET /api/v1/settings/allow_deny_entries at https://mail-security.example returned 200, but it lists 50001 items, but a page has at most 200; the client reads at most 50000",
    causes: ["another service responds at this address", "a service that ignores the page size"],
    remedies: [
      "Check the address.",
      "A program that uses the client directly can request smaller pages, or raise the limit (`maxResponseBytes`).",
    ],
    nextCommand: "email-security doctor",
  },
  ERR_NOT_IN_ORGANIZATION: {
    meaning:
      "The service reports that a mailbox doesn't belong to the organization. No address of the request was written.",
    example:
      "According to the service, lena@elsewhere.example isn't a mailbox of the organization; nothing was written. Check the spelling, that the mailbox exists in the directory, and that the API key belongs to the right tenant.",
    causes: [
      "a typo in the address",
      "the mailbox does not exist in the directory yet",
      "the key belongs to another tenant",
    ],
    remedies: ["Fix the address, or have the mailbox created.", "Check which tenant the key belongs to."],
    nextCommand: "pulumi up --refresh",
  },
  ERR_LIST_UNSTABLE: {
    meaning:
      "A list kept changing while its pages were read, or its pages contradict each other. No action is based on it.",
    example:
      "The deny list could not be read consistently in 5 attempts: its pages have 3 items, but its total is 1. Someone may be changing it; run again later.",
    causes: ["another run, or a colleague, is changing many entries right now", "a bug in the service's paging"],
    remedies: [
      "Wait until nobody else changes the tenant.",
      "If it persists, report the message to the operators of the service.",
    ],
    nextCommand: "pulumi up --refresh",
  },
} as const satisfies Explanations;

export const CONFIGURATION_ERRORS = {
  ERR_CONFIGURATION: {
    meaning:
      "The configuration or the options of a command are incomplete or invalid. No request was sent to the service.",
    example: "The API key of the tenant is not configured. Set EMAIL_SECURITY_API_KEY in the environment.",
    causes: [
      "the address or the key is not set where the command runs",
      "plain http to another machine, which isn't allowed",
      "a typo in the name of a variable",
      "options that don't go together",
    ],
    remedies: [
      "Fix the problem in the message.",
      "If it is set, look for a typo in its name: variables with other names aren't read.",
    ],
    nextCommand: "email-security doctor",
  },
  ERR_INVALID_ARGUMENT: {
    meaning: "An argument of a call is invalid, so no request was sent.",
    example: "id is empty",
    causes: ["an id that is empty or too long, a number out of range, or a query parameter that only the client sets"],
    remedies: ["Fix the argument in the message, in the program that makes the call."],
    nextCommand: "npx tsc --noEmit",
  },
  ERR_MISSING_PACKAGE: {
    meaning:
      "The operation needs optional packages that aren't installed, or other versions of them. Nothing was started.",
    example:
      'A rollout\'s journal in PostgreSQL needs pg ^8.23.1 (none is installed) and pg-boss 12.35.0 (none is installed) in addition to pulumi-email-security: `npm install "pg@^8.23.1" pg-boss@12.35.0`.',
    causes: [
      "a journal in PostgreSQL without the packages that it needs",
      "a source that reads a directory, without the library for it",
      "packages that were installed in a directory other than that of `pulumi-email-security`, or only for development",
      "a later release that needs later versions",
    ],
    remedies: [
      "Run the command in the message in the directory where `pulumi-email-security` is installed, with your own package manager.",
      "If you don't need a journal in PostgreSQL here, unset EMAIL_SECURITY_DATABASE.",
    ],
    nextCommand: "email-security doctor",
  },
} as const satisfies Explanations;

import type { Explanations } from "./explanation";

/** Errors of the service and of the connection to it. */
export const SERVICE_ERRORS = {
  ERR_AUTH: {
    means: "The service does not accept the API key (it answered 401 or 403). Nothing was changed.",
    example:
      "GET /api/v1/settings/vip_employees at https://mail-security.example answered 401: the X-Api-Key header is missing or holds no valid API key. The service does not accept this API key here; check the key, and that it belongs to this address and tenant.",
    causes: [
      "the key is mistyped, was replaced, or has expired",
      "the key is of another tenant, or of another service than the address",
      "the key may read, but not change settings",
    ],
    remedies: [
      "Check in the service's console that the key is valid, and may change settings.",
      "Set it again: `EMAIL_SECURITY_API_KEY`, or `pulumi config set --secret email-security:apiKey`.",
    ],
    next: "email-security doctor",
  },
  ERR_BAD_REQUEST: {
    means: "The service finds the request invalid (it answered 400). Nothing was changed.",
    example:
      'POST /api/v1/settings/allow_deny_entries at https://mail-security.example answered 400: value: "no domain" isn\'t a valid domain. The service found the request invalid; nothing was changed.',
    causes: [
      "a value, scope or comment that this service does not take; its own words say which",
      "a release of the service that asks for something else than its reference says",
    ],
    remedies: ["Fix what the service's message names, in the program or in the settings file."],
    next: "pulumi up --refresh",
  },
  ERR_NOT_FOUND: {
    means: "The requested object does not exist for this tenant (the service answered 404).",
    example:
      "DELETE /api/v1/settings/allow_deny_entries/ade_7q2m at https://mail-security.example answered 404: there is no allow/deny entry ade_7q2m. Either it does not exist for this tenant, or this is not the service's address.",
    causes: [
      "somebody removed it in the console since it was last read",
      "the address is not the service's own, or has a path too many",
      "the id is of another tenant",
    ],
    remedies: [
      "Check `EMAIL_SECURITY_BASE_URL`: it is the part before `/api/v1`, such as https://mail-security.example.",
      "Where it is right, a refresh sees what is gone, and the next `up` makes it again.",
    ],
    next: "pulumi up --refresh",
  },
  ERR_CONFLICT: {
    means: "It exists already, or collides with another entry (the service answered 409).",
    example:
      "POST /api/v1/settings/allow_deny_entries at https://mail-security.example answered 409: twice.example is already on the deny list with verdict scope global. It exists already, or collides with another entry.",
    causes: ["the same value stands on the other list", "a colleague or another stack added it at the same moment"],
    remedies: ["See in the service's console what is there, and declare that, or remove it."],
    next: "pulumi up --refresh",
  },
  ERR_RATE_LIMITED: {
    means: "The service limited the rate of requests (it answered 429), also after every wait. Completed changes stay.",
    example:
      "GET /api/v1/settings/allow_deny_entries at https://mail-security.example answered 429: too many requests: the limit is 0.1 a second. Too many requests; wait 10 s, then run again.",
    causes: [
      "other programs ask the service with the same key",
      "a limit that is lower than a run of this size needs",
      "the service asks for a longer wait (`Retry-After`) than the 2 minutes that a run waits; the message gives the time until which to wait",
    ],
    remedies: [
      "Wait as long as the message says.",
      "For rollouts, set a lower `requestsPerSecond` for the address in `tenants.yaml`.",
      "For hundreds of entries, use a whole list: it asks far less.",
    ],
    next: "pulumi up --refresh",
  },
  ERR_SERVER: {
    means: "The service failed (it answered 5xx) in every attempt. Completed changes stay; running again is safe.",
    example:
      "GET /api/v1/settings/allow_deny_entries at https://mail-security.example answered 503: down for maintenance. The service failed; running again is safe.",
    causes: ["the service is down or is being maintained", "a proxy before it does not reach it"],
    remedies: ["See whether the service is well, and wait until it is."],
    next: "pulumi up --refresh",
  },
  ERR_UNEXPECTED_STATUS: {
    means: "The service answered with a status that its reference does not name.",
    example:
      "GET /api/v1/settings/allow_deny_entries at https://mail-security.example answered 418: I am a teapot. The service's reference does not name this status.",
    causes: ["a proxy, a firewall or another service answers at this address"],
    remedies: ["See what answers at the address, by the words in the message."],
    next: "email-security doctor",
  },
  ERR_REDIRECT: {
    means: "The address answers with a redirect. It is refused, since it would carry the key elsewhere.",
    example:
      'GET /api/v1/settings/allow_deny_entries at https://mail-security.example answered 302, a redirect to "https://sign-in.example/", which is refused because it would carry the API key elsewhere. Configure the address that answers itself.',
    causes: ["the address is an old one, or lacks a part, such as `www.`", "a sign-in page stands before the service"],
    remedies: [
      "Configure the address that answers itself: the one that the redirect names, where that is the service.",
    ],
    next: "email-security doctor",
  },
  ERR_TIMEOUT: {
    means: "No whole answer came within the time limit of a request.",
    example:
      "GET /api/v1/settings/allow_deny_entries at https://mail-security.example gave no whole answer within 100 ms. Check the address; where the service is slow, allow it more: timeoutMs, or EMAIL_SECURITY_TIMEOUT_MS.",
    causes: ["the service is slow or down", "a firewall drops the packets, and answers nothing"],
    remedies: [
      "See whether the service is well, and whether its address can be reached from here.",
      "Where it is just slow, allow it more: `EMAIL_SECURITY_TIMEOUT_MS=60000`.",
    ],
    next: "email-security doctor",
  },
  ERR_NETWORK: {
    means: "There is no connection to the service, or it broke.",
    example:
      "GET /api/v1/settings/allow_deny_entries at https://mail-security.example failed: connect ECONNREFUSED mail-security.example. Check that the address is right and can be reached from here.",
    causes: [
      "a slip in the address, or a name that is not known here",
      "a company's proxy that has to be named in `HTTPS_PROXY`",
      "a certificate of a company's own authority, which has to be named in `NODE_EXTRA_CA_CERTS`",
      "the service is down",
    ],
    remedies: ["Check the address and the way to it, by the reason in the message."],
    next: "email-security doctor",
  },
  ERR_CIRCUIT_OPEN: {
    means:
      "The request was not sent, since those before it kept failing. The message begins with the last of these failures.",
    example:
      "GET /api/v1/settings/allow_deny_entries at https://mail-security.example answered 503: down for maintenance. The service failed; running again is safe. Since requests kept failing, GET /api/v1/settings/allow_deny_entries at https://mail-security.example was not sent. Running again is safe: it does what is left.",
    causes: ["the service is down, and was asked several times in a row"],
    remedies: [
      "Look up the code of the failure that the message begins with.",
      "Wait until the service is healthy; after half a minute, the next request probes it.",
    ],
    next: "pulumi up --refresh",
  },
  ERR_CANCELLED: {
    means: "The request was not sent, since the run was cancelled. Completed changes stay.",
    example:
      "The run was cancelled, so GET /api/v1/settings/allow_deny_entries at https://mail-security.example was not sent. Completed changes stay; running again does the rest.",
    causes: ["Ctrl-C", "the CI job was stopped"],
    remedies: ["Nothing needs to be fixed: the next run does what is left."],
    next: "pulumi up --refresh",
  },
  ERR_CUSTOM_TIMEOUT: {
    means:
      "A resource took longer than its `customTimeouts` allow. Requests that are reported as in progress may have taken effect; all others did not, and are not sent any more.",
    example:
      "The time was up before the service had answered: the 1 s of customTimeouts.create of this AllowDenyEntry were over when POST /api/v1/settings/allow_deny_entries at https://mail-security.example was under way, so it may have been done. Nothing more is sent. Running again is safe: it looks at what is there and does what is left. Where the service needs longer, allow more.",
    causes: [
      "the service is slow, or was asked again and again since it failed",
      "a limit that was meant for one entry, at a list of thousands",
    ],
    remedies: [
      "Run again: the run verifies first which changes took effect, and adopts them.",
      "Raise the limit in `customTimeouts`, or remove it: each request has its own (`timeoutMs`), and a limited number of retries.",
    ],
    next: "pulumi up --refresh",
  },
  ERR_NO_TOKEN: {
    means:
      "The request was not sent: the rollout that shares the address's rate limit among its tenants gives it no more tokens.",
    example:
      "GET /api/v1/settings/allow_deny_entries at https://mail-security.example was not sent: the rollout that started this process is gone, and nobody else may let it go on.",
    causes: [
      "the rollout's process ended or was killed, and left an engine behind",
      "another worker has taken the tenant over",
    ],
    remedies: ["Nothing needs to be fixed: the rollout goes on where it was."],
    next: "email-security rollout resume",
  },
  ERR_HTML_RESPONSE: {
    means: "A web page came where the service's data was due.",
    example:
      'GET /api/v1/settings/allow_deny_entries at https://mail-security.example answered 200 with an HTML page instead of JSON: "<!doctype html><title>Sign in</title>". Is the address that of the service itself, and no sign-in page or proxy in between?',
    causes: [
      "the address is that of the service's console, and not of its API",
      "a sign-in page or a proxy stands before the service",
    ],
    remedies: ["Configure the address of the API itself."],
    next: "email-security doctor",
  },
  ERR_CONTENT_TYPE: {
    means: "Something else than JSON came where the service's data was due.",
    example:
      'GET /api/v1/settings/allow_deny_entries at https://mail-security.example answered 200 with content of type "text/plain" instead of JSON: "It works!"',
    causes: [
      "a proxy or another service answers at this address",
      "a proxy encodes answers in a way that was not asked for",
    ],
    remedies: ["See what answers at the address, by the words in the message."],
    next: "email-security doctor",
  },
  ERR_EMPTY_BODY: {
    means: "The service answered success, and said nothing where data was due.",
    example:
      "GET /api/v1/settings/allow_deny_entries at https://mail-security.example answered 200 with an empty body where JSON was due",
    causes: ["a proxy that cuts answers off", "a mistake of the service"],
    remedies: [
      "See what answers at the address: a proxy, or another service.",
      "Where it is the service itself, tell those who run it the request that the message names.",
    ],
    next: "email-security doctor",
  },
  ERR_TRUNCATED_BODY: {
    means: "An answer ended in its middle, or is JSON that can't be read.",
    example:
      "GET /api/v1/settings/allow_deny_entries at https://mail-security.example answered 200 with JSON that can't be read or breaks off: '{\"results\": {'",
    causes: ["a connection that broke", "a proxy that cuts long answers off"],
    remedies: ["Run again: what may have been done is looked up first, and nothing is done twice."],
    next: "pulumi up --refresh",
  },
  ERR_WRONG_ENVELOPE: {
    means: "The answer has the form of another endpoint, or of an error, and was not taken.",
    example:
      "GET /api/v1/settings/allow_deny_entries at https://mail-security.example answered 200, but it holds `error` instead of `results`; it says: try later",
    causes: [
      "another service, or another release of this one, answers at this address",
      "the service reports a failure with a status of success",
    ],
    remedies: [
      "Read the service's words in the message, where there are any.",
      "Check the address, and that the service's release is one that is supported.",
    ],
    next: "email-security doctor",
  },
  ERR_INVALID_RESPONSE: {
    means: "The answer is JSON, but not what the service's reference says; nothing is done on the strength of it.",
    example:
      "GET /api/v1/settings/allow_deny_entries at https://mail-security.example answered 200, but its body is not what the reference says: results: Invalid input: expected object, received undefined",
    causes: [
      "another service answers at this address",
      "a release of the service whose answers differ from its reference",
    ],
    remedies: ["Check the address.", "Where it is right, report the message: it names the field, and holds no key."],
    next: "email-security doctor",
  },
  ERR_RESPONSE_TOO_LARGE: {
    means: "The answer is larger than is read: 16 MiB, a million JSON values or 50,000 items.",
    example:
      "GET /api/v1/settings/allow_deny_entries at https://mail-security.example answered 200, but it lists 50001 items where a page has at most 200; more than 50000 are not read",
    causes: ["another service answers at this address", "a service that does not keep to the size of a page"],
    remedies: [
      "Check the address.",
      "A program that uses the client itself can ask for smaller pages, or allow more (`maxResponseBytes`).",
    ],
    next: "email-security doctor",
  },
  ERR_NOT_IN_ORGANIZATION: {
    means:
      "The service says that a mailbox is not of the organization. None of the addresses of the request was written.",
    example:
      "lena@elsewhere.example isn't a mailbox of the organization, says the service; the request wrote nothing. Check the spelling, that the mailbox exists in the directory, and that the API key is the right tenant's.",
    causes: [
      "a slip in the address",
      "the mailbox does not exist in the directory yet",
      "the key is of another tenant",
    ],
    remedies: ["Fix the address, or have the mailbox made.", "Check which tenant the key belongs to."],
    next: "pulumi up --refresh",
  },
  ERR_LIST_UNSTABLE: {
    means:
      "A list kept changing while it was read page by page, or its pages contradict each other. Nothing is done on the strength of it.",
    example:
      "The deny list could not be read consistently in 5 attempts: its pages hold 3 items but its total says 1. Somebody may be changing it; run again when it is quiet.",
    causes: ["another run, or a colleague, changes many entries just now", "the service pages wrongly"],
    remedies: [
      "Wait until nobody else changes the tenant.",
      "Where it stays so when all is quiet, report the message to those who run the service.",
    ],
    next: "pulumi up --refresh",
  },
} as const satisfies Explanations;

/** Errors of configuration and arguments, before any request. */
export const CONFIGURATION_ERRORS = {
  ERR_CONFIGURATION: {
    means:
      "Something is missing or wrong in what was configured, or in the options of a command. Nothing was asked of the service.",
    example: "The API key of the tenant is not configured. Set EMAIL_SECURITY_API_KEY in the environment.",
    causes: [
      "the address or the key is not set where this runs",
      "plain http to another machine, which is refused",
      "a slip in the name of a variable",
      "options that don't go together",
    ],
    remedies: [
      "Fix what the message names.",
      "Where it is set, look for a slip in its name: a variable of another name is not read.",
    ],
    next: "email-security doctor",
  },
  ERR_INVALID_ARGUMENT: {
    means: "An argument of a call can't be sent; no request was made.",
    example: "id is empty",
    causes: ["an id that is empty or too long, a number out of range, a query that the client would set itself"],
    remedies: ["Fix the argument that the message names, in the program that makes the call."],
    next: "npx tsc --noEmit",
  },
  ERR_MISSING_PACKAGE: {
    means:
      "The request needs packages that are installed only where they are used, or other versions of them. Nothing was begun.",
    example:
      'A rollout\'s journal in PostgreSQL needs pg ^8.23.1 (none is installed) and pg-boss 12.35.0 (none is installed) next to pulumi-email-security: `npm install "pg@^8.23.1" pg-boss@12.35.0`.',
    causes: [
      "a journal in PostgreSQL, and nobody has installed what speaks to it",
      "packages that were installed in another directory than `pulumi-email-security`, or only for development",
      "a later release that needs later versions",
    ],
    remedies: [
      "Run the command of the message in the directory in which `pulumi-email-security` is installed, with your own package manager.",
      "If nobody wants a journal in PostgreSQL here, unset EMAIL_SECURITY_DATABASE.",
    ],
    next: "email-security doctor",
  },
} as const satisfies Explanations;

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { SettingsClient } from "../../../provider/client";
import { RunCancelledError } from "../../../provider/client/rate-limiter";
import type { ExplainedErrorCode } from "../../../provider/commands/explain/explanation";
import { EXPLANATIONS } from "../../../provider/commands/explain/explanations";
import { requireEngine } from "../../../provider/engine";
import { exportSettings } from "../../../provider/gitops/export-settings";
import { readObservedState } from "../../../provider/plan/observed-state";
import { ProviderService } from "../../../provider/plugin/provider-service";
import { createTenantClient } from "../../../provider/resources/create-tenant-client";
import { vipEmployeeLifecycle } from "../../../provider/resources/lifecycle/vip-employee";
import { createProviderAdapter } from "../../../provider/resources/provider-adapter";
import { ProviderSession } from "../../../provider/resources/provider-session";
import { openJournalDatabase } from "../../../provider/rollout/database/open-database";
import { extractBundle } from "../../../provider/rollout/planning/file-bundle";
import { readKey } from "../../../provider/rollout/targets/read-key";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { FileLocks } from "../../../provider/settings-files/file-locks";
import { editSettings } from "../../../provider/settings-files/settings-editor";
import { assertAllowedSource } from "../../../provider/sources/allowed-sources";
import { BY_ENGINE, BY_PROCESSES, BY_ROLLOUTS, expectExample, type Provocations } from "../../support/error-coverage";
import { buildTarget } from "../../support/rollout-target";
import {
  type Answerer,
  buildEntry,
  buildListBody,
  createFixedAnswerer,
  getRejection,
  RecordingService,
  respondWithJson,
  TestClient,
} from "../client/service";

/*
 * Errors in this process, from the real client, readers and functions: their codes, and that they match the example in
 * `email-security explain`.
 */

let sandbox: Sandbox;
let acme: SettingsClient;

beforeAll(async () => {
  sandbox = await startSandbox();
  acme = new SettingsClient({ baseUrl: sandbox.url, apiKey: "sandbox-acme-ci", retries: false });
});

afterAll(async () => {
  await acme.close();
  await sandbox.close();
});

interface Failure {
  readonly code: string;
  readonly message: string;
}

/** Returns the error that `work` throws or rejects with. */
async function captureError(work: () => unknown): Promise<Failure> {
  return (await getRejection((async () => await work())())) as Failure;
}

/** Returns the error of reading the deny list from a service with this response. */
async function readDenies(answer: Answerer, options: object = {}): Promise<Failure> {
  await using service = await RecordingService.start(answer);
  await using client = new TestClient(service, options);
  return await captureError(() => client.allowDenyEntries.list({ list: "deny" }));
}

type SlowCode = (typeof BY_PROCESSES | typeof BY_ENGINE | typeof BY_ROLLOUTS)[number];
type QuickCode = Exclude<ExplainedErrorCode, SlowCode>;

const PROVOKED: Provocations<QuickCode> = {
  ERR_INVALID_ARGUMENT: () => captureError(() => acme.allowDenyEntries.update("", { comment: "x" })),
  ERR_SOURCE: () => captureError(() => assertAllowedSource("phish-feed", "https://feeds.example/domains.txt", {})),
  ERR_BAD_REQUEST: () =>
    captureError(() => acme.allowDenyEntries.create({ list: "deny", entry_type: "domain", value: "no domain" })),
  ERR_NOT_FOUND: () => captureError(() => acme.allowDenyEntries.delete("ade_gone")),
  ERR_CONFLICT: async () => {
    const item = { list: "deny", entry_type: "domain", value: "twice.example" } as const;
    await acme.allowDenyEntries.create(item);
    return await captureError(() => acme.allowDenyEntries.create(item));
  },
  ERR_RATE_LIMITED: async () => {
    await using limited = await startSandbox({ rateLimit: { perSecond: 0.1, burst: 1 } });
    await using client = new TestClient(limited, { apiKey: "sandbox-acme-ci" });
    const listDenies = () => client.allowDenyEntries.list({ list: "deny" });
    await listDenies();
    return await captureError(listDenies);
  },
  ERR_SERVER: () => readDenies(createFixedAnswerer(503, { error: "down for maintenance" })),
  ERR_UNEXPECTED_STATUS: () => readDenies(createFixedAnswerer(418, { error: "I am a teapot" })),
  ERR_REDIRECT: () => readDenies(createFixedAnswerer(302, {}, { location: "https://sign-in.example/" })),
  ERR_TIMEOUT: () => readDenies(() => {}, { timeoutMs: 100 }),
  ERR_NETWORK: async () => {
    const client = new SettingsClient({ baseUrl: "http://127.0.0.1:1", apiKey: "key", retries: false });
    return await captureError(() => client.allowDenyEntries.list({ list: "deny" }));
  },
  ERR_CIRCUIT_OPEN: async () => {
    await using service = await RecordingService.start(createFixedAnswerer(503, { error: "down for maintenance" }));
    await using client = new TestClient(service);
    for (;;) {
      const error = await captureError(() => client.allowDenyEntries.list({ list: "deny" }));
      if (error.code !== "ERR_SERVER") return error;
    }
  },
  ERR_CANCELLED: async () => {
    const cancelled = new AbortController();
    cancelled.abort(new RunCancelledError("the run was cancelled"));
    const client = createTenantClient({ baseUrl: sandbox.url, apiKey: "sandbox-acme-ci" }, {}, cancelled.signal);
    return await captureError(() => client.allowDenyEntries.list({ list: "deny" }));
  },
  ERR_CUSTOM_TIMEOUT: async () => {
    const end = Promise.withResolvers<undefined>();
    await using service = await startSandbox({
      intercept: ({ method }) => (method === "GET" ? undefined : end.promise),
    });
    const session = new ProviderSession(undefined, () => {});
    session.configure(
      (name) => ({ "email-security:baseUrl": service.url, "email-security:apiKey": "sandbox-acme-ci" })[name],
    );
    const entry = { list: "deny", value: "evil.example" };
    const failure = await captureError(() => createProviderAdapter("AllowDenyEntry", session).create(entry, 1));
    end.resolve(undefined);
    return failure;
  },
  ERR_NO_TOKEN: async (directory) => {
    // Nothing listens on this socket any more.
    const environment = {
      EMAIL_SECURITY_RATE_LIMITER: join(directory, "gone"),
      EMAIL_SECURITY_RATE_LIMITER_TOKEN: "t",
    };
    const client = createTenantClient({ baseUrl: sandbox.url, apiKey: "sandbox-acme-ci" }, environment);
    return await captureError(() => client.allowDenyEntries.list({ list: "deny" }));
  },
  ERR_HTML_RESPONSE: () =>
    readDenies((_request, response) => {
      response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>Sign in</title>");
    }),
  ERR_CONTENT_TYPE: () =>
    readDenies((_request, response) => {
      response.writeHead(200, { "content-type": "text/plain" }).end("It works!");
    }),
  ERR_EMPTY_BODY: () => readDenies((_request, response) => response.writeHead(200).end()),
  ERR_TRUNCATED_BODY: () =>
    readDenies((_request, response) => {
      response.writeHead(200, { "content-type": "application/json" }).end('{"results": {');
    }),
  ERR_WRONG_ENVELOPE: () => readDenies(createFixedAnswerer(200, { error: "try later" })),
  ERR_INVALID_RESPONSE: () => readDenies(createFixedAnswerer(200, { items: [] })),
  ERR_RESPONSE_TOO_LARGE: () =>
    readDenies(
      createFixedAnswerer(200, buildListBody(Array.from({ length: 50_001 }, (_, index) => buildEntry(index)))),
    ),
  ERR_NOT_IN_ORGANIZATION: () => captureError(() => acme.vipEmployees.add(["lena@elsewhere.example"])),
  ERR_LIST_UNSTABLE: async () => {
    await using service = await RecordingService.start((_request, response) =>
      respondWithJson(response, 200, buildListBody([buildEntry(1), buildEntry(2), buildEntry(3)], { total: 1 })),
    );
    await using client = new TestClient(service);
    return await captureError(() => client.allowDenyEntries.readAll("deny"));
  },
  ERR_IMPORT: () =>
    captureError(() => {
      const session = new ProviderSession(undefined, () => {});
      session.configure(
        (name) => ({ "email-security:baseUrl": sandbox.url, "email-security:apiKey": "sandbox-acme-ci" })[name],
      );
      return vipEmployeeLifecycle.lookUp("Lena Hartmann", session.getContext());
    }),
  ERR_SETTINGS_EDIT: () =>
    captureError(() =>
      editSettings("? deny\n: - a.example\n", [{ action: "remove", section: "deny", value: "a.example" }]),
    ),
  ERR_SETTINGS_LOCKED: async (directory) => {
    const before = process.cwd();
    process.chdir(directory);
    try {
      using _lock = await FileLocks.acquire(["settings.yaml"]);
      return await captureError(() => FileLocks.acquire(["settings.yaml"], { timeoutMs: 0 }));
    } finally {
      process.chdir(before);
    }
  },
  ERR_EXPORT: () =>
    captureError(async () =>
      exportSettings(await readObservedState(acme), {
        host: "mail-security.example",
        // Callers have already parsed the own domains, so that all of them are valid.
        ownDomains: ["acme.example", "no domain"],
      }),
    ),
  ERR_ROLLOUT_KEY: () =>
    captureError(() =>
      readKey(buildTarget("acme", {}, { key: { from: "environment", variable: "ACME_KEY" } }), {
        environment: {
          EMAIL_SECURITY_SERVICES: "https://mail-security.example",
          EMAIL_SECURITY_KEY_VARIABLES: "ACME_KEY",
        },
      }),
    ),
  ERR_ROLLOUT_DATABASE: () =>
    captureError(() => openJournalDatabase("postgres://rollouts@127.0.0.1:1/rollouts", { log: () => {} })),
  ERR_TEMPORARY_DIRECTORY: async (directory) => {
    vi.stubEnv("TMPDIR", join(directory, "nowhere"));
    try {
      return await captureError(() => extractBundle({ bundle: new Map(), directory: "." }, "fleet", undefined));
    } finally {
      vi.unstubAllEnvs();
    }
  },
  ERR_ENGINE_UNAVAILABLE: (directory) =>
    captureError(() => requireEngine({ env: { HOME: directory, PATH: directory } })),
  ERR_PROTOCOL: () =>
    captureError(() =>
      new ProviderService(undefined).invoke({ getTok: () => "email-security:index:getThreat" } as never),
    ),
  ERR_SANDBOX_PORT: () => captureError(() => startSandbox({ port: 70_000 })),
  ERR_SANDBOX_SCENARIO: () => captureError(() => startSandbox({ scenario: "globex" })),
  ERR_SANDBOX_DATA_FILE: async (directory) => {
    writeFileSync(join(directory, "sandbox.db"), "a text, and no database\n".repeat(50));
    return await captureError(() => startSandbox({ data: join(directory, "sandbox.db") }));
  },
  ERR_SANDBOX_OPTION: () => captureError(() => startSandbox({ threats: -1 })),
  ERR_SANDBOX_TENANT: () => captureError(() => sandbox.vips("initech")),
};

it.each(Object.keys(PROVOKED) as QuickCode[])("raises %s as its example shows", async (code) => {
  const directory = mkdtempSync(join(tmpdir(), "email-security-explain-"));
  try {
    expectExample(code, await PROVOKED[code](directory));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

it("covers every error code", () => {
  const all = [...Object.keys(PROVOKED), ...BY_PROCESSES, ...BY_ENGINE, ...BY_ROLLOUTS];
  expect(all.sort()).toEqual(Object.keys(EXPLANATIONS).sort());
});

import { describe, expect, it } from "vitest";
import { SettingsClient } from "../../../provider/client";
import { OwnDomains } from "../../../provider/model/own-domains";
import { allowDenyEntryLifecycle } from "../../../provider/resources/lifecycle/allow-deny-entry";
import { allowDenyListLifecycle } from "../../../provider/resources/lifecycle/allow-deny-list";
import type { LifecycleContext } from "../../../provider/resources/lifecycle/lifecycle";
import { vipEmployeeLifecycle } from "../../../provider/resources/lifecycle/vip-employee";
import { vipListLifecycle } from "../../../provider/resources/lifecycle/vip-list";
import {
  type Sandbox,
  type SandboxOptions,
  type Scenario,
  type ScenarioEntry,
  type ServiceRequest,
  type ServiceResponse,
  startSandbox,
} from "../../../provider/sandbox";
import { TenantCache } from "../../../provider/tenant";
import { createRowHooks } from "../../support/intercept-rows";
import { createLaggingLists } from "../../support/lagging-lists";

/** One provider process for a tenant, and the requests it sends. */
interface Process extends AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly context: LifecycleContext;
  readonly messages: readonly string[];
  /** Returns the requests since the last call, as `GET deny 1`: the list and its page. */
  trace(): string[];
}

async function processOn(options: SandboxOptions, ownDomains: readonly string[] = []): Promise<Process> {
  const sandbox = await startSandbox(options);
  const messages: string[] = [];
  const client = new SettingsClient({ baseUrl: sandbox.url, apiKey: "sandbox-acme-ci" });
  return {
    sandbox,
    messages,
    context: {
      tenant: new TenantCache({ client }),
      log: (sentence) => messages.push(sentence),
      isDeclared: () => false,
      shareManagedIds: () => undefined,
      confirmTenant: async () => undefined,
      isManagedElsewhere: () => false,
      getOwnDomains: () => new OwnDomains(ownDomains),
    },
    trace() {
      const lines = sandbox.requests.map(
        ({ method, path, query }) =>
          `${method} ${query["list"] ?? path.slice(path.lastIndexOf("/") + 1)} ${query["page"]}`,
      );
      sandbox.clearRequests();
      return lines.sort();
    },
    [Symbol.asyncDispose]: () => sandbox.close(),
  };
}

/** The most reads within the time that lists may lag, with growing pauses. */
const MOST_READINGS = 8;

const listPageRequests = (list: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `GET ${list} ${index + 1}`).sort();

const added = { createdBy: "Dana Reyes (console)", createdAt: "2016-03-01T08:00:00.000Z" };

function buildScenario(entries: readonly Partial<ScenarioEntry>[], vips = 0): Scenario {
  const formatMailbox = (index: number): string => `vip-${index}@acme.example`;
  const tenant = {
    name: "acme",
    keyLabels: { ci: "Pulumi (ci)", console: "Dana Reyes (console)" },
    detectedAt: "2025-01-13T06:00:00.000Z",
    employees: [
      {
        email: "ruth.castellan@acme.example",
        fullName: "Ruth Castellan",
        jobTitle: "Chief Executive Officer",
        department: "Executive Office",
      },
      ...Array.from({ length: vips }, (_, index) => ({
        email: formatMailbox(index),
        fullName: `Person ${index}`,
        jobTitle: "Staff Engineer",
        department: "Engineering",
      })),
    ],
    manualVips: Array.from({ length: vips }, (_, index) => ({
      email: formatMailbox(index),
      comment: index % 2 === 0 ? "" : "Talks to\nthe press: daily",
      addedBy: "Dana Reyes (console)",
      dateAdded: "2025-02-03T09:00:00.000Z",
    })),
    exclusions: [],
    entries: entries.map(
      (entry) => ({ list: "deny", entryType: "domain", value: "", comment: "", ...added, ...entry }) as ScenarioEntry,
    ),
  };
  return { name: "import", tenants: [tenant] };
}

const formatEvilDomain = (index: number): string => `evil-${index}.example`;
const EVIL = Array.from({ length: 5_000 }, (_, index) => ({ value: formatEvilDomain(index), comment: `INC-${index}` }));

async function captureReason(looking: Promise<unknown>): Promise<string> {
  return await looking.then(
    (expected) => `found ${JSON.stringify(expected)}`,
    (error: Error & { code: string }) => `${error.message} [${error.code}]`,
  );
}

describe("bulk import", () => {
  it("reads the named list once: 27 requests for 5,000", async () => {
    await using process = await processOn({
      scenario: buildScenario([...EVIL, { list: "allow", value: "a.example" }]),
    });
    const lookupResults = await Promise.all(
      EVIL.map(({ value }) => allowDenyEntryLifecycle.lookUp(`deny:${value}`, process.context)),
    );
    const denyPages = listPageRequests("deny", 25);
    // All entries have the same time, so a new one could be on the first page or the last one.
    const checks = ["GET deny 1", "GET deny 25"];
    expect(process.trace().toSorted()).toEqual([...denyPages, ...checks].toSorted());
    const rows = process.sandbox.allowDenyEntries("acme").filter(({ list }) => list === "deny");
    expect(lookupResults.map((result) => result?.id).sort()).toEqual(rows.map(({ id }) => id).sort());
    expect(lookupResults[7]?.inputs).toEqual({ list: "deny", value: formatEvilDomain(7), comment: "INC-7" });

    // An id doesn't identify its list; a list that was already read isn't read again.
    const idLookups = await Promise.all(rows.map(({ id }) => allowDenyEntryLifecycle.lookUp(id, process.context)));
    expect(process.trace()).toEqual(listPageRequests("allow", 1));
    expect(idLookups.map((result) => result?.state.value)).toEqual(rows.map(({ value }) => value));
    // A missing entry is looked for again as long as lists may lag, with shared reads for all that are missing.
    const missingResults = await Promise.all(
      [0, 1, 2].map((index) => allowDenyEntryLifecycle.lookUp(`deny:gone-${index}.example`, process.context)),
    );
    expect(missingResults).toEqual([undefined, undefined, undefined]);
    const again = process.trace();
    expect(new Set(again)).toEqual(new Set([...denyPages, ...listPageRequests("allow", 1)]));
    expect(again.length).toBeLessThanOrEqual(MOST_READINGS * 28);
  });

  it("reads the VIP list once, whatever the case of the mailboxes", async () => {
    await using process = await processOn({ scenario: buildScenario([], 450) });
    const lookupResults = await Promise.all(
      Array.from({ length: 450 }, (_, index) =>
        vipEmployeeLifecycle.lookUp(
          index % 2 === 0 ? `vip-${index}@acme.example` : `VIP-${index}@Acme.Example`,
          process.context,
        ),
      ),
    );
    expect(process.trace()).toEqual(listPageRequests("vip_employees", 3));
    expect(lookupResults[3]).toMatchObject({
      id: "vip-3@acme.example",
      state: { fullName: "Person 3", source: "manual" },
      inputs: { email: "vip-3@acme.example", comment: "Talks to\nthe press: daily" },
    });
    expect(lookupResults[4]?.inputs).toEqual({ email: "vip-4@acme.example" });
    const automatic = await vipEmployeeLifecycle.lookUp("ruth.castellan@acme.example", process.context);
    expect(automatic).toMatchObject({
      inputs: { email: "ruth.castellan@acme.example" },
      state: { source: "auto" },
    });
    expect(process.trace()).toEqual([]);
    expect(await vipEmployeeLifecycle.lookUp("nobody@acme.example", process.context)).toBeUndefined();
    const again = process.trace();
    expect(new Set(again)).toEqual(new Set(listPageRequests("vip_employees", 3)));
    expect(again.length).toBeLessThanOrEqual(MOST_READINGS * 3);
    expect(await captureReason(vipEmployeeLifecycle.lookUp("Ruth Castellan", process.context))).toBe(
      '"Ruth Castellan" doesn\'t identify a VIP: "Ruth Castellan" isn\'t a valid mailbox: it has no @. Import a VIP by its mailbox. Nothing was imported. [ERR_IMPORT]',
    );
    expect(process.trace()).toEqual([]);
  });

  it.each(["deny:evil-0.example", "its id", "VIP-0@acme.example"])(
    "finds what the service lists late: %s",
    async (name) => {
      const lists = createLaggingLists(0);
      await using process = await processOn({ scenario: buildScenario(EVIL.slice(0, 2), 1), ...lists });
      const row = process.sandbox.allowDenyEntries("acme").find(({ value }) => value === formatEvilDomain(0));
      lists.hide("deny", 3);
      lists.hide("vips", 3);
      const isVip = name.startsWith("VIP");
      const importId = name === "its id" ? (row?.id ?? "") : name;
      const lifecycle = isVip ? vipEmployeeLifecycle : allowDenyEntryLifecycle;
      expect(await lifecycle.lookUp(importId, process.context)).toMatchObject({
        id: isVip ? "vip-0@acme.example" : row?.id,
      });
    },
  );

  it("finds an entry missed by a read during a concurrent write", async () => {
    let hidden = 1;
    const shiftPages = (request: ServiceRequest, response: ServiceResponse): ServiceResponse | undefined => {
      const text = JSON.stringify(response.body);
      if (request.method !== "GET" || hidden === 0 || !text.includes(`"${formatEvilDomain(3)}"`)) return undefined;
      hidden -= 1;
      return { ...response, body: JSON.parse(text.replace(`"${formatEvilDomain(3)}"`, '"another.example"')) };
    };
    await using process = await processOn({ scenario: buildScenario(EVIL.slice(0, 250)), afterHandle: shiftPages });
    const lookupResult = await allowDenyEntryLifecycle.lookUp(`deny:${formatEvilDomain(3)}`, process.context);
    expect([lookupResult?.state.value, hidden]).toEqual([formatEvilDomain(3), 0]);
  });
});

/** A service that holds a value on both lists, in several scopes, and in duplicate rows. */
const ODD = [
  ["1", "deny", "evil.example", "global", "first"],
  ["2", "deny", "evil.example", "graymail", ""],
  ["3", "allow", "mail.example", "graymail", ""],
  ["4", "allow", "both.example", "global", "Goes?"],
  ["5", "deny", "both.example", "global", "Stays"],
  ["6", "deny", "twice.example", "global", "one"],
  ["7", "deny", "Twice.example", "global", "two"],
  ["8", "deny", "xn--bcher-kva.example", "global", ""],
  ["deny:evil.example (graymail)", "deny", "hidden.example", "global", ""],
  ["allow:nothing.example", "deny", "id.example", "global", ""],
  ["\u001b[31m", "deny", "red.example", "global", "\u001b[31mred"],
  ["12", "deny", "*.evil.example", "global", ""],
  ["13", "blocked", "elsewhere.example", "global", ""],
  ["14", "deny", "untold.example", undefined, ""],
].map(([id, list, value, verdict_scope, comment]) => ({
  id,
  list,
  entry_type: "domain",
  value,
  verdict_scope,
  comment,
}));

describe("entry import", () => {
  it("resolves every spelling of an id or a name", async () => {
    await using process = await processOn(createRowHooks(ODD, []));
    const lookUpId = async (name: string): Promise<string | undefined> => {
      const lookupResult = await allowDenyEntryLifecycle.lookUp(name, process.context);
      return lookupResult === undefined ? undefined : (lookupResult.state.entryId ?? lookupResult.id);
    };
    for (const [name, id] of [
      ["2", "2"],
      ["deny:evil.example (global)", "1"],
      ["Evil.Example (Global)", "1"],
      ["mail.example", "3"],
      ["ALLOW: Mail.Example (graymail)", "3"],
      ["allow:both.example", "4"],
      ["bücher.example", "8"],
      ["deny:BÜCHER.example.", "8"],
      // An existing id is an id, whatever it looks like.
      ["deny:evil.example (graymail)", "deny:evil.example (graymail)"],
      ["allow:nothing.example", "allow:nothing.example"],
      ["\u001b[31m", "\u001b[31m"],
      ["\\u{1b}[31m", "\u001b[31m"],
      ["untold.example", "14"],
      ["deny:untold.example (graymail)", "14"],
    ] as const) {
      expect([name, await lookUpId(name)]).toEqual([name, id]);
    }
    expect(process.trace()).toEqual(["GET allow 1", "GET deny 1"]);
    for (const name of ["deny:mail.example", "allow:mail.example (global)", "gone.example"]) {
      expect([name, await lookUpId(name)]).toEqual([name, undefined]);
    }
    const { id, state, inputs } = (await allowDenyEntryLifecycle.lookUp("red.example", process.context)) ?? {};
    expect([id, state?.comment, inputs]).toEqual([
      "\\u{1b}[31m",
      "\\u{1b}[31mred",
      { list: "deny", value: "red.example", comment: "\\u{1b}[31mred" },
    ]);
  });

  it("explains an ambiguous or invalid name", async () => {
    await using process = await processOn(createRowHooks(ODD, []));
    const captureLookUpReason = (name: string) => captureReason(allowDenyEntryLifecycle.lookUp(name, process.context));
    const SEVERAL =
      "but an import needs exactly one. Nothing was imported. Use the id at the start of the intended line:";
    expect(await captureLookUpReason("evil.example")).toBe(
      `"evil.example" matches 2 entries, ${SEVERAL}
  deny:evil.example (global)   evil.example on the deny list (id 1, scope "global", comment "first")
  deny:evil.example (graymail)   evil.example on the deny list (id 2, scope "graymail", no comment) [ERR_IMPORT]`,
    );
    expect(await captureLookUpReason("both.example")).toContain(
      "\n  allow:both.example   both.example on the allow list (id 4",
    );
    expect(await captureLookUpReason("deny:twice.example")).toBe(
      `"deny:twice.example" matches 2 entries, ${SEVERAL}
  6   twice.example on the deny list (id 6, scope "global", comment "one")
  7   Twice.example on the deny list (id 7, scope "global", comment "two") [ERR_IMPORT]`,
    );
    expect(await captureLookUpReason("deny:evil[.]example")).toBe(
      '"deny:evil[.]example" doesn\'t identify an entry: none has that id, and as a value, "evil[.]example" isn\'t a valid domain: it contains "["; write "evil.example". Use the id from the service, or the value with its list as a prefix and its scope as a suffix: deny:evil.example, allow:mail.example (graymail). Nothing was imported. [ERR_IMPORT]',
    );
    expect(await captureLookUpReason("ade_404")).toMatch(
      /^"ade_404" doesn't identify an entry: none has that id, and as a value, /,
    );
    expect(await captureLookUpReason("12")).toBe(
      '*.evil.example on the deny list (id 12, scope "global", no comment) can\'t be imported, because no program can declare it: "*.evil.example" is a pattern, but entries must be plain domains; write "evil.example". It stays unchanged. [ERR_IMPORT]',
    );
    expect(await captureLookUpReason("elsewhere.example")).toContain('is on a list called "blocked"');
  });

  it("marks a risky entry for review", async () => {
    const entries = [
      { list: "allow", value: "gmail.com", comment: "Applicants" },
      { list: "deny", value: "acme.example" },
    ] as const;
    const acceptRisk = "It existed at the service before the import, and has to be reviewed.";
    await using process = await processOn({ scenario: buildScenario(entries) }, ["acme.example"]);
    const gmail = await allowDenyEntryLifecycle.lookUp("allow:gmail.com", process.context);
    const own = await allowDenyEntryLifecycle.lookUp("deny:acme.example", process.context);
    expect([gmail?.inputs, gmail?.state.acceptRisk]).toEqual([
      { list: "allow", value: "gmail.com", comment: "Applicants", acceptRisk },
      acceptRisk,
    ]);
    expect(own?.inputs).toEqual({ list: "deny", value: "acme.example", acceptRisk });
    expect((await allowDenyListLifecycle.lookUp("allow-deny-list", process.context))?.inputs).toEqual({
      entries: {
        "acme.example": `deny (risk accepted: ${acceptRisk})`,
        "gmail.com": `allow (risk accepted: ${acceptRisk}): Applicants`,
      },
    });
  });

  it("fails with the service's own error", async () => {
    await using process = await processOn({
      intercept: () => ({ status: 403, body: { error: "The key was revoked." } }),
    });
    expect(await captureReason(allowDenyEntryLifecycle.lookUp("deny:evil.example", process.context))).toMatch(
      /The key was revoked\..*\[ERR_AUTH\]$/s,
    );
    expect(await captureReason(vipListLifecycle.lookUp("vip-list", process.context))).toMatch(/\[ERR_AUTH\]$/);
  });
});

describe("list import", () => {
  it("declares every valid entry", async () => {
    await using process = await processOn(createRowHooks(ODD, []));
    const lookupResult = await allowDenyListLifecycle.lookUp("allow-deny-list", process.context);
    expect(process.trace()).toEqual(["GET allow 1", "GET deny 1"]);
    const entries = {
      "both.example": "deny: Stays",
      "evil.example": "deny: first",
      "evil.example (graymail)": "deny",
      "hidden.example": "deny",
      "id.example": "deny",
      "mail.example (graymail)": "allow",
      "red.example": "deny: \\u{1b}[31mred",
      "twice.example": "deny: one",
      "untold.example": "deny",
      "xn--bcher-kva.example": "deny",
    };
    expect(lookupResult).toEqual({ id: "allow-deny-list", state: { entries }, inputs: { entries } });
    expect(process.messages).toEqual([
      [
        'Not imported, and unchanged at the service: 4 entries that can\'t be declared: Twice.example on the deny list (id 7, scope "global", comment "two"): another entry with the same value and scope is already declared',
        '*.evil.example on the deny list (id 12, scope "global", no comment): "*.evil.example" is a pattern, but entries must be plain domains; write "evil.example"',
        'both.example on the allow list (id 4, scope "global", comment "Goes?"): is also on the deny list, which is declared; a value can\'t be declared on both, so choose one',
        'elsewhere.example on the blocked list (id 13, scope "global", no comment): is on a list called "blocked", which isn\'t one of allow and deny',
      ].join(" | "),
    ]);
  });

  it("declares only the named list", async () => {
    await using process = await processOn(createRowHooks(ODD, []));
    const lookupResult = await allowDenyListLifecycle.lookUp("allow", process.context);
    expect([lookupResult?.id, lookupResult?.inputs]).toEqual([
      "allow-deny-list",
      { entries: { "both.example": "allow: Goes?", "mail.example (graymail)": "allow" } },
    ]);
    expect(process.trace()).toEqual(["GET allow 1"]);
    expect(await captureReason(allowDenyListLifecycle.lookUp("deny-list", process.context))).toBe(
      '"deny-list" isn\'t a valid id of a list; import it by the id allow-deny-list, or allow or deny for the entries of one list. Nothing was imported. [ERR_IMPORT]',
    );
  });

  it("reports omitted auto-detected VIPs", async () => {
    await using process = await processOn({ scenario: buildScenario([], 2) });
    const lookupResult = await vipListLifecycle.lookUp("vip-list", process.context);
    expect(lookupResult?.inputs).toEqual({
      members: { "vip-0@acme.example": "", "vip-1@acme.example": "Talks to\nthe press: daily" },
    });
    expect(process.messages).toEqual(["1 VIP from automatic detection is not declared: detection maintains it."]);
    expect(process.trace()).toEqual(listPageRequests("vip_employees", 1));
  });

  it("accepts an empty list", async () => {
    await using process = await processOn({ scenario: buildScenario([]) });
    expect((await allowDenyListLifecycle.lookUp("allow-deny-list", process.context))?.inputs).toEqual({
      entries: {},
    });
  });
});

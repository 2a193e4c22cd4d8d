import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SettingsClient } from "../../../provider/client";
import type { HandlerName } from "../../../provider/resources/serialized-provider";
import { type Sandbox, type ServiceRequest, type ServiceResponse, startSandbox } from "../../../provider/sandbox";
import { findTerminalCommands, HOSTILE, HOSTILE_ID } from "../../support/hostile-text";
import { selectCases } from "../../support/matrix-sampling";
import { InitFailed, type ResourceProperties } from "../../support/provider-call";
import { ProviderProcess } from "../../support/provider-process";

/*
 * Any declared or received text that reaches the terminal: the failures of a check, error messages, output of the
 * provider process, and property values in state, which Pulumi's engine prints unescaped.
 */

const ALL = Object.values(HOSTILE);

/** The texts that the SDK lets a program send; it drops lone surrogates. */
const SENDABLE = ALL.filter((text) => text.isWellFormed());

/**
 * One test each would take a minute, so all run at once: on one line, on several lines, and at the start for text that
 * only matters there.
 */
const TOGETHER = selectCases("hostile-text", Object.entries(HOSTILE), [
  ["in a line", ALL.join(" ")],
  ["in lines", ALL.join("\n")],
  ["at the start", "::add-mask::x"],
]);

/** Texts that a terminal, the engine or a pipeline would interpret. */
const COMMANDS = Object.entries(HOSTILE).filter(([, text]) => findTerminalCommands(text).length > 0);

let answer: (request: ServiceRequest, response: ServiceResponse) => ServiceResponse | undefined;
let sandbox: Sandbox;
let provider: ProviderProcess;

beforeAll(async () => {
  let ids = 0;
  sandbox = await startSandbox({
    scenario: "empty",
    afterHandle: (request, response) => answer(request, response),
    // An id may hold any characters.
    newId: () => `id${ids++}${HOSTILE_ID}`,
  });
  provider = await ProviderProcess.start({
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
  });
});

afterAll(async () => {
  await provider[Symbol.asyncDispose]();
  await sandbox.close();
});

/** Asserts that nothing in it is interpreted where it is printed. */
function expectNothingButText(output: unknown): void {
  const text = typeof output === "string" ? output : collectStrings(output).join("\n");
  expect(findTerminalCommands(text)).toEqual([]);
}

function collectStrings(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => [key, ...collectStrings(item)]);
}

const ARGUMENTS: Readonly<Record<HandlerName, (text: string) => ResourceProperties[]>> = {
  allowDenyEntry: (text) => [
    { list: "deny", value: text },
    {
      list: text,
      value: "a.example",
      entryType: text,
      verdictScope: text,
      adopt: text,
      comment: { [text]: text },
    },
    { list: "deny", value: { [text]: [text] }, [text]: text },
    { list: "deny", value: `${text}@a.example` },
  ],
  vipEmployee: (text) => [{ email: text }, { email: { [text]: text }, onDelete: text, [text]: 1 }],
  allowDenyList: (text) => [
    { entries: [{ list: "deny", value: text }, { list: text, value: "a.example" }, text, { [text]: text }] },
    {
      entries: { [text]: "deny", "b.example": text, "c.example": { list: "deny", comment: 5, [text]: text } },
    },
    {
      entries: text,
      mode: text,
      ignore: [text, ` ${text}`],
      protect: [text],
      maxRemovals: text,
      [text]: text,
    },
  ],
  vipList: (text) => [
    { members: [text, { email: text, [text]: text }] },
    {
      members: { [text]: "x", "a@b.example": { email: text, comment: 7 } },
      protect: [`${text}/`],
      onDelete: text,
    },
  ],
};

describe("check", () => {
  test.each(Object.entries(ARGUMENTS))("escapes hostile text in the problems of %s", async (handler, make) => {
    for (const text of SENDABLE) {
      for (const args of make(text)) {
        const { failures } = await provider.getResource(handler as HandlerName).check(args);
        expectNothingButText(failures);
        for (const property of Object.keys(failures)) {
          // The engine prints a property's value next to its failure, unescaped.
          if (property !== "") expectNothingButText(args[property]);
        }
      }
    }
  });

  test.each(COMMANDS.filter(([, text]) => text.isWellFormed()))(
    "rejects a comment that contains %s",
    async (_name, text) => {
      const checkArguments = async (handler: HandlerName, args: ResourceProperties) =>
        (await provider.getResource(handler).check(args)).failures;
      const comment = `See ${"the wiki ".repeat(20)}\n${text}`;
      const allFailures = [
        await checkArguments("allowDenyEntry", { list: "deny", value: "a.example", comment }),
        await checkArguments("vipEmployee", { email: "a@b.example", comment }),
        await checkArguments("allowDenyList", { entries: { "a.example": `deny: ${comment}` } }),
        await checkArguments("allowDenyList", { entries: [{ list: "deny", value: "a.example", comment }] }),
        await checkArguments("vipList", { members: { "a@b.example": comment } }),
      ];
      for (const failures of allFailures) {
        expect(failures[""]).toContain("would interpret as a command");
        expectNothingButText(failures);
      }
    },
  );

  test("accepts a comment with line breaks, markup and any script", async () => {
    const comment = `a\r\n\tb\n<script>alert(1)</script> ![](http://x) =SUM(A1) ::1 می\u200cخواهم 👨\u200d👩\u200d👧 # ## x [y]`;
    const { failures } = await provider
      .getResource("allowDenyEntry")
      .check({ list: "deny", value: "fine.example", comment });
    expect(failures).toEqual({});
  });
});

/** Removes the entry's id: it comes from the service and is kept verbatim, and the engine prints it in quotes. */
function removeEntryId(output: unknown): unknown {
  if (typeof output !== "object" || output === null) return output;
  const { entryId: _id, ...rest } = output as ResourceProperties;
  return Object.fromEntries(Object.entries(rest).map(([name, item]) => [name, removeEntryId(item)]));
}

/** Replaces every display-only text of a service response with hostile text. */
function poisonResponse({ status, body }: ServiceResponse, text: string): ServiceResponse {
  const own = new Set(["id", "email", "value", "list", "entry_type", "verdict_scope"]);
  const poison = (value: unknown, key = ""): unknown => {
    if (Array.isArray(value)) return value.map((item) => poison(item));
    if (typeof value === "object" && value !== null) {
      return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, poison(item, name)]));
    }
    return typeof value === "string" && !own.has(key) ? text : value;
  };
  return { status, body: poison(body) };
}

describe("hostile text from the service", () => {
  test.each(TOGETHER)("is escaped in output and state: %s", async (name, text) => {
    // Uses a new process, since one that has seen only failures stops sending requests.
    await provider.startNextRun();
    const id = `a${TOGETHER.findIndex(([item]) => item === name)}`;
    const entry = provider.getResource("allowDenyEntry");
    const vip = provider.getResource("vipEmployee");
    const outputs: unknown[] = [];
    const recordAttempt = async (work: () => Promise<unknown>): Promise<void> => {
      try {
        outputs.push(await work());
      } catch (error) {
        outputs.push((error as Error).message);
        if (error instanceof InitFailed) outputs.push(error.id, error.properties, error.reasons);
      }
    };
    answer = (_request, response) => poisonResponse(response, text);
    const value = `${id}.example`;
    const inputs = { list: "deny", value, entryType: "domain", verdictScope: "global" };
    await recordAttempt(() => entry.create({ ...inputs, comment: "INC-7" }));
    answer = () => undefined;
    const row = sandbox.allowDenyEntries("acme").find((allowDenyEntry) => allowDenyEntry.value === value);
    expect(row, JSON.stringify(outputs)).toBeDefined();
    answer = (_request, response) => poisonResponse(response, text);
    await recordAttempt(() => entry.create({ ...inputs, comment: "INC-8" }));
    await recordAttempt(() => vip.create({ email: "yuki.sato@acme.example", comment: "x" }));
    await recordAttempt(() => vip.read("yuki.sato@acme.example", { email: "yuki.sato@acme.example" }));
    // Uses another process, which reads the lists itself.
    await provider.startNextRun();
    const old = { ...inputs, entryId: row?.id };
    await recordAttempt(() => provider.getResource("allowDenyEntry").read("id", old));
    const unmanaged = { mode: "exclusive", entries: {}, members: {} };
    await recordAttempt(() => provider.getResource("allowDenyList").read("allow-deny-list", unmanaged));
    await recordAttempt(() => provider.getResource("vipList").read("vip-list", unmanaged));
    answer = () => ({ status: 400, body: { error: text, not_in_org: [text] } });
    await recordAttempt(() => provider.getResource("allowDenyEntry").delete("id", old));
    await recordAttempt(() => provider.getResource("vipList").create({ members: { "yuki.sato@acme.example": "z" } }));

    expectNothingButText(outputs.map(removeEntryId));
    expect(outputs.length).toBeGreaterThanOrEqual(9);
  });

  test("is escaped in undeclared rows", async () => {
    // A partial failure is reported in a header, for which this client has less room than the engine.
    const some = ALL.filter((text) => text.length < 200);
    answer = ({ method, path }, response) => {
      if (method !== "GET") return undefined;
      const items = path.endsWith("vip_employees")
        ? some.map((text) => ({ email: text, source: "manual", comment: text }))
        : some.map((text, index) => ({
            id: `${index}`,
            list: "deny",
            entry_type: "domain",
            value: text,
            verdict_scope: text || "x",
            comment: text,
          }));
      return {
        ...response,
        body: { status: 200, results: { items, page: 1, page_size: 200, total: items.length } },
      };
    };
    await provider.startNextRun();
    const before = provider.printed.length;
    const entries = await provider
      .getResource("allowDenyList")
      .read("allow-deny-list", { mode: "exclusive", entries: {} });
    const vips = await provider.getResource("vipList").read("vip-list", { mode: "exclusive", members: {} });
    expect(Object.keys(entries?.properties["entries"] as object)).toHaveLength(2 * some.length);
    expect(Object.keys(vips?.properties["members"] as object).length).toBeGreaterThanOrEqual(COMMANDS.length);
    expectNothingButText([entries, vips]);
    // A run that removes them prints their names.
    for (const [handler, state] of [
      ["allowDenyList", entries],
      ["vipList", vips],
    ] as const) {
      const content = handler === "vipList" ? { members: {} } : { entries: {} };
      const { failures } = await provider
        .getResource(handler)
        .check({ mode: "exclusive", ...content }, state?.properties);
      expect(failures[""]).toContain("would lose");
      expectNothingButText(failures);
      const inputs = { mode: "exclusive", maxRemovalFraction: 1, ...content };
      await provider
        .getResource(handler)
        .update(state?.id ?? "", state?.properties ?? {}, inputs)
        .catch((error) => {
          expectNothingButText((error as Error).message);
          if (error instanceof InitFailed) expectNothingButText([error.properties, error.reasons]);
        });
    }
    const printed = await provider.readPrintedLines();
    expect(printed.length).toBeGreaterThan(before);
    expectNothingButText(printed);
  });
});

test("escapes hostile text in every client error", async () => {
  await using client = new ClosedClient({ baseUrl: sandbox.url, apiKey: "sandbox-acme-ci" });
  for (const text of ALL) {
    const header = text.replace(/[^\t -~\x80-\xff]/g, "");
    for (const input of [
      ...[400, 401, 404, 409, 418, 500].map((status) => ({ status, body: { error: text } })),
      { status: 200, body: { results: { [text]: text } } },
      { status: 200, body: { error: text } },
      { status: 200, body: `{"${text}`, headers: { "content-type": "application/json" } },
      { status: 200, body: text, headers: { "content-type": "text/html" } },
      { status: 200, body: "x", headers: { "content-type": `text/${header}` } },
      { status: 302, headers: { location: header } },
      { status: 429, headers: { "retry-after": header }, body: { error: text } },
      { status: 400, body: { not_in_org: [text, text] } },
    ]) {
      answer = () => input;
      const error = await client.vipEmployees.add(["a@b.example"]).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(Error);
      expectNothingButText((error as Error).message);
      expectNothingButText((error as { serviceMessage?: string }).serviceMessage ?? "");
      expectNothingButText((error as { cause?: Error }).cause?.message ?? "");
    }
  }
});

class ClosedClient extends SettingsClient implements AsyncDisposable {
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

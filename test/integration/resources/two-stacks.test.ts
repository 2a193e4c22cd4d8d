import { afterEach, expect, it } from "vitest";
import type { HandlerName } from "../../../provider/resources/serialized-provider";
import { startSandbox } from "../../../provider/sandbox";
import { type FaultyProxy, startFaultyProxy } from "../../support/faulty-proxy";
import { ManagedResource, type Up } from "../../support/managed-resource";
import { matrix, timeLimit } from "../../support/matrix-sampling";
import type { ResourceProperties } from "../../support/provider-call";
import { ProviderProcess } from "../../support/provider-process";
import { holdsOf } from "../../support/tenant-content";
import { Interleaving } from "./interleaving";

/*
 * Two stacks, each with its own provider process, work on the same objects of one tenant at once. Every request stops
 * twice: before the service sees it, and before its answer is returned. A seed decides which stack continues. So one
 * may read before the other writes, and learn the result of its own write much later.
 */

const SEEDS = Array.from({ length: 60 }, (_, at) => at + 1);

const STACKS = ["one", "two"] as const;
type StackName = (typeof STACKS)[number];

interface Case {
  readonly what: string;
  readonly kind: HandlerName | readonly [HandlerName, HandlerName];
  /** The earlier declaration; undefined for none. */
  readonly before?: Declares;
  /** The present declarations of both stacks; undefined to delete the entry. */
  readonly now: Declares;
  /** The rows that the tenant may hold afterwards: either as the first stack declares them, or as the second. */
  readonly holds: readonly string[];
  /** The error with which one of the two may fail. Default: neither fails. */
  readonly fails?: RegExp;
}

type Declares = Readonly<Record<StackName, ((subject: string) => ResourceProperties) | undefined>>;

const both = (declares: ((subject: string) => ResourceProperties) | undefined): Declares => ({
  one: declares,
  two: declares,
});
const deny =
  (comment: string, more: ResourceProperties = {}) =>
  (value: string) => ({ list: "deny", value, comment, ...more });
const allow = (comment: string) => (value: string) => ({ list: "allow", value, comment });
const vip = (comment: string) => (email: string) => ({ email, comment });
const list = (text: string | undefined) => (value: string) => ({
  entries: { ...(text === undefined ? {} : { [value]: text }), [`beside.${value}`]: "deny" },
});
const members = (comment: string) => (email: string) => ({
  members: { [email]: comment },
});

const EXISTS =
  /evil-\d+\.example can't be created on the (allow|deny) list: an entry already exists.*Pulumi \(ci\).*adopt: true/s;

const CASES: readonly Case[] = [
  { what: "make the same entry", kind: "allowDenyEntry", now: both(deny("a")), holds: ["deny: a"] },
  {
    what: "make it with another comment",
    kind: "allowDenyEntry",
    now: { one: deny("a"), two: deny("b") },
    holds: ["deny: a", "deny: b"],
    fails: EXISTS,
  },
  {
    what: "make it on another list",
    kind: "allowDenyEntry",
    now: { one: deny("a"), two: allow("a") },
    holds: ["deny: a", "allow: a"],
    fails: EXISTS,
  },
  {
    what: "make it with another comment, and may take it over",
    kind: "allowDenyEntry",
    now: { one: deny("a", { adopt: true }), two: deny("b", { adopt: true }) },
    holds: ["deny: a", "deny: b"],
  },
  {
    what: "give it another comment",
    kind: "allowDenyEntry",
    before: both(deny("old")),
    now: { one: deny("a"), two: deny("b") },
    holds: ["deny: a", "deny: b"],
  },
  {
    what: "move it, and give it another comment",
    kind: "allowDenyEntry",
    before: both(deny("old")),
    now: { one: allow("old"), two: deny("b") },
    holds: ["allow: old", "deny: b"],
  },
  {
    what: "move it alike",
    kind: "allowDenyEntry",
    before: both(deny("a")),
    now: both(allow("a")),
    holds: ["allow: a"],
  },
  {
    what: "change and delete it",
    kind: "allowDenyEntry",
    before: both(deny("old")),
    now: { one: deny("a"), two: undefined },
    holds: ["deny: a", "nothing"],
  },
  {
    what: "both delete it",
    kind: "allowDenyEntry",
    before: both(deny("a")),
    now: both(undefined),
    holds: ["nothing"],
  },
  { what: "make the same VIP", kind: "vipEmployee", now: both(vip("a")), holds: ["VIP: a"] },
  {
    what: "make the VIP with another comment",
    kind: "vipEmployee",
    now: { one: vip("a"), two: vip("b") },
    holds: ["VIP: a", "VIP: b"],
  },
  {
    what: "change and remove the VIP",
    kind: "vipEmployee",
    before: both(vip("old")),
    now: { one: vip("a"), two: undefined },
    holds: ["VIP: a", "excluded"],
  },
  {
    what: "both remove the VIP",
    kind: "vipEmployee",
    before: both(vip("a")),
    now: both(undefined),
    holds: ["excluded"],
  },
  { what: "declare the same list", kind: "allowDenyList", now: both(list("deny: a")), holds: ["deny: a"] },
  {
    what: "move it in two lists",
    kind: "allowDenyList",
    before: both(list("deny: a")),
    now: both(list("allow: a")),
    holds: ["allow: a"],
  },
  {
    what: "take it out of two lists",
    kind: "allowDenyList",
    before: both(list("deny: a")),
    now: both(list(undefined)),
    holds: ["nothing"],
  },
  {
    what: "make it alone and in a list",
    kind: ["allowDenyEntry", "allowDenyList"],
    now: { one: deny("a"), two: list("deny: a") },
    holds: ["deny: a"],
  },
  { what: "declare the same VIPs", kind: "vipList", now: both(members("a")), holds: ["VIP: a"] },
  {
    what: "make the VIP alone and in a list",
    kind: ["vipEmployee", "vipList"],
    now: { one: vip("a"), two: members("b") },
    holds: ["VIP: a", "VIP: b"],
  },
];

/** Mailboxes that automatic detection doesn't treat as VIPs. */
const MAILBOXES = [
  "marcus.bell",
  "yuki.sato",
  "greta.nilsen",
  "alice.moreau",
  "diego.santos",
  "mei.chen",
  "hannah.kim",
];

/** Gives each case its own value or mailbox, so that all run at once. */
function subjects(): readonly (Case & { subject: string })[] {
  const mailboxes = MAILBOXES.values();
  return CASES.map((one, number) => {
    const isVip = String(one.kind).startsWith("vip");
    return { ...one, subject: isVip ? `${mailboxes.next().value}@acme.example` : `evil-${number}.example` };
  });
}

/** One stack: a provider process behind a proxy, and its resources. */
class Stack implements AsyncDisposable {
  readonly proxy: FaultyProxy;
  readonly provider: ProviderProcess;
  readonly resources: ReadonlyMap<string, ManagedResource>;

  private constructor(proxy: FaultyProxy, provider: ProviderProcess, at: number) {
    this.proxy = proxy;
    this.provider = provider;
    this.resources = new Map(
      subjects().map(({ kind, subject }) => {
        const handler = typeof kind === "string" ? kind : kind[at];
        return [
          subject,
          new ManagedResource({ provider }, handler as HandlerName, { name: subject, sharesRuns: true }),
        ];
      }),
    );
  }

  static async start(target: string, at: number): Promise<Stack> {
    const proxy = await startFaultyProxy({ target });
    const provider = await ProviderProcess.start({
      environment: { EMAIL_SECURITY_BASE_URL: proxy.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
    });
    return new Stack(proxy, provider, at);
  }

  /** `pulumi up` of all resources in the current process; undefined for those without changes. */
  async up(declares: (one: Case) => Declares[StackName]): Promise<ReadonlyMap<string, Up | undefined>> {
    const ups = subjects().map(async (one) => {
      const resource = this.resources.get(one.subject) as ManagedResource;
      const args = declares(one)?.(one.subject);
      if (args !== undefined) return [one.subject, await resource.up(args)] as const;
      return [one.subject, resource.properties === undefined ? undefined : await resource.destroy()] as const;
    });
    return new Map(await Promise.all(ups));
  }

  /** `pulumi refresh` of all resources in the current process. */
  async refresh(): Promise<void> {
    const known = [...this.resources.values()].filter(({ properties }) => properties !== undefined);
    await Promise.all(known.map(async (resource) => await resource.refresh()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.provider[Symbol.asyncDispose]();
    await this.proxy[Symbol.asyncDispose]();
  }
}

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one[Symbol.asyncDispose]();
});

it.each(matrix("two-stacks", SEEDS, [1]))(
  "converges two concurrent stacks to one declared state (order %i)",
  async (seed) => {
    const sandbox = await startSandbox({ scenario: "empty" });
    open.push(sandbox);
    const stacks: Record<string, Stack> = {};
    for (const [at, name] of STACKS.entries()) {
      stacks[name] = await Stack.start(sandbox.url, at);
      open.push(stacks[name]);
      await stacks[name].up(({ before }) => before?.[name]);
    }

    const order = new Interleaving(STACKS, seed);
    const outcomes = await Promise.all(
      STACKS.map(async (name) => {
        const stack = stacks[name] as Stack;
        stack.proxy.hooks = { beforeForward: () => order.gate(name), afterCommit: () => order.gate(name) };
        await stack.provider.nextRun();
        const outcome = await stack.up(({ now }) => now[name]).finally(() => order.leave(name));
        stack.proxy.hooks = {};
        return outcome;
      }),
    );
    const isFailed = (up: Up | undefined) => up !== undefined && ["failed", "partial", "refused"].includes(up.outcome);
    for (const { what, subject, holds, fails } of subjects()) {
      const ups = outcomes.map((outcome) => outcome.get(subject));
      const failed = ups.filter(isFailed);
      expect.soft(holds, `${what}: ${JSON.stringify(ups)}`).toContain(holdsOf(sandbox, subject));
      if (fails === undefined) expect.soft(failed, what).toEqual([]);
      else expect.soft(failed.length, what).toBeLessThan(2);
      for (const { failures } of failed as Up[]) {
        expect.soft(Object.values(failures).join("\n"), what).toMatch(fails ?? "");
      }
    }

    // With the other stack idle, each stack applies its declaration or is refused again.
    for (const [at, name] of STACKS.entries()) {
      const stack = stacks[name] as Stack;
      await stack.provider.nextRun();
      await stack.refresh();
      await stack.up(({ now }) => now[name]);
      await stack.provider.nextRun();
      stack.proxy.requests.length = 0;
      const again = await stack.up(({ now }) => now[name]);
      expect(stack.proxy.requests.filter(({ method }) => method !== "GET")).toEqual([]);
      for (const { what, subject, now, holds, fails } of subjects()) {
        const up = again.get(subject);
        if (now[name] === undefined || (isFailed(up) && fails !== undefined)) continue;
        expect.soft(up?.outcome, `${what}, again`).toBe("same");
        expect.soft(holdsOf(sandbox, subject), `${what}, again`).toBe(holds[at] ?? holds[0]);
      }
    }
  },
  timeLimit(120_000),
);

import { afterEach, expect, it } from "vitest";
import type { HandlerName } from "../../../provider/resources/serialized-provider";
import { startSandbox } from "../../../provider/sandbox";
import { type FaultyProxy, startFaultyProxy } from "../../support/faulty-proxy";
import { formatSubjectRows } from "../../support/format-subject-rows";
import { ManagedResource, type ResourceUpResult } from "../../support/managed-resource";
import { getTimeLimit, selectCases } from "../../support/matrix-sampling";
import type { ResourceProperties } from "../../support/provider-call";
import { ProviderProcess } from "../../support/provider-process";
import { Interleaving } from "./interleaving";

/*
 * Two stacks, each with its own provider process, work on the same objects of one tenant at once. Every request stops
 * twice: before the service sees it, and before its answer is returned. A seed decides which stack continues. So one
 * may read before the other writes, and learn the result of its own write much later.
 */

const SEEDS = Array.from({ length: 60 }, (_, index) => index + 1);

const STACKS = ["one", "two"] as const;
type StackName = (typeof STACKS)[number];

interface StackCase {
  readonly label: string;
  readonly kind: HandlerName | readonly [HandlerName, HandlerName];
  /** The earlier declaration; undefined for none. */
  readonly before?: StackDeclarations;
  /** The present declarations of both stacks; undefined to delete the entry. */
  readonly now: StackDeclarations;
  /** The rows that the tenant may hold afterwards: either as the first stack declares them, or as the second. */
  readonly holds: readonly string[];
  /** The error with which one of the two may fail. Default: neither fails. */
  readonly fails?: RegExp;
}

type StackDeclarations = Readonly<Record<StackName, ((subject: string) => ResourceProperties) | undefined>>;

const declareInBoth = (declares: ((subject: string) => ResourceProperties) | undefined): StackDeclarations => ({
  one: declares,
  two: declares,
});
const buildDenyArguments =
  (comment: string, more: ResourceProperties = {}) =>
  (value: string) => ({ list: "deny", value, comment, ...more });
const buildAllowArguments = (comment: string) => (value: string) => ({ list: "allow", value, comment });
const buildVipArguments = (comment: string) => (email: string) => ({ email, comment });
const buildListArguments = (text: string | undefined) => (value: string) => ({
  entries: { ...(text === undefined ? {} : { [value]: text }), [`beside.${value}`]: "deny" },
});
const buildMembersArguments = (comment: string) => (email: string) => ({
  members: { [email]: comment },
});

const EXISTS =
  /evil-\d+\.example can't be created on the (allow|deny) list: an entry already exists.*Pulumi \(ci\).*adopt: true/s;

const CASES: readonly StackCase[] = [
  {
    label: "make the same entry",
    kind: "allowDenyEntry",
    now: declareInBoth(buildDenyArguments("a")),
    holds: ["deny: a"],
  },
  {
    label: "make it with another comment",
    kind: "allowDenyEntry",
    now: { one: buildDenyArguments("a"), two: buildDenyArguments("b") },
    holds: ["deny: a", "deny: b"],
    fails: EXISTS,
  },
  {
    label: "make it on another list",
    kind: "allowDenyEntry",
    now: { one: buildDenyArguments("a"), two: buildAllowArguments("a") },
    holds: ["deny: a", "allow: a"],
    fails: EXISTS,
  },
  {
    label: "create it with another comment, with adopt",
    kind: "allowDenyEntry",
    now: { one: buildDenyArguments("a", { adopt: true }), two: buildDenyArguments("b", { adopt: true }) },
    holds: ["deny: a", "deny: b"],
  },
  {
    label: "give it another comment",
    kind: "allowDenyEntry",
    before: declareInBoth(buildDenyArguments("old")),
    now: { one: buildDenyArguments("a"), two: buildDenyArguments("b") },
    holds: ["deny: a", "deny: b"],
  },
  {
    label: "move it, and give it another comment",
    kind: "allowDenyEntry",
    before: declareInBoth(buildDenyArguments("old")),
    now: { one: buildAllowArguments("old"), two: buildDenyArguments("b") },
    holds: ["allow: old", "deny: b"],
  },
  {
    label: "move it alike",
    kind: "allowDenyEntry",
    before: declareInBoth(buildDenyArguments("a")),
    now: declareInBoth(buildAllowArguments("a")),
    holds: ["allow: a"],
  },
  {
    label: "change and delete it",
    kind: "allowDenyEntry",
    before: declareInBoth(buildDenyArguments("old")),
    now: { one: buildDenyArguments("a"), two: undefined },
    holds: ["deny: a", "nothing"],
  },
  {
    label: "both delete it",
    kind: "allowDenyEntry",
    before: declareInBoth(buildDenyArguments("a")),
    now: declareInBoth(undefined),
    holds: ["nothing"],
  },
  { label: "make the same VIP", kind: "vipEmployee", now: declareInBoth(buildVipArguments("a")), holds: ["VIP: a"] },
  {
    label: "make the VIP with another comment",
    kind: "vipEmployee",
    now: { one: buildVipArguments("a"), two: buildVipArguments("b") },
    holds: ["VIP: a", "VIP: b"],
  },
  {
    label: "change and remove the VIP",
    kind: "vipEmployee",
    before: declareInBoth(buildVipArguments("old")),
    now: { one: buildVipArguments("a"), two: undefined },
    holds: ["VIP: a", "excluded"],
  },
  {
    label: "both remove the VIP",
    kind: "vipEmployee",
    before: declareInBoth(buildVipArguments("a")),
    now: declareInBoth(undefined),
    holds: ["excluded"],
  },
  {
    label: "declare the same list",
    kind: "allowDenyList",
    now: declareInBoth(buildListArguments("deny: a")),
    holds: ["deny: a"],
  },
  {
    label: "move it in two lists",
    kind: "allowDenyList",
    before: declareInBoth(buildListArguments("deny: a")),
    now: declareInBoth(buildListArguments("allow: a")),
    holds: ["allow: a"],
  },
  {
    label: "take it out of two lists",
    kind: "allowDenyList",
    before: declareInBoth(buildListArguments("deny: a")),
    now: declareInBoth(buildListArguments(undefined)),
    holds: ["nothing"],
  },
  {
    label: "make it alone and in a list",
    kind: ["allowDenyEntry", "allowDenyList"],
    now: { one: buildDenyArguments("a"), two: buildListArguments("deny: a") },
    holds: ["deny: a"],
  },
  {
    label: "declare the same VIPs",
    kind: "vipList",
    now: declareInBoth(buildMembersArguments("a")),
    holds: ["VIP: a"],
  },
  {
    label: "make the VIP alone and in a list",
    kind: ["vipEmployee", "vipList"],
    now: { one: buildVipArguments("a"), two: buildMembersArguments("b") },
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
function assignSubjects(): readonly (StackCase & { subject: string })[] {
  const mailboxes = MAILBOXES.values();
  return CASES.map((stackCase, number) => {
    const isVip = String(stackCase.kind).startsWith("vip");
    return { ...stackCase, subject: isVip ? `${mailboxes.next().value}@acme.example` : `evil-${number}.example` };
  });
}

/** One stack: a provider process behind a proxy, and its resources. */
class Stack implements AsyncDisposable {
  readonly proxy: FaultyProxy;
  readonly provider: ProviderProcess;
  readonly resources: ReadonlyMap<string, ManagedResource>;

  private constructor(proxy: FaultyProxy, provider: ProviderProcess, index: number) {
    this.proxy = proxy;
    this.provider = provider;
    this.resources = new Map(
      assignSubjects().map(({ kind, subject }) => {
        const handler = typeof kind === "string" ? kind : kind[index];
        return [
          subject,
          new ManagedResource({ provider }, handler as HandlerName, { name: subject, sharesRuns: true }),
        ];
      }),
    );
  }

  static async start(target: string, index: number): Promise<Stack> {
    const proxy = await startFaultyProxy({ target });
    const provider = await ProviderProcess.start({
      environment: { EMAIL_SECURITY_BASE_URL: proxy.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
    });
    return new Stack(proxy, provider, index);
  }

  /** `pulumi up` of all resources in the current process; undefined for those without changes. */
  async updateAll(
    declares: (stackCase: StackCase) => StackDeclarations[StackName],
  ): Promise<ReadonlyMap<string, ResourceUpResult | undefined>> {
    const ups = assignSubjects().map(async (subject) => {
      const resource = this.resources.get(subject.subject) as ManagedResource;
      const args = declares(subject)?.(subject.subject);
      if (args !== undefined) return [subject.subject, await resource.up(args)] as const;
      return [subject.subject, resource.properties === undefined ? undefined : await resource.destroy()] as const;
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
  for (const resource of open.splice(0).reverse()) await resource[Symbol.asyncDispose]();
});

it.each(selectCases("two-stacks", SEEDS, [1]))(
  "converges two concurrent stacks to one declared state (order %i)",
  async (seed) => {
    const sandbox = await startSandbox({ scenario: "empty" });
    open.push(sandbox);
    const stacks: Record<string, Stack> = {};
    for (const [index, name] of STACKS.entries()) {
      stacks[name] = await Stack.start(sandbox.url, index);
      open.push(stacks[name]);
      await stacks[name].updateAll(({ before }) => before?.[name]);
    }

    const order = new Interleaving(STACKS, seed);
    const outcomes = await Promise.all(
      STACKS.map(async (name) => {
        const stack = stacks[name] as Stack;
        stack.proxy.hooks = {
          beforeForward: () => order.waitForTurn(name),
          afterCommit: () => order.waitForTurn(name),
        };
        await stack.provider.startNextRun();
        const outcome = await stack.updateAll(({ now }) => now[name]).finally(() => order.leave(name));
        stack.proxy.hooks = {};
        return outcome;
      }),
    );
    const isFailed = (up: ResourceUpResult | undefined) =>
      up !== undefined && ["failed", "partial", "refused"].includes(up.outcome);
    for (const { label, subject, holds, fails } of assignSubjects()) {
      const ups = outcomes.map((outcome) => outcome.get(subject));
      const failed = ups.filter(isFailed);
      expect.soft(holds, `${label}: ${JSON.stringify(ups)}`).toContain(formatSubjectRows(sandbox, subject));
      if (fails === undefined) expect.soft(failed, label).toEqual([]);
      else expect.soft(failed.length, label).toBeLessThan(2);
      for (const { failures } of failed as ResourceUpResult[]) {
        expect.soft(Object.values(failures).join("\n"), label).toMatch(fails ?? "");
      }
    }

    // With the other stack idle, each stack applies its declaration or is refused again.
    for (const [index, name] of STACKS.entries()) {
      const stack = stacks[name] as Stack;
      await stack.provider.startNextRun();
      await stack.refresh();
      await stack.updateAll(({ now }) => now[name]);
      await stack.provider.startNextRun();
      stack.proxy.requests.length = 0;
      const again = await stack.updateAll(({ now }) => now[name]);
      expect(stack.proxy.requests.filter(({ method }) => method !== "GET")).toEqual([]);
      for (const { label, subject, now, holds, fails } of assignSubjects()) {
        const up = again.get(subject);
        if (now[name] === undefined || (isFailed(up) && fails !== undefined)) continue;
        expect.soft(up?.outcome, `${label}, again`).toBe("same");
        expect.soft(formatSubjectRows(sandbox, subject), `${label}, again`).toBe(holds[index] ?? holds[0]);
      }
    }
  },
  getTimeLimit(120_000),
);

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Kill, type KillableProviderKind, KillableStack, type StackContent } from "../support/killable-stack";

/*
 * A process is killed (SIGKILL) at the boundary of a request, in a run of the real engine. Then a person follows
 * Pulumi's instructions. The result must be that of an undisturbed run: every change made once, and no others.
 */

export const RUNS = ["create", "update", "delete"] as const;
export type RunName = (typeof RUNS)[number];

/** The declarations of each run: resources of every kind, with something to create, change, move or remove in each. */
const DECLARED: Record<RunName, unknown> = {
  create: {
    AllowDenyEntry: {
      moved: { list: "allow", value: "partner.example", comment: "Q1" },
      edited: { list: "deny", value: "bad.example", comment: "INC-1" },
    },
    AllowDenyList: { list: { entries: { "one.example": "deny: a", "two.example": "allow: b" } } },
    VipEmployee: { vip: { email: "yuki.sato@acme.example", comment: "Payroll" } },
    VipList: { vips: { members: { "marcus.bell@acme.example": "AP", "alice.moreau@acme.example": "AP" } } },
  },
  update: {
    AllowDenyEntry: {
      moved: { list: "deny", value: "partner.example", comment: "Q2" },
      edited: { list: "deny", value: "bad.example", comment: "INC-2" },
    },
    AllowDenyList: { list: { entries: { "one.example": "allow: a", "three.example": "deny: c" } } },
    VipEmployee: { vip: { email: "yuki.sato@acme.example", comment: "Payroll, until June" } },
    VipList: {
      vips: { members: { "diego.santos@acme.example": "AP", "alice.moreau@acme.example": "on call" } },
    },
  },
  delete: {},
};

/** Chains the resources with `dependsOn`, so that the order of requests is always the same. */
const buildProgram = (module: string): string => `
  import { AllowDenyEntry, AllowDenyList, VipEmployee, VipList } from "${module}";
  const kinds: Record<string, any> = { AllowDenyEntry, AllowDenyList, VipEmployee, VipList };
  const dependsOn: unknown[] = [];
  for (const [kind, resources] of Object.entries<object>(JSON.parse(process.env["DECLARED"] ?? ""))) {
    for (const [name, args] of Object.entries(resources)) {
      dependsOn.push(new kinds[kind](name, args, { dependsOn: [...dependsOn] }));
    }
  }
`;

/** The number of requests in each undisturbed run. */
export const REQUESTS: Record<RunName, number> = { create: 12, update: 14, delete: 9 };

/** A process to kill, the moment, and the run. */
export interface KillCase extends Kill {
  readonly run: RunName;
}

const MODULES = { dynamic: "pulumi-email-security", native: "pulumi-email-security/native" } as const;

/** Defines tests of these kills in a provider's stacks. Only the runs up to the last one with a kill are executed. */
export function describeKills(providerKind: KillableProviderKind, cases: readonly KillCase[]): void {
  describe(`${providerKind} resources`, () => {
    const last = Math.max(...cases.map(({ run }) => RUNS.indexOf(run)));
    let stack: KillableStack;
    /** The outcome of each undisturbed run. */
    const undisturbed = new Map<RunName, StackContent>();

    beforeAll(async () => {
      stack = await KillableStack.create(buildProgram(MODULES[providerKind]), providerKind);
      for (const run of RUNS.slice(0, last + 1)) {
        await stack.keep(run);
        await stack.proxy.removeFaults();
        const since = await stack.readLastAuditId();
        expect(await stack.up(DECLARED[run])).toMatchObject({ code: 0 });
        expect(stack.proxy.requests, run).toHaveLength(REQUESTS[run]);
        undisturbed.set(run, await stack.readOutcome(since));
      }
    });

    afterAll(async () => {
      await stack[Symbol.asyncDispose]();
    });

    it.each([...cases])(
      "recovers $run when the $victim is killed $moment request $requestIndex",
      async ({ run, ...kill }) => {
        await stack.restore(run);
        const since = await stack.readLastAuditId();
        const isOdd = kill.requestIndex % 2 === 1;
        const killed = await stack.killDuringUp(kill, DECLARED[run], { isBackAtOnce: isOdd });
        const recovery = await stack.recover(DECLARED[run], { refreshesFirst: isOdd });
        const output = `${killed.output}\n${recovery}`;
        expect({ output, ...(await stack.readOutcome(since)) }).toMatchObject(undisturbed.get(run) ?? {});

        stack.proxy.requests.length = 0;
        const again = await stack.up(DECLARED[run], "--expect-no-changes");
        expect(again).toMatchObject({ code: 0, output: expect.not.stringContaining("pending operations") });
        expect(stack.proxy.requests).toEqual([]);
        // No process that knows the key may stay behind.
        await stack.waitForProviderExit();
      },
    );
  });
}

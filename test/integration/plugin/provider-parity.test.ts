import fc from "fast-check";
import { expect, it } from "vitest";
import type { HandlerName } from "../../../provider/resources/serialized-provider";
import { getPropertyOptions, getRunCount } from "../../support/matrix-sampling";
import type { ResourceProperties } from "../../support/provider-call";
import { ProviderProcess, type ProviderResource } from "../../support/provider-process";

/*
 * Both providers get the same arguments and must give identical answers, whatever the arguments are. No service is
 * called.
 */

const UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

/** Values that may appear where a string is expected. */
const odd = fc.oneof(
  fc.constantFrom<unknown>(null, true, 0, -1.5, "", " ", "constructor", "\u001b[31m"),
  fc.constantFrom<unknown>([], {}, { constructor: "x" }, [[null]]),
  fc.constantFrom<unknown>(UNKNOWN, [UNKNOWN], { x: UNKNOWN }),
);
const favorValid = (...texts: unknown[]): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 40, arbitrary: fc.constantFrom(...texts) }, { weight: 1, arbitrary: odd });
const generateProperties = (model: Record<string, fc.Arbitrary<unknown>>, ...requiredKeys: string[]) =>
  fc.record(model, { requiredKeys }) as fc.Arbitrary<ResourceProperties>;

const buildRareChoice = (...texts: string[]) => ({ weight: 1, arbitrary: fc.constantFrom<unknown>(...texts) });
const list = favorValid("allow", "deny");
const value = fc.oneof(
  {
    weight: 30,
    arbitrary: favorValid("evil.example", "Evil.Example.", "192.0.2.7", "a@b.example", "bücher.example"),
  },
  buildRareChoice("gmail.com", "com", "evil.example/login"),
);
const comment = favorValid("INC-1", "INC-2", "two\nlines", " x ");
const mailbox = fc.oneof(
  { weight: 30, arbitrary: favorValid("a@acme.example", "B@acme.example", "a@ACME.example") },
  buildRareChoice("acme.example"),
);
const listed = generateProperties(
  {
    list,
    value,
    comment,
    verdictScope: favorValid("global", "graymail"),
    acceptRisk: favorValid("They write from there"),
  },
  "list",
  "value",
);
const key = fc.oneof(
  {
    weight: 30,
    arbitrary: fc.constantFrom("evil.example", "x.example", "x.example (graymail)", "192.0.2.7"),
  },
  { weight: 1, arbitrary: fc.constantFrom("constructor", "com", "a b") },
);
const text = fc.oneof(
  { weight: 30, arbitrary: favorValid("deny", "allow", "deny: INC-1", "allow: INC-2") },
  buildRareChoice("(unmanaged) deny", "block"),
);
const options = { mode: favorValid("additive"), maxRemovals: favorValid(5), maxRemovalFraction: favorValid(1) };
const generateContent = (keyed: fc.Arbitrary<unknown>, rows: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
  fc.oneof(
    { weight: 20, arbitrary: keyed },
    { weight: 10, arbitrary: fc.array(rows, { maxLength: 3 }) },
    { weight: 1, arbitrary: odd },
  );

const KINDS: Readonly<Record<HandlerName, fc.Arbitrary<ResourceProperties>>> = {
  allowDenyEntry: fc.oneof(
    { weight: 20, arbitrary: listed },
    {
      weight: 1,
      arbitrary: generateProperties({
        list,
        value,
        entryType: favorValid("domain", "ip"),
        adopt: favorValid(true),
        typo: odd,
      }),
    },
  ),
  vipEmployee: generateProperties({ email: mailbox, comment, onDelete: favorValid("keep", "exclude") }, "email"),
  allowDenyList: generateProperties(
    {
      entries: generateContent(fc.dictionary(key, text, { maxKeys: 4 }), listed),
      ...options,
      ignore: favorValid(["*.ignored.example"], ["allow:*.ignored.example"]),
    },
    "entries",
  ),
  vipList: generateProperties(
    {
      members: generateContent(
        fc.dictionary(fc.constantFrom("a@acme.example", "B@acme.example", "c@acme.example"), comment),
        fc.oneof(mailbox, generateProperties({ email: mailbox, comment }, "email")),
      ),
      ...options,
      onDelete: favorValid("keep"),
    },
    "members",
  ),
};

const config = { "email-security:ownDomains": "acme.example" };
const NAMES = ["dynamic", "native"] as const;

it.each(Object.entries(KINDS))("handles %s the same with both providers", async (handler, args) => {
  await using dynamic = await ProviderProcess.start({ providerKind: NAMES[0], config });
  await using native = await ProviderProcess.start({ providerKind: NAMES[1], config });
  /** Calls both providers, asserts that they answer (or throw) the same, and returns that answer. */
  const callBoth = async <Answer>(ask: (resource: ProviderResource) => Promise<Answer>): Promise<Answer> => {
    const [a, b] = await Promise.all(
      [dynamic, native].map((provider) =>
        ask(provider.getResource(handler as HandlerName)).catch((error: Error) => ({ thrown: error.message })),
      ),
    );
    expect(b).toEqual(a);
    return a as Answer;
  };
  const storyOptions = getPropertyOptions("alike", { numRuns: getRunCount(150) });
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(args, args, async (olds, news) => {
      const before = await callBoth((resource) => resource.check(olds));
      // State never contains unknown values.
      if (!isAccepted(before.failures) || JSON.stringify(before.inputs).includes(UNKNOWN)) return;
      const next = await callBoth((resource) => resource.check(news, before.inputs));
      if (!isAccepted(next.failures)) return;
      await callBoth((resource) => resource.diff("id", before.inputs, next.inputs, before.inputs));
      // When nothing changes, the dynamic host has no response to add details to.
      await callBoth(
        async (resource) => (await resource.diffDetails("id", before.inputs, next.inputs, before.inputs)) ?? {},
      );
      compared += 1;
    }),
    storyOptions,
  );
  if (storyOptions.numRuns > 1) expect(compared).toBeGreaterThan(storyOptions.numRuns / 5);
});

/**
 * Returns whether check found no failures other than conflicts with the program's other declarations, which here are
 * all earlier cases.
 */
function isAccepted(failures: Readonly<Record<string, string>>): boolean {
  const others = /is declared twice in this program|a value can't be on both lists, whatever its scopes/;
  return Object.values(failures).every((reason) => others.test(reason));
}

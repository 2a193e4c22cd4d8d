import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { selectTargets, type TargetSelection } from "../../../../provider/rollout/targets/select-targets";
import { buildTarget } from "../../../support/rollout-target";

const TARGETS = [
  buildTarget("acme", { ring: "canary", region: "eu" }),
  buildTarget("acme-labs", { ring: "beta", region: "us" }),
  buildTarget("globex", { ring: "wide", region: "eu" }),
  buildTarget("initech", { region: "us" }),
];

const listSelectedNames = (selection: TargetSelection): string[] =>
  selectTargets(TARGETS, selection).map(({ name }) => name);

describe("a valid selection", () => {
  it.each<[TargetSelection, string[]]>([
    [{}, ["acme", "acme-labs", "globex", "initech"]],
    [{ only: ["globex", "acme"] }, ["acme", "globex"]],
    [{ only: ["acme*"] }, ["acme", "acme-labs"]],
    [{ only: ["*e*", "globex"] }, ["acme", "acme-labs", "globex", "initech"]],
    [{ only: ["*a*l*s"] }, ["acme-labs"]],
    [{ labels: ["ring=canary"] }, ["acme"]],
    [{ labels: ["ring=canary,beta"] }, ["acme", "acme-labs"]],
    [{ labels: ["!ring=canary,beta"] }, ["globex", "initech"]],
    [{ labels: ["region=eu", "!ring=canary"] }, ["globex"]],
    [{ only: ["acme*"], labels: ["region=us"] }, ["acme-labs"]],
    [{ except: ["acme*"] }, ["globex", "initech"]],
    [{ only: ["*e*"], except: ["globex", "acme"] }, ["acme-labs", "initech"]],
  ])("selects tenants in file order: %j", (selection, expected) =>
    expect(listSelectedNames(selection)).toEqual(expected),
  );
});

describe("an invalid selection", () => {
  it.each<[TargetSelection, string]>([
    [{ except: ["golbex"] }, 'No tenant is called "golbex"; did you mean "globex"?'],
    [
      { labels: ["region=eu"], except: ["acme", "globex"] },
      'No tenant is selected: none matches "region=eu" and not "acme" and not "globex" together.',
    ],
    [{ only: ["acme", "golbex"] }, 'No tenant is called "golbex"; did you mean "globex"?'],
    [{ only: ["Acme"] }, 'No tenant is called "Acme"; did you mean "acme", "acme-labs"?'],
    [
      { only: ["hooli*"] },
      'No tenant is called "hooli*"; the existing ones are "acme", "acme-labs", "globex", "initech".',
    ],
    [{ only: [""] }, 'No tenant is called ""; the existing ones are "acme", "acme-labs", "globex", "initech".'],
    [{ labels: ["rng=canary"] }, 'No tenant has the label "rng"; did you mean "ring"?'],
    [{ labels: ["tier=1"] }, 'No tenant has the label "tier"; the existing ones are "ring", "region".'],
    [{ labels: ["!ring=canry"] }, 'No tenant has the label "ring" with "canry"; did you mean "canary"?'],
    [
      { labels: ["ring"] },
      '"ring" isn\'t a valid label selector; write ring=canary, ring=canary,beta or !ring=canary.',
    ],
    [
      { labels: ["ring="] },
      '"ring=" isn\'t a valid label selector; write ring=canary, ring=canary,beta or !ring=canary.',
    ],
    [
      { labels: ["ring=beta,"] },
      '"ring=beta," isn\'t a valid label selector; write ring=canary, ring=canary,beta or !ring=canary.',
    ],
    [{ labels: ["constructor=x"] }, 'No tenant has the label "constructor"; the existing ones are "ring", "region".'],
    [{ only: ["acme"], labels: ["region=us"] }, 'No tenant is selected: none matches "acme" and "region=us" together.'],
  ])("is rejected with a suggestion: %j", (selection, message) => {
    expect(() => listSelectedNames(selection)).toThrow(
      expect.objectContaining({ code: "ERR_ROLLOUT_SELECTION", message }),
    );
  });
});

it("matches * in a name as any characters", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "."), maxLength: 6 });
  const pattern = fc.string({ unit: fc.constantFrom("a", "b", ".", "*"), maxLength: 6 });
  fc.assert(
    fc.property(text, pattern, (name, written) => {
      const all = [buildTarget(name), buildTarget("z")];
      const expression = new RegExp(`^${written.replaceAll(".", "\\.").replaceAll("*", ".*")}$`);
      const expected = all.filter((target) => expression.test(target.name));
      const selectWritten = () => selectTargets(all, { only: [written] });
      if (expected.length === 0) expect(selectWritten).toThrow();
      else expect(selectWritten()).toEqual(expected);
    }),
  );
});

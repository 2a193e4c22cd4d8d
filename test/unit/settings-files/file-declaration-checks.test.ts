import { expect, it } from "vitest";
import { isMeaningfulText } from "../../../provider/model/arguments";
import { OwnDomains } from "../../../provider/model/own-domains";
import { describeRisks } from "../../../provider/model/risk";
import {
  areIdentifiedByKeys,
  type FilePart,
  isPartValid,
} from "../../../provider/settings-files/file-declaration-checks";
import { readSettings } from "../../../provider/settings-files/read-settings";

const readFilePart = (yaml: string): FilePart => {
  const readFile = () => `version: 1\n${yaml}`;
  const { entries, vips } = readSettings("base.yaml", { readFile, ownDomains: [], shouldCrossCheck: false });
  return [...entries, ...vips];
};

const DECLARED = `
allow:
  - partner.example
  - jane@mail.supplier.example
  - { value: outlook.com, acceptRisk: half the customers write from there }
  - 192.0.2.7
deny:
  - evil.example
  - deep.below.spam.example
  - { value: jobs@applicants.example, comment: INC-7 }
  - { value: own.example, acceptRisk: a subsidiary that is being sold }
  - 198.51.100.7
vips: [ceo@partner.example]
`;

// Each own domain is a declared one, its parent or child, a look-alike, or unrelated.
const OWN = [
  [],
  ["company.example"],
  ["partner.example"],
  ["mail.partner.example"],
  ["evil.example"],
  ["very.evil.example", "company.example"],
  ["below.spam.example"],
  ["spam.example"],
  ["deeper.deep.below.spam.example"],
  ["applicants.example"],
  ["jobs.applicants.example"],
  ["supplier.example"],
  ["mail.supplier.example"],
  ["supp1ier.example"],
  ["partnet.example"],
  ["partner.example"],
  ["ev1l.example"],
  ["own.example"],
  ["mail.own.example"],
  ["outlook.com"],
];

it.each(OWN.map((domains) => [domains]))("agrees with checking each entry for own domains %j", (domains) => {
  const part = readFilePart(DECLARED);
  const own = new OwnDomains(domains);
  const isRefused = part.some(
    (candidate) =>
      candidate.kind === "entry" &&
      !isMeaningfulText(candidate.acceptRisk ?? "") &&
      describeRisks(candidate, own) !== undefined,
  );
  // The first checks are for a single tenant, the later ones for tenants that share the result.
  for (let times = 0; times < 3; times += 1) expect([times, isPartValid(part, own)]).toEqual([times, !isRefused]);
});

it("accepts only some own domains", () => {
  const part = readFilePart(DECLARED);
  const acceptedDomains = OWN.filter((domains) => isPartValid(part, new OwnDomains(domains)));
  expect(acceptedDomains).toEqual([
    [],
    ["company.example"],
    ["jobs.applicants.example"],
    ["ev1l.example"],
    ["own.example"],
    ["mail.own.example"],
    ["outlook.com"],
  ]);
});

it("rejects universally risky entries and invalid values", () => {
  const own = new OwnDomains([]);
  const risky = readFilePart("deny: [gmail.com]\n");
  const [entry] = readFilePart("deny: [evil.example]\n");
  if (entry?.kind !== "entry") throw new TypeError("There is no entry.");
  const odd: FilePart = [{ ...entry, key: "no value", value: "no value" }];
  for (let times = 0; times < 3; times += 1) {
    expect([isPartValid(risky, own), isPartValid(odd, own)]).toEqual([false, false]);
  }
});

it("recognizes entries that their keys don't identify", () => {
  expect(areIdentifiedByKeys(readFilePart(DECLARED))).toBe(true);
  expect(areIdentifiedByKeys(readFilePart("deny: [{ value: evil.example, scope: graymail }]\n"))).toBe(false);
});

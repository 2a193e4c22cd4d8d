import { describe, expect, it } from "vitest";
import { FileFindings } from "../../../provider/fleet/status/file-findings";
import type { Finding } from "../../../provider/settings-files/finding";
import type { Settings } from "../../../provider/settings-files/settings-model";

const buildSettings = (name: string) =>
  ({
    today: "2026-11-23",
    entries: [4, 3].map((line) => ({
      kind: "entry",
      list: "deny",
      value: `${name}${line}.example`,
      verdictScope: "global",
      expires: "2026-12-01",
      location: { file: `settings/${name}.yaml`, line, column: 5 },
    })),
    vips: [],
    expired: [],
  }) as unknown as Settings;

const buildFindings = (name: string): Finding[] => [
  {
    code: "allow-free-mail",
    level: "warning",
    message: name,
    place: { file: `settings/${name}.yaml`, line: 3, column: 5 },
  },
];

describe("a fleet's file findings", () => {
  it.each([[["acme", "globex"]], [["globex", "acme"]]])(
    "have the same order whichever tenant finishes first: %j",
    (names) => {
      const fileFindings = new FileFindings("2026-12-23");
      for (const name of names) fileFindings.add(name, buildSettings(name), buildFindings(name));
      fileFindings.sortTenants(["globex", "acme"]);
      expect(fileFindings.expiring.map(({ value }) => value)).toEqual([
        "acme3.example",
        "acme4.example",
        "globex3.example",
        "globex4.example",
      ]);
      expect(fileFindings.findings.map(({ message }) => message)).toEqual(["acme", "globex"]);
    },
  );
});

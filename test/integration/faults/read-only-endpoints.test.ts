import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SettingsClient } from "../../../provider/client";
import { type Sandbox, startSandbox } from "../../../provider/sandbox";
import { makeCertificate } from "../../support/certificate";
import { getPromise, listSelectedCases } from "./faults";
import { type KnownIds, READING, sendTwice } from "./read-only-endpoints";

describe.concurrent("faults at the read-only endpoints", () => {
  const [trusted, untrusted] = [makeCertificate("localhost"), makeCertificate("localhost")];
  const usualAuthorities = getCACertificates("default");
  let sandbox: Sandbox;
  let client: SettingsClient;
  let ids: KnownIds;

  beforeAll(async () => {
    setDefaultCACertificates([...usualAuthorities, trusted.cert]);
    // A fixed clock, so that the same request gets the same response.
    const now = new Date();
    sandbox = await startSandbox({ clock: () => now });
    client = new SettingsClient({ baseUrl: sandbox.url, apiKey: "sandbox-acme-ci" });
    const [report] = sandbox.phishingReports("acme");
    ids = { report: report?.id ?? "", internetMessage: report?.report_internet_message_id ?? "" };
  });

  afterAll(async () => {
    setDefaultCACertificates(usualAuthorities);
    await client.close();
    await sandbox.close();
  });

  test.for(listSelectedCases("faults-reading", READING))(
    "return the response or the fault's error: %s",
    { timeout: 600_000 },
    async ([, faultCase]) => {
      const answer = await faultCase.endpoint.send(client, ids);
      const broken = getPromise(faultCase) === "recovers" ? answer : faultCase.fault.code;
      const { answers, hits } = await sendTwice(faultCase, { target: sandbox.url, ids, trusted, untrusted });
      const expected = { first: [broken, answer], second: [answer, broken], every: [broken] };
      expect(answers).toEqual(expected[faultCase.attempts]);
      if (hits !== undefined) expect(hits).toBeGreaterThan(0);
    },
  );
});

/**
 * A stand-in for the service that serves more tenants than a sandbox handles well. A single sandbox tenant answers for
 * all of them: each page is fetched once, and each tenant's own name is inserted into it. It runs in its own process,
 * prints its address, and exits when its standard input closes.
 *
 *   node test/bench/fleet-stand-in.ts '{ "shared": 480, "own": 20 }'
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { startSandbox } from "pulumi-email-security/sandbox";
import { ownDomain, PLACEHOLDER } from "#bench/fleet-scale";
import { formatDeniedDomain } from "#bench/service";

const { shared, own } = JSON.parse(process.argv[2] ?? "{}") as { shared: number; own: number };
const buildScenarioEntry = (value: string) => ({
  list: "deny" as const,
  entryType: "domain" as const,
  value,
  comment: "",
  createdBy: "bench",
  createdAt: "2026-01-01T06:00:00.000Z",
});
const sandbox = await startSandbox({
  scenario: {
    name: "bench",
    tenants: [
      {
        name: PLACEHOLDER,
        keyLabels: { ci: "bench", console: "nobody" },
        detectedAt: "2026-01-01T06:00:00.000Z",
        employees: [],
        manualVips: [],
        exclusions: [],
        entries: [
          ...Array.from({ length: shared }, (_, index) => buildScenarioEntry(formatDeniedDomain(index))),
          ...Array.from({ length: own }, (_, index) => buildScenarioEntry(ownDomain(index, PLACEHOLDER))),
        ],
        threats: 0,
      },
    ],
  },
});

interface StoredResponse {
  readonly status: number;
  readonly text: string;
}
const pages = new Map<string, Promise<StoredResponse>>();
let reads = 0;

async function fetchPage(path: string): Promise<StoredResponse> {
  const response = await fetch(`${sandbox.url}${path}`, {
    headers: { "x-api-key": `sandbox-${PLACEHOLDER}-ci` },
  });
  return { status: response.status, text: await response.text() };
}

const server = createServer(async ({ url = "", method, headers }, response) => {
  if (url === "/sandbox/requests") {
    // The next request comes minutes later, when a kept-alive connection would be about to close.
    response.setHeader("connection", "close").end(JSON.stringify({ reads, writes: 0 }));
    return;
  }
  const name = /sandbox-(\w+)-ci/.exec(String(headers["x-api-key"]))?.[1];
  if (name === undefined || method !== "GET") {
    response.writeHead(401).end();
    return;
  }
  reads += 1;
  const page = pages.get(url) ?? fetchPage(url);
  pages.set(url, page);
  const { status, text } = await page;
  response.writeHead(status, { "content-type": "application/json" }).end(text.replaceAll(PLACEHOLDER, name));
});
server.listen(0, "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.stdin.resume().once("end", () => process.exit());

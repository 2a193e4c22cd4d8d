import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Agent, request } from "undici";
import { formatDecimal, formatTable } from "#bench/table";
import { makeCertificate } from "../support/certificate.ts";

const TENANTS = 100;
/** The requests of a tenant: three lists at once, then two further pages. */
const REQUESTS_PER_TENANT = 5;
const TENANTS_AT_ONCE = 16;
const RUNS = 3;
/** Flow control otherwise limits a connection to half a megabyte per round trip. The client sets the same. */
const LARGE_WINDOW = { h2Options: { connectionWindowSize: 16 * 1024 * 1024 } };

interface Counts {
  readonly connections: number;
  readonly resumed: number;
  readonly http2: number;
}

/** Compares connections of each tenant with shared ones, and HTTP/1.1 with HTTP/2, at a TLS server that offers both. */
export async function reportConnections(): Promise<string> {
  const rows: string[][] = [];
  for (const latencyMs of [0, 50]) {
    const certificate = makeCertificate("localhost");
    const path = fileURLToPath(new URL("connection-service.ts", import.meta.url));
    const service = spawn(process.execPath, [path, JSON.stringify({ latencyMs, certificate })], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const [port] = (await once(createInterface({ input: service.stdout }), "line")) as [string];
    const url = `https://localhost:${port}`;
    const connect = { ca: certificate.cert };
    const kinds = {
      "own connections, HTTP/1.1": { isShared: false, options: { connect, allowH2: false } },
      "shared connections, HTTP/1.1": { isShared: true, options: { connect, allowH2: false } },
      "shared connections, HTTP/2": { isShared: true, options: { connect } },
      "shared connections, HTTP/2 with a large window": { isShared: true, options: { connect, ...LARGE_WINDOW } },
    };
    const seconds = new Map<string, number[]>();
    const counts = new Map<string, Counts>();
    for (let run = 1; run <= RUNS; run++) {
      for (const [kind, { isShared, options }] of Object.entries(kinds)) {
        const startedAt = performance.now();
        await readTenants(url, isShared, options);
        seconds.set(kind, [...(seconds.get(kind) ?? []), (performance.now() - startedAt) / 1_000]);
        counts.set(kind, await readCounts(url, certificate.cert));
      }
    }
    service.stdin.end();
    for (const [kind, times] of seconds) {
      const { connections = 0, resumed = 0, http2 = 0 } = counts.get(kind) ?? {};
      rows.push([
        kind,
        `${latencyMs} ms`,
        formatDecimal(Math.min(...times)),
        `${connections}`,
        `${resumed}`,
        `${http2}`,
      ]);
    }
  }
  const conditions = `${TENANTS} tenants, ${REQUESTS_PER_TENANT} requests each, ${TENANTS_AT_ONCE} tenants at once; the minima of ${RUNS}`;
  return `${conditions}:\n${formatTable(["", "latency", "seconds", "connections", "resumed", "HTTP/2"], rows)}`;
}

async function readTenants(url: string, isShared: boolean, options: Agent.Options): Promise<void> {
  const shared = isShared ? new Agent(options) : undefined;
  const waiting = Array.from({ length: TENANTS }, (_, tenant) => tenant).values();
  const worker = async (): Promise<void> => {
    for (const tenant of waiting) {
      const dispatcher = shared ?? new Agent(options);
      const read = async (page: number): Promise<void> => {
        const { body } = await request(`${url}/${tenant}/${page}`, { dispatcher });
        await body.json();
      };
      await Promise.all([read(1), read(2), read(3)]);
      for (let page = 4; page <= REQUESTS_PER_TENANT; page++) await read(page);
      if (shared === undefined) await dispatcher.close();
    }
  };
  await Promise.all(Array.from({ length: TENANTS_AT_ONCE }, worker));
  await shared?.close();
}

/** Returns and resets the counts of the service, without the connection of this call. */
async function readCounts(url: string, ca: string): Promise<Counts> {
  const dispatcher = new Agent({ connect: { ca }, allowH2: false });
  try {
    const counts = (await (await request(`${url}/count`, { dispatcher })).body.json()) as Counts;
    return { ...counts, connections: counts.connections - 1 };
  } finally {
    await dispatcher.close();
  }
}

import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** Where the connection is cut: on a `commit`'s way to the server, or on the way of its answer. */
export type Cut = "commit" | "answer";

/** A proxy to a PostgreSQL server that breaks connections at the commit of a transaction. */
export interface CommitCutter extends AsyncDisposable {
  readonly url: string;
  /** The cuts at the next commits, in order; later commits pass. */
  readonly cuts: Cut[];
}

export async function startCommitCutter(target: string): Promise<CommitCutter> {
  const { hostname, port } = new URL(target);
  const cuts: Cut[] = [];
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(socket);
      socket.on("error", () => other.destroy());
      socket.on("close", () => {
        open.delete(socket);
        other.destroy();
      });
    }
    let mutes = false;
    client.on("data", (bytes) => {
      const cut = bytes.includes("commit\0") ? cuts.shift() : undefined;
      mutes ||= cut === "answer";
      if (cut === "commit") client.resetAndDestroy();
      else upstream.write(bytes);
    });
    upstream.on("data", (bytes) => {
      if (mutes) client.resetAndDestroy();
      else client.write(bytes);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(target);
  url.port = `${(server.address() as { port: number }).port}`;
  return {
    url: url.href,
    cuts,
    [Symbol.asyncDispose]: async () => {
      for (const socket of open) socket.destroy();
      server.close();
    },
  };
}

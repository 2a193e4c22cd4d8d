import { createHash, randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { basename } from "node:path";
import manifest from "../../provider/package.json";
import { EmptyFolder, PACKAGE, packPackage } from "../support/packed-package";

const UPSTREAM = "https://registry.npmjs.org";

/** A package registry that has this very package as if it were published, and sends whoever asks for another on to npm's. */
export class LocalRegistry implements AsyncDisposable {
  readonly url: string;
  readonly #server: Server;

  private constructor(server: Server, url: string) {
    this.#server = server;
    this.url = url;
  }

  static async start(): Promise<LocalRegistry> {
    await using folder = await EmptyFolder.create();
    const { tarball, version } = await packPackage(folder.path);
    const packed = await readFile(tarball);
    const integrity = `sha512-${createHash("sha512").update(packed).digest("base64")}`;
    // What npm's cache knows of the same port is another's.
    const here = `/${randomUUID()}`;
    const server: Server = createServer(({ url: asked = "" }, response) => {
      const url = asked.replace(here, "");
      if (url === `/${basename(tarball)}`) {
        response.end(packed);
      } else if (url === `/${PACKAGE}`) {
        const dist = { tarball: `${urlOf(server)}${here}/${basename(tarball)}`, integrity };
        response.setHeader("content-type", "application/json");
        response.end(
          JSON.stringify({
            name: PACKAGE,
            "dist-tags": { latest: version },
            versions: { [version]: { ...manifest, dist } },
          }),
        );
      } else response.writeHead(307, { location: UPSTREAM + url }).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new LocalRegistry(server, `${urlOf(server)}${here}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function urlOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

import { execFile } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { mkdir, readFile, symlink } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import manifest from "../../provider/package.json";
import { PACKAGE, packPackage } from "../support/packed-package";
import { createTestDirectory, type TestDirectory } from "../support/test-directory";

const run = promisify(execFile);

const UPSTREAM = "https://registry.npmjs.org";

/**
 * A package registry that serves this package as if it were published, and redirects requests for other packages to
 * npm's registry.
 */
export class LocalRegistry implements AsyncDisposable {
  readonly url: string;
  /** An npm cache of its own, so that `npx` never reuses a package installed from an earlier local registry. */
  readonly npmCache: string;
  readonly #server: Server;
  readonly #directory: TestDirectory;

  private constructor(server: Server, url: string, directory: TestDirectory, npmCache: string) {
    this.#server = server;
    this.url = url;
    this.#directory = directory;
    this.npmCache = npmCache;
  }

  static async start(): Promise<LocalRegistry> {
    const directory = createTestDirectory();
    const { tarball, version } = await packPackage(directory.path);
    const packed = await readFile(tarball);
    const integrity = `sha512-${createHash("sha512").update(packed).digest("base64")}`;
    // A unique path, because npm's cache may hold entries of another registry that used the same port.
    const here = `/${randomUUID()}`;
    const server: Server = createServer(({ url: requestUrl = "" }, response) => {
      const url = requestUrl.replace(here, "");
      if (url === `/${basename(tarball)}`) {
        response.end(packed);
      } else if (url === `/${PACKAGE}`) {
        const dist = { tarball: `${getUrl(server)}${here}/${basename(tarball)}`, integrity };
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
    const npmCache = await createNpmCache(join(directory.path, "npm"));
    return new LocalRegistry(server, `${getUrl(server)}${here}`, directory, npmCache);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    this.#directory[Symbol.dispose]();
  }
}

/** Creates an npm cache that shares the downloads of the user's cache, so that they aren't fetched again. */
async function createNpmCache(directory: string): Promise<string> {
  const { stdout } = await run("npm", ["config", "get", "cache", "--loglevel=error"]);
  const fetched = join(stdout.trim(), "_cacache");
  await mkdir(directory);
  await mkdir(fetched, { recursive: true });
  await symlink(fetched, join(directory, "_cacache"));
  return directory;
}

function getUrl(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

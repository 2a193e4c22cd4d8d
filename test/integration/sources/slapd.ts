import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { makeCertificate } from "../../support/certificate";
import {
  buildLibraryPath,
  type DebianServer,
  getUnpackedDirectory,
  unpackPackage,
} from "../../support/debian-packages";

const run = promisify(execFile);

export const SUFFIX = "dc=acme,dc=example";
export const READER = `cn=reader,${SUFFIX}`;

export interface SlapdOptions {
  /** The directory's entries below {@link SUFFIX}, in LDIF. */
  readonly ldif: string;
  readonly password: string;
  /** Whether the server has a certificate, and rejects connections without TLS. Default: it doesn't speak TLS. */
  readonly requiresTls?: boolean;
}

/**
 * An OpenLDAP server on the loopback interface. Anonymous users may read nothing but the root entry. {@link READER} may
 * read everything.
 */
export class Slapd implements AsyncDisposable {
  readonly url: string;
  readonly tlsUrl: string;
  /** The server's own certificate, for `localhost`. */
  readonly certificate: string;
  readonly #directory: string;
  readonly #server: ChildProcess;

  private constructor(ports: readonly number[], certificate: string, directory: string, server: ChildProcess) {
    this.url = `ldap://localhost:${ports[0]}`;
    this.tlsUrl = `ldaps://localhost:${ports[1]}`;
    this.certificate = certificate;
    this.#directory = directory;
    this.#server = server;
  }

  static async start(options: SlapdOptions): Promise<Slapd> {
    const programs = await findOrUnpackSlapd();
    const directory = await mkdtemp("/tmp/email-security-slapd-");
    const { cert, key } = makeCertificate("localhost");
    await mkdir(join(directory, "data"));
    await writeFile(join(directory, "server.crt"), cert);
    await writeFile(join(directory, "server.key"), key);
    await writeFile(join(directory, "slapd.conf"), formatConfiguration(programs, directory, options));
    await writeFile(join(directory, "entries.ldif"), `${BASE_ENTRIES}${options.ldif}`);
    const environment = { ...process.env, ...programs.environment };
    const files = ["-f", join(directory, "slapd.conf")];
    await run(programs.program, ["-T", "add", "-q", ...files, "-l", join(directory, "entries.ldif")], {
      env: environment,
    });
    const ports = [await findFreePort(), await findFreePort()];
    const schemes = options.requiresTls === true ? ["ldap", "ldaps"] : ["ldap"];
    const urls = schemes.map((scheme, index) => `${scheme}://127.0.0.1:${ports[index]}`);
    const server = spawn(programs.program, ["-d", "0", ...files, "-h", urls.join(" ")], {
      env: environment,
      stdio: "ignore",
    });
    for (const port of ports.slice(0, urls.length)) await waitForPort(port, server);
    return new Slapd(ports, cert, directory, server);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exit = once(this.#server, "close");
    if (this.#server.exitCode === null && this.#server.kill("SIGKILL")) await exit;
    await rm(this.#directory, { recursive: true, force: true });
  }
}

const BASE_ENTRIES = `dn: ${SUFFIX}
objectClass: domain
dc: acme

`;

interface SlapdPrograms {
  readonly program: string;
  readonly modules: string;
  readonly schema: string;
  readonly environment: NodeJS.ProcessEnv;
}

const SERVER: DebianServer = { label: "OpenLDAP", packageName: "slapd", cacheName: "slapd" };

/** Installing Debian's package would start a server, so it is only unpacked. */
async function findOrUnpackSlapd(): Promise<SlapdPrograms> {
  const root = getUnpackedDirectory(SERVER);
  if (!existsSync("/usr/sbin/slapd") && !existsSync(root)) await unpackPackage(SERVER);
  const [prefix, environment] = existsSync("/usr/sbin/slapd")
    ? ["/", {}]
    : [root, { LD_LIBRARY_PATH: buildLibraryPath(root) }];
  const program = join(prefix, "usr/sbin/slapd");
  if (!existsSync(program)) {
    throw new Error("These tests need an OpenLDAP server. Install it: `apt-get install slapd` on Debian and Ubuntu.");
  }
  return { program, modules: join(prefix, "usr/lib/ldap"), schema: join(prefix, "etc/ldap/schema"), environment };
}

const TLS_SETTINGS = `TLSCertificateFile {directory}/server.crt
TLSCertificateKeyFile {directory}/server.key
security tls=1`;

function formatConfiguration({ modules, schema }: SlapdPrograms, directory: string, options: SlapdOptions): string {
  return `${["core", "cosine", "nis", "inetorgperson"].map((name) => `include ${schema}/${name}.schema`).join("\n")}
attributetype ( 1.2.840.113556.1.4.8 NAME 'userAccountControl' SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )
attributetype ( 1.2.840.113556.1.2.210 NAME 'proxyAddresses' EQUALITY caseExactMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )
attributetype ( 2.16.840.1.113730.3.1.610 NAME 'nsAccountLock' EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 SINGLE-VALUE )
objectclass ( 1.3.6.1.4.1.4203.666.100.1 NAME 'accountState' SUP top AUXILIARY MAY ( userAccountControl $ proxyAddresses $ nsAccountLock ) )
modulepath ${modules}
moduleload back_mdb
moduleload ppolicy
pidfile ${directory}/pid
${options.requiresTls === true ? TLS_SETTINGS.replaceAll("{directory}", directory) : ""}
sizelimit unlimited
access to dn.base="" by * read
access to * by dn.base="${READER}" read by * auth
database mdb
maxsize 1073741824
suffix "${SUFFIX}"
rootdn "${READER}"
rootpw "${options.password}"
directory ${directory}/data
index objectClass,cn eq
overlay ppolicy
`;
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}

async function waitForPort(port: number, server: ChildProcess): Promise<void> {
  while (server.exitCode === null) {
    const socket = connect(port, "127.0.0.1");
    const isOpen = await once(socket, "connect").then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isOpen) return;
    await sleep(20);
  }
  throw new Error(`slapd ended with ${server.exitCode}`);
}

/** A person in LDIF. An attribute can have several values. */
export function formatPersonLdif(
  uid: string,
  attributes: Readonly<Record<string, string | readonly string[]>> = {},
): string {
  const classes = ["inetOrgPerson", "accountState"];
  return formatLdif(`uid=${uid},${SUFFIX}`, { objectClass: classes, uid, cn: uid, sn: uid, ...attributes });
}

export function formatGroup(cn: string, members: readonly string[]): string {
  return formatLdif(`cn=${cn},${SUFFIX}`, { objectClass: "groupOfNames", cn, member: members });
}

export function formatLdif(dn: string, attributes: Readonly<Record<string, string | readonly string[]>>): string {
  const lines = Object.entries({ dn, ...attributes }).flatMap(([name, values]) =>
    // Base64, because values may contain any character.
    [values].flat().map((value) => `${name}:: ${Buffer.from(value).toString("base64")}`),
  );
  return `${lines.join("\n")}\n\n`;
}

export function formatUidName(uid: string): string {
  return `uid=${uid},${SUFFIX}`;
}

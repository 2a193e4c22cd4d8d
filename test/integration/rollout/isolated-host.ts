import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Simulates another host: a network namespace with a single link that can be cut. */
export interface CutOffHost extends AsyncDisposable {
  /** The address by which the namespace reaches this host. */
  readonly address: string;
  /** The command prefix that runs a program in the namespace. */
  readonly inside: readonly string[];
  /** Cuts the link: packets are dropped silently. */
  cut(): Promise<void>;
}

let interfaceCount = 0;

/** Creates a namespace; if that isn't possible (for example without root), returns the reason. */
export async function makeCutOffHost(): Promise<CutOffHost | string> {
  if (process.platform !== "linux") return "network namespaces are Linux's";
  if (process.getuid?.() !== 0) return "only root may make network namespaces";
  const ip = await findIpCommand();
  if (ip === undefined) return "there is no `ip`: install iproute2";
  const number = process.pid % 16_000;
  const name = `es-${number}-${++interfaceCount}`;
  // Two addresses in 198.18.0.0/15, which is reserved for network tests.
  const base = [198, 18 + (interfaceCount % 2), number >> 6, (number & 63) << 2];
  const [here, there] = [1, 2].map((last) => [...base.slice(0, 3), (base[3] ?? 0) + last].join("."));
  const removeNetwork = async () => {
    await run(ip, ["link", "del", `${name}a`]).catch(() => {});
    await run(ip, ["netns", "del", name]).catch(() => {});
  };
  try {
    for (const command of [
      ["netns", "add", name],
      ["link", "add", `${name}a`, "type", "veth", "peer", "name", `${name}b`, "netns", name],
      ["addr", "add", `${here}/30`, "dev", `${name}a`],
      ["-n", name, "addr", "add", `${there}/30`, "dev", `${name}b`],
      ["link", "set", `${name}a`, "up"],
      ["-n", name, "link", "set", `${name}b`, "up"],
      ["-n", name, "link", "set", "lo", "up"],
    ]) {
      await run(ip, command);
    }
  } catch (error) {
    await removeNetwork();
    return `network namespaces can't be made here: ${(error as Error).message.split("\n").at(-2)}`;
  }
  return {
    address: here ?? "",
    inside: [ip, "netns", "exec", name],
    cut: async () => {
      await run(ip, ["link", "set", `${name}a`, "down"]);
    },
    [Symbol.asyncDispose]: removeNetwork,
  };
}

async function findIpCommand(): Promise<string | undefined> {
  const findInstalledIp = () => ["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip"].find(existsSync);
  const ipPath = findInstalledIp();
  if (ipPath !== undefined || !existsSync("/usr/bin/apt-get")) return ipPath;
  console.log("A host that can be cut off, for the tests: installing Debian's iproute2 with apt-get");
  const environment = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const installIp = () =>
    run("apt-get", ["install", "--yes", "--no-install-recommends", "iproute2"], { env: environment });
  await installIp().catch(async () => {
    await run("apt-get", ["update"]).catch(() => {});
    await installIp().catch(() => {});
  });
  return findInstalledIp();
}

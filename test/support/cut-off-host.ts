import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";

const run = promisify(execFile);

/** As good as another host: a network namespace of its own, whose one link can be cut. */
export interface CutOffHost extends AsyncDisposable {
  /** The address by which it reaches this side. */
  readonly address: string;
  /** The command before a program that is to run there. */
  readonly inside: readonly string[];
  /** Cuts the link: nothing that is sent arrives, and nobody is told so. */
  cut(): Promise<void>;
}

let made = 0;

/** Makes one; where that is not possible, answers why, as for who is not root. */
export async function makeCutOffHost(): Promise<CutOffHost | string> {
  if (process.platform !== "linux") return "network namespaces are Linux's";
  if (process.getuid?.() !== 0) return "only root may make network namespaces";
  const ip = await ipCommand();
  if (ip === undefined) return "there is no `ip`: install iproute2";
  const number = process.pid % 16_000;
  const name = `es-${number}-${++made}`;
  // Two addresses of 198.18.0.0/15, which is kept for tests of networks.
  const base = [198, 18 + (made % 2), number >> 6, (number & 63) << 2];
  const [here, there] = [1, 2].map((last) => [...base.slice(0, 3), (base[3] ?? 0) + last].join("."));
  const remove = async () => {
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
    await remove();
    return `network namespaces can't be made here: ${(error as Error).message.split("\n").at(-2)}`;
  }
  return {
    address: here ?? "",
    inside: [ip, "netns", "exec", name],
    cut: async () => {
      await run(ip, ["link", "set", `${name}a`, "down"]);
    },
    [Symbol.asyncDispose]: remove,
  };
}

async function ipCommand(): Promise<string | undefined> {
  const find = () => ["/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip"].find(existsSync);
  const found = find();
  if (found !== undefined || !existsSync("/usr/bin/apt-get")) return found;
  console.log("A host that can be cut off, for the tests: installing Debian's iproute2 with apt-get");
  const environment = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const install = () =>
    run("apt-get", ["install", "--yes", "--no-install-recommends", "iproute2"], { env: environment });
  await install().catch(async () => {
    await run("apt-get", ["update"]).catch(() => {});
    await install().catch(() => {});
  });
  return find();
}

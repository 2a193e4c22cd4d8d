import { mkdir, symlink } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

const PACKAGES = [".bin", "@pulumi/pulumi", "@pulumi/policy", "pulumi-email-security", "typescript"];

/**
 * Links the packages of this repository that programs import into a program's `node_modules`. Linking all packages
 * would make each run a sixth slower: Pulumi searches every directory of `node_modules` for packages that need a
 * plugin.
 */
export async function linkPackages(directory: string): Promise<void> {
  for (const name of PACKAGES) {
    const link = join(directory, "node_modules", name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(resolve("node_modules", name), link);
  }
}

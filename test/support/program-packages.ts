import { mkdir, symlink } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

const PACKAGES = [".bin", "@pulumi/pulumi", "@pulumi/policy", "pulumi-email-security", "typescript"];

/**
 * Gives a program those of this repository's packages that programs import, as if they were installed beside it. With all of them
 * each run would take a sixth longer: Pulumi looks through every folder of `node_modules` for packages that want a plugin.
 */
export async function linkPackages(directory: string): Promise<void> {
  for (const name of PACKAGES) {
    const link = join(directory, "node_modules", name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(resolve("node_modules", name), link);
  }
}

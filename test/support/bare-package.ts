import { existsSync } from "node:fs";
import { cp, mkdir, symlink } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import manifest from "../../provider/package.json";
import { getBuildPath } from "./build-path";
import { PACKAGE } from "./packed-package";

/**
 * Lays out the built package in a directory with its required dependencies and no optional peers, as a package manager
 * would, but within a second.
 *
 * @returns the `email-security` command.
 */
export async function barePackage(directory: string): Promise<string> {
  const modules = join(directory, "node_modules");
  const home = join(modules, PACKAGE);
  const dist = dirname(dirname(getBuildPath("commands/main.js", () => import("../../provider/commands/main.ts"))));
  await cp(dist, join(home, "dist"), { recursive: true, filter: (path) => path !== join(dist, "plugin") });
  await cp(resolve("provider/package.json"), join(home, "package.json"));
  for (const name of ["@pulumi/pulumi", ...Object.keys(manifest.dependencies)]) await link(name, modules);
  return join(home, "dist/commands/main.js");
}

/**
 * Links a package of this repository into another `node_modules`; its own dependencies resolve from its real location.
 */
export async function link(name: string, modules: string): Promise<void> {
  const own = resolve("provider/node_modules", name);
  const target = existsSync(own) ? own : resolve("node_modules", name);
  await mkdir(dirname(join(modules, name)), { recursive: true });
  await symlink(target, join(modules, name), "junction");
}

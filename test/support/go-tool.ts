import { resolve } from "node:path";
import { buildGoProgram } from "#scripts/go-program";

/** The directory of the go.mod that pins the tools and all their dependencies. */
const MODULE = resolve("test/support/go-tools");

/**
 * Returns the path of a command that tests need and that is published as a Go module. It is kept in the user's cache
 * directory; if it is missing there, building it takes some ten seconds.
 *
 * @param module whose version the go.mod pins.
 */
export async function buildGoTool(module: string, name: string): Promise<string> {
  return await buildGoProgram({ name, directory: MODULE, package: `${module}/cmd/${name}` });
}

import { resolve } from "node:path";
import { buildGoProgram } from "#scripts/go-program";

/** The folder with the go.mod that pins the tools and all they are built from. */
const MODULE = resolve("test/support/go-tools");

/**
 * A command that tests need and that comes as a Go module: from the user's cache folder; built, in some ten seconds, where
 * it isn't there yet.
 *
 * @param module whose version the go.mod pins.
 */
export async function goTool(module: string, name: string): Promise<string> {
  return await buildGoProgram({ name, directory: MODULE, package: `${module}/cmd/${name}` });
}

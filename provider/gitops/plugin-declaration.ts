/** The plugin's name; the engine looks for it with the prefix `pulumi-resource-`. */
export const PLUGIN_NAME = "email-security";

/** The plugin directory of an installed package, relative to Pulumi.yaml. */
export const PLUGIN_DIRECTORY = "node_modules/pulumi-email-security/dist/plugin";

/**
 * Formats the lines of Pulumi.yaml by which the engine finds the plugin.
 *
 * @param path the plugin directory, relative to Pulumi.yaml.
 */
export function formatPluginLines(path: string = PLUGIN_DIRECTORY): string {
  return `plugins:\n  providers:\n${formatPluginItem(path, "    ")}`;
}

export function formatPluginItem(path: string = PLUGIN_DIRECTORY, indent = ""): string {
  return `${indent}- name: ${PLUGIN_NAME}\n${indent}  path: ${path}`;
}

/** The plugin's name, which the engine looks for with `pulumi-resource-` before it. */
export const PLUGIN_NAME = "email-security";

/** Where an installed package has the plugin, from the folder of Pulumi.yaml. */
export const PLUGIN_FOLDER = "node_modules/pulumi-email-security/dist/plugin";

/** The lines of Pulumi.yaml by which the engine finds the plugin. @param path of its folder, from that of Pulumi.yaml. */
export function pluginLines(path: string = PLUGIN_FOLDER): string {
  return `plugins:\n  providers:\n${pluginItem(path, "    ")}`;
}

/** Those of them that go below `providers:`. */
export function pluginItem(path: string = PLUGIN_FOLDER, indent = ""): string {
  return `${indent}- name: ${PLUGIN_NAME}\n${indent}  path: ${path}`;
}

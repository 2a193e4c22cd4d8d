import { join } from "node:path";
import { expect, it } from "vitest";
import { getCacheDirectory } from "../../../provider/engine/cache-directory";

const HOME = "/home/someone";

it.each<[string, NodeJS.Platform, NodeJS.ProcessEnv, string]>([
  ["Linux", "linux", { HOME }, join(HOME, ".cache", "pulumi-email-security")],
  ["Linux with XDG", "linux", { HOME, XDG_CACHE_HOME: "/cache" }, join("/cache", "pulumi-email-security")],
  ["macOS", "darwin", { HOME }, join(HOME, "Library", "Caches", "pulumi-email-security")],
  ["Windows", "win32", { LOCALAPPDATA: "C:\\Local" }, join("C:\\Local", "pulumi-email-security")],
  [
    "Windows without LOCALAPPDATA",
    "win32",
    { USERPROFILE: HOME },
    join(HOME, "AppData", "Local", "pulumi-email-security"),
  ],
  ["a directory of the user's choice", "linux", { HOME, EMAIL_SECURITY_CACHE_DIR: "/mine" }, "/mine"],
])("returns the cache directory on %s", (_name, platform, env, directory) => {
  expect(getCacheDirectory(env, platform)).toBe(directory);
});

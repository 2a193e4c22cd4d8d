import { createRequire } from "node:module";
import { join } from "node:path";
import { leanEnvironment } from "../machine/child-environment";
import { findInstalled, install, installationName, programName } from "./installation";
import { describeFailure } from "./run-command";
import { formatVersion, isAtLeast, parseVersion } from "./version";
import { MINIMUM_VERSION, type Way, type WayContext, WayError } from "./way";

const DOWNLOAD_HOST = "https://get.pulumi.com/";
const PROBE_TIMEOUT_MS = 4_000;
const INSTALL_TIMEOUT_MS = 5 * 60_000;
const UNREACHABLE = 3;

/**
 * Asks first whether the host answers at all, since the installer itself would wait for minutes. In a process of its own:
 * the Automation API takes long to load and can't be cancelled, and only a new process can be told to use the proxy
 * that the environment names.
 */
const INSTALL = `
const [, automation, root, version] = process.argv;
const { SemVer } = require("node:module").createRequire(automation)("semver");
fetch("${DOWNLOAD_HOST}", { method: "HEAD", signal: AbortSignal.timeout(${PROBE_TIMEOUT_MS}) }).then(
  () =>
    require(automation).PulumiCommand.install({ root, version: new SemVer(version) }).catch((error) => {
      console.error(error.commandResult?.stderr ?? error.message);
      process.exitCode = 1;
    }),
  (error) => {
    console.error((error.cause ?? error).message);
    process.exitCode = ${UNREACHABLE};
  },
);
`;

/** The CLI for an SDK: that of its own version, and one that will do for an older SDK. */
export function cliFor(sdk: string): string {
  return isAtLeast(parseVersion(sdk) ?? MINIMUM_VERSION, MINIMUM_VERSION)
    ? sdk
    : formatVersion(MINIMUM_VERSION);
}

/** The way of Pulumi's own installer, which downloads the CLI of the SDK's version into our cache. */
export function installerWay(context: WayContext): Way {
  const { resolve } = createRequire(__filename);
  const sdk = createRequire(__filename)("@pulumi/pulumi/package.json") as { version: string };
  const version = cliFor(sdk.version);
  const name = `${installationName(version)}-installer`;
  return {
    source: "installer",
    find: async () => findInstalled(context.engineFolder, name),
    obtain: () =>
      install(context, name, async (folder) => {
        context.log(`Trying Pulumi's own installer for the CLI ${version}: a minute or so, once ...`);
        const result = await context.run(
          process.execPath,
          ["-e", INSTALL, resolve("@pulumi/pulumi/automation/index.js"), folder, version],
          {
            env: { ...leanEnvironment(context.env), NODE_USE_ENV_PROXY: "1" },
            timeoutMs: INSTALL_TIMEOUT_MS,
          },
        );
        if (result.exitCode === UNREACHABLE) {
          throw unreachable(`${DOWNLOAD_HOST} can't be reached (${result.stderr.trim()})`);
        }
        if (result.exitCode !== 0) throw unreachable(`it failed: ${describeFailure(result)}`);
        return versionOf(join(folder, "bin", programName("pulumi")), context);
      }),
  };
}

async function versionOf(command: string, { env, run }: WayContext): Promise<string> {
  const result = await run(command, ["version"], {
    env: { ...leanEnvironment(env), PULUMI_SKIP_UPDATE_CHECK: "true" },
  });
  const version = parseVersion(result.stdout);
  if (result.exitCode === 0 && version && isAtLeast(version, MINIMUM_VERSION)) return formatVersion(version);
  throw unreachable(`what it installed doesn't work: \`pulumi version\` gave ${describeFailure(result)}`);
}

function unreachable(message: string): WayError {
  return new WayError(message, `allow downloads from ${DOWNLOAD_HOST} and from Pulumi's releases on GitHub`);
}

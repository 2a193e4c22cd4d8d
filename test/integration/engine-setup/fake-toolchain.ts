import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";

/** A temporary directory with fake programs on a PATH of its own, deleted on disposal. */
export class FakeToolchain implements Disposable {
  readonly directory = realpathSync(mkdtempSync(join(tmpdir(), "email-security-engine-")));
  readonly programs = join(this.directory, "programs");

  /** The environment for the code under test: the fake programs, and the shell's own tools. */
  get env(): NodeJS.ProcessEnv {
    return {
      HOME: this.directory,
      EMAIL_SECURITY_CACHE_DIR: join(this.directory, "cache"),
      PATH: [this.programs, dirname(process.execPath), "/usr/bin", "/bin"].join(delimiter),
    };
  }

  /** Writes a file, with its parent directories. Returns its path. */
  write(path: string, text: string, mode = 0o644): string {
    const absolute = join(this.directory, path);
    mkdirSync(dirname(absolute), { recursive: true });
    writeFileSync(absolute, text, { mode });
    return absolute;
  }

  /** Adds a shell script to PATH. */
  addProgram(name: string, script: string): string {
    return this.write(join("programs", name), `#!/bin/sh\n${script}\n`, 0o755);
  }

  [Symbol.dispose](): void {
    rmSync(this.directory, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Whether fake programs can be shell scripts. */
export const hasShell = process.platform !== "win32";

/**
 * Installs a fake `go` that reports its version and "compiles" a CLI that is a script. It counts its builds in a file.
 * The CLI writes a log in its home directory, as Pulumi's does.
 */
export function installFakeGo(
  toolchain: FakeToolchain,
  options: { release?: string; goToolchain?: string; slow?: boolean } = {},
): string {
  const { release = "go1.26.0", goToolchain = "local", slow = false } = options;
  const log = join(toolchain.directory, "go.log");
  toolchain.write("module/nodejs/dist/pulumi-resource-pulumi-nodejs", "#!/bin/sh\n", 0o444);
  toolchain.addProgram(
    "go",
    `case "$1" in
  env) printf '%s\\n' '${release}' '${goToolchain}' linux amd64 ;;
  list)
    [ "$2" = -m ] && echo '${join(toolchain.directory, "module")}' && exit
    echo "go: downloading example.com/a v1.0.0" >&2; printf 'a\\nb\\n' ;;
  build)
    while [ "$1" != -o ]; do shift; done
    echo "$2 CGO_ENABLED=$CGO_ENABLED GOFLAGS=$GOFLAGS GOWORK=$GOWORK GOPROXY=$GOPROXY" >> '${log}'
    echo a >&2
    ${slow ? 'echo half > "$2"; exec sleep 5' : ":"}
    printf '#!/bin/sh\\nmkdir -p "$PULUMI_HOME/logs"\\necho v3.259.0\\n' > "$2"; chmod +x "$2" ;;
esac`,
  );
  return log;
}

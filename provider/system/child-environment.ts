/** Variables that any program needs to run and to reach the network. None of them gives access to a tenant. */
const COMMON_VARIABLES =
  /^(PATH|HOME|USER|LOGNAME|SHELL|TERM|TMPDIR|TEMP|TMP|TZ|LANG|LANGUAGE|LC_\w+|XDG_\w+|LD_LIBRARY_PATH|DYLD_\w+|NODE_\w+|PULUMI_HOME|SYSTEMROOT|SYSTEMDRIVE|WINDIR|COMSPEC|PATHEXT|USERPROFILE|HOMEDRIVE|HOMEPATH|(LOCAL)?APPDATA|PROGRAM\w+|(HTTPS?|ALL|NO)_PROXY|SSL_CERT_(FILE|DIR)|OPENSSL_\w+|LD_PRELOAD|RES_OPTIONS|LOCALDOMAIN|HOSTALIASES|UV_(THREADPOOL_SIZE|USE_IO_URING)|(ASDF|MISE|VOLTA|PROTO|NVM)_\w+|NIX_(?!CONFIG$)\w+)$/i;

/** The names of variables that match above but are secret, such as `NODE_AUTH_TOKEN`. */
const SECRET_NAME = /key|token|auth(?!orized$)|secret|password|passphrase|credential/i;

/**
 * Variables that redirect git to another repository, index or history, or to other paths. A hook, an alias or a shell sets them
 * for its own repository, which isn't the one meant here.
 */
const REPOSITORY_VARIABLES =
  /^GIT_(DIR|WORK_TREE|INDEX_FILE|COMMON_DIR|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|NAMESPACE|PREFIX|CEILING_DIRECTORIES|DISCOVERY_ACROSS_FILESYSTEM|GRAFT_FILE|SHALLOW_FILE|NO_REPLACE_OBJECTS|REPLACE_REF_BASE|IMPLICIT_WORK_TREE|INTERNAL_SUPER_PREFIX|QUARANTINE_PATH|REFLOG_ACTION|(LITERAL|GLOB|NOGLOB|ICASE)_PATHSPECS)$/;

const EXTRA_VARIABLES = {
  /** The user's git settings, and access to a remote that has the objects a partial clone lacks. */
  git: /^(GIT|SSH)_\w+$/,
  /** Also variables for signing commits, and the logins of `gh` and `glab`. */
  "pull request":
    /^((GIT|SSH)_\w+|GPG_TTY|GPG_AGENT_INFO|GNUPGHOME|DISPLAY|WAYLAND_DISPLAY|DBUS_SESSION_BUS_ADDRESS|(GH|GITHUB)(_ENTERPRISE)?_TOKEN|GH_HOST|GH_CONFIG_DIR|GITLAB_TOKEN|GITLAB_ACCESS_TOKEN|GITLAB_HOST|GL_HOST|GLAB_CONFIG_DIR)$/,
  /** The location of Pulumi's state, and its credentials. */
  "state backend": /^(PULUMI|AWS|AZURE|ARM|GOOGLE|GCLOUD|CLOUDSDK|PG)\w*$/,
} as const;

declare const keylessBrand: unique symbol;

/** The environment of a child that needs no key: of {@link minimalEnv}, with or without further variables. */
export type MinimalEnv = NodeJS.ProcessEnv & { readonly [keylessBrand]: true };

/**
 * Returns the environment of a child that needs no key. Teams choose the names of key variables, so only known
 * variables are passed on.
 *
 * @param purpose the purpose of the child if it needs additional variables.
 */
export function minimalEnv(environment: NodeJS.ProcessEnv, purpose?: keyof typeof EXTRA_VARIABLES): MinimalEnv {
  const extraVariables = purpose === undefined ? undefined : EXTRA_VARIABLES[purpose];
  const isNeeded = (name: string): boolean =>
    (COMMON_VARIABLES.test(name) && !SECRET_NAME.test(name)) ||
    (extraVariables?.test(name) === true && !REPOSITORY_VARIABLES.test(name));
  return Object.fromEntries(Object.entries(environment).filter(([name]) => isNeeded(name))) as MinimalEnv;
}

/**
 * Returns the environment of a child that runs a team's own program, without any tenant's key variables and without
 * this package's configuration, which belongs to one tenant.
 *
 * @param keyVariables the key variables of all tenants, including those that a rollout leaves out.
 */
export function removeKeyVariables(
  environment: NodeJS.ProcessEnv,
  keyVariables: readonly string[] = [],
): NodeJS.ProcessEnv {
  const keys = new Set(keyVariables);
  return Object.fromEntries(
    Object.entries(environment).filter(
      ([name, value]) => value !== undefined && !keys.has(name) && !name.startsWith("EMAIL_SECURITY_"),
    ),
  );
}

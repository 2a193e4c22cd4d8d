import { exitWithParent } from "../../resources/provider-process";

/*
 * Loaded first in each provider process. If the engine is killed before its first call, the process would otherwise never end,
 * with the tenant's key in its environment.
 */
exitWithParent();

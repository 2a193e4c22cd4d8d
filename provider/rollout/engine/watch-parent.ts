import { exitWithParent } from "../../resources/provider-process";

/*
 * Loaded into each provider process before anything else: one that the engine has not called yet, when the engine is killed,
 * would stay for ever, with the tenant's key in its environment.
 */
exitWithParent();

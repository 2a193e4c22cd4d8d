import { SettingsClient } from "../client";
import type { Permits } from "../client/permits";
import type { Target } from "./targets/target";

/** Asks a tenant's service something, with its own key and within its address's permits; the connections are closed after it. */
export async function withTargetClient<T>(
  target: Target,
  apiKey: string,
  permits: (target: Target) => Permits,
  ask: (client: SettingsClient) => Promise<T>,
): Promise<T> {
  const { baseUrl, allowInsecureHttp } = target;
  const client = new SettingsClient({ baseUrl, apiKey, allowInsecureHttp, permits: permits(target) });
  try {
    return await ask(client);
  } finally {
    await client.close();
  }
}

import { floor } from "#bench/floor";
import { growth } from "#bench/growth";
import { listResource } from "#bench/list-resource";
import type { Peer } from "#bench/observation";
import { obviousProvider } from "#bench/obvious-provider";
import { singleEntries, singleEntriesWithoutCheckpoints } from "#bench/single-entries";
import { terraform } from "#bench/terraform";
import { vipList } from "#bench/vip-list";

/** All of them, in the order of the table. */
export const peers: readonly Peer[] = [
  floor,
  listResource,
  vipList,
  singleEntries,
  singleEntriesWithoutCheckpoints,
  obviousProvider,
  terraform,
  growth,
];

import { floor } from "#bench/floor";
import { growth, nativeGrowth } from "#bench/growth";
import { listResource, nativeListResource } from "#bench/list-resource";
import type { Peer } from "#bench/measurement";
import { naiveProvider } from "#bench/naive-provider";
import { nativeImport } from "#bench/native-import";
import { nothingEntries, nothingEntriesWithoutCheckpoints } from "#bench/no-op-entries";
import { nothingList } from "#bench/no-op-list";
import { dynamicStart, nativeStart, programStart } from "#bench/provider-start";
import { lintLargeFile, planLargeFile } from "#bench/settings-file";
import {
  nativeSingleEntries,
  nativeSingleEntriesWithoutCheckpoints,
  singleEntries,
  singleEntriesWithoutCheckpoints,
} from "#bench/single-entries";
import { terraform } from "#bench/terraform";
import { vipList } from "#bench/vip-list";

/** All peers of the whole bench, in the order of the table. */
export const peers: readonly Peer[] = [
  floor,
  nothingList,
  listResource,
  nativeListResource,
  vipList,
  nothingEntries,
  singleEntries,
  nativeSingleEntries,
  nothingEntriesWithoutCheckpoints,
  singleEntriesWithoutCheckpoints,
  nativeSingleEntriesWithoutCheckpoints,
  nativeImport,
  naiveProvider,
  terraform,
  growth,
  nativeGrowth,
  dynamicStart,
  nativeStart,
  programStart,
  lintLargeFile,
  planLargeFile,
];

/** The peers of `--quick`, which judge a change in a few minutes. */
export const quickPeers: readonly Peer[] = [
  floor,
  listResource,
  nativeListResource,
  nothingEntriesWithoutCheckpoints,
  singleEntriesWithoutCheckpoints,
  nativeSingleEntriesWithoutCheckpoints,
  dynamicStart,
  nativeStart,
  programStart,
  lintLargeFile,
  planLargeFile,
];

/** The peers that compare the dynamic provider with the native plugin. */
export const providerPeers: readonly Peer[] = [
  floor,
  listResource,
  nativeListResource,
  nothingEntriesWithoutCheckpoints,
  singleEntriesWithoutCheckpoints,
  nativeSingleEntriesWithoutCheckpoints,
  nativeImport,
  dynamicStart,
  nativeStart,
];

/** Returns the name of the peer that a peer's times are compared with. */
export function getFloorPeer(name: string): string {
  return peers.find((peer) => peer.name === name)?.floor ?? "floor";
}

import type { RoadMap } from '@odograph/simulator/roads';

/** A road of OpenStreetMap as GeoJSON. */
export interface RoadFeature {
  readonly geometry: { readonly coordinates: readonly (readonly [longitude: number, latitude: number])[] };
  readonly properties: Readonly<Record<string, string | undefined>>;
}

/** Speeds at which people drive where no limit is signed, km/h. */
const usualSpeeds: Readonly<Record<string, number>> = {
  ...{ motorway: 110, trunk: 90, primary: 70, secondary: 60, tertiary: 50 },
  ...{ unclassified: 45, residential: 30, living_street: 20, service: 15 },
};

function isOpen({ access, motor_vehicle: vehicles, service }: RoadFeature['properties']): boolean {
  return (
    !['no', 'private', 'forestry'].some((value) => value === access || value === vehicles) && service !== 'driveway'
  );
}

function speedOf({ highway = '', maxspeed = '' }: RoadFeature['properties']): number {
  return /^\d+$/.test(maxspeed) ? Number(maxspeed) : (usualSpeeds[highway.replace(/_link$/, '')] ?? 30);
}

/** Lists the nodes of the largest part in which every node can reach every other; no route leads out of or into the rest. */
function connectedNodes(edges: readonly (readonly [from: number, to: number])[]): Set<number> {
  const next = new Map<number, number[]>();
  const previous = new Map<number, number[]>();
  for (const [from, to] of edges) {
    for (const [lists, key, value] of [[next, from, to] as const, [previous, to, from] as const]) {
      const list = lists.get(key);
      if (list) list.push(value);
      else lists.set(key, [value]);
    }
  }
  const reach = (lists: ReadonlyMap<number, readonly number[]>, start: number): Set<number> => {
    const found = new Set([start]);
    // A set also yields what is added while it is read.
    for (const node of found) for (const other of lists.get(node) ?? []) found.add(other);
    return found;
  };
  const seen = new Set<number>();
  let largest = new Set<number>();
  for (const start of next.keys()) {
    if (seen.has(start)) continue;
    const before = reach(previous, start);
    const part = new Set([...reach(next, start)].filter((node) => before.has(node)));
    for (const node of part) seen.add(node);
    if (part.size > largest.size) largest = part;
  }
  return largest;
}

/** Builds the roads of the demo from those of OpenStreetMap: the ones that are open to cars and lead somewhere and back. */
export function encodeRoads(features: readonly RoadFeature[], attribution: string): RoadMap {
  const indexes = new Map<string, number>();
  const positions: (readonly [number, number])[] = [];
  const indexOf = (position: readonly [number, number]): number => {
    const rounded = position.map((degrees) => Math.round(degrees * 1e5)) as [number, number];
    const key = rounded.join();
    const index = indexes.get(key) ?? positions.push(rounded) - 1;
    indexes.set(key, index);
    return index;
  };
  const all = features
    .filter(({ properties }) => isOpen(properties))
    .map(({ geometry, properties }) => ({
      nodes: geometry.coordinates.map(indexOf).filter((node, index, nodes) => node !== nodes[index - 1]),
      isOneWay: properties['oneway'] === 'yes' || properties['junction'] === 'roundabout',
      speedKmh: speedOf(properties),
      name: properties['name'] ?? properties['ref'],
    }));
  const connected = connectedNodes(
    all.flatMap(({ nodes, isOneWay }) =>
      nodes.slice(1).flatMap((to, index) => {
        const from = nodes[index] ?? to;
        return isOneWay ? [[from, to] as const] : [[from, to] as const, [to, from] as const];
      }),
    ),
  );
  const kept = all.filter(({ nodes }) => nodes.length > 1 && nodes.every((node) => connected.has(node)));
  const renumbered = new Map([...new Set(kept.flatMap(({ nodes }) => nodes))].map((node, index) => [node, index]));
  return {
    attribution,
    nodes: [...renumbered.keys()].flatMap((node) => positions[node] ?? []),
    roads: kept.map(({ nodes, isOneWay, name, speedKmh }) => ({
      ...(name !== undefined && { name }),
      speedKmh,
      ...(isOneWay && { oneWay: true }),
      nodes: nodes.map((node) => renumbered.get(node) ?? 0),
    })),
  };
}

import { readFile } from 'node:fs/promises';
import { type RoadMap, RoadNetwork } from '@odograph/simulator/roads';
import { createRandom, type Itinerary, type Journey } from '@odograph/simulator/simulated-vehicle';

const minute = 60;
const hour = 3600;
const day = 86_400;

/** Places in Liechtenstein. */
export const places = {
  depot: { latitude: 47.1515, longitude: 9.513 },
  hospital: { latitude: 47.1335, longitude: 9.5165 },
  villages: [
    { latitude: 47.0675, longitude: 9.5085 },
    { latitude: 47.11, longitude: 9.525 },
    { latitude: 47.167, longitude: 9.5085 },
    { latitude: 47.2125, longitude: 9.525 },
    { latitude: 47.2205, longitude: 9.5445 },
  ],
  offices: [
    { latitude: 47.14, longitude: 9.5225 },
    { latitude: 47.1665, longitude: 9.5155 },
  ],
} as const;

/** Reads the roads of the demo. */
export async function readRoads(): Promise<RoadNetwork> {
  const file = await readFile(new URL('./map/roads.json', import.meta.url), 'utf8');
  return new RoadNetwork(JSON.parse(file) as RoadMap);
}

/** Midnight in Liechtenstein before a time, UNIX seconds. The demo does not mind the hour of summer time. */
const midnightBefore = (time: number): number => Math.floor((time + hour) / day) * day - hour;
/** 0 is Monday; 1970-01-01 was a Thursday. */
const weekday = (midnight: number): number => (Math.floor((midnight + hour) / day) + 3) % 7;

const addressCount = 60;

/** Draws the nodes that vehicles visit. Always the same few, because the route search from each is cached. */
function drawAddresses(roads: RoadNetwork): number[] {
  const random = createRandom(addressCount);
  return Array.from({ length: addressCount }, () => Math.floor(random() * roads.nodeCount));
}

/** A vehicle's whereabouts, from which its next journey is planned. */
class Planner {
  readonly #roads: RoadNetwork;
  readonly #addresses: readonly number[];
  readonly random: () => number;
  #node: number;
  /** When the present stay began, UNIX seconds. */
  since = 0;
  batteryPercent = 100;

  constructor(roads: RoadNetwork, seed: number, start: number) {
    this.#roads = roads;
    this.#addresses = drawAddresses(roads);
    this.random = createRandom(seed);
    this.#node = start;
  }

  /** Spreads a time evenly around its mean, seconds. */
  around(mean: number, spread: number): number {
    return mean + (this.random() - 0.5) * 2 * spread;
  }

  /** Picks a random address that the vehicle is not at. @returns its node */
  randomAddress(): number {
    const others = this.#addresses.filter((node) => node !== this.#node);
    return others[Math.floor(this.random() * others.length)] ?? this.#node;
  }

  /** Plans a journey to a node. @param stay "charging" while the vehicle is at a charger */
  leave(departure: number, to: number, stay: 'charging' | 'parked' = 'parked'): Journey {
    const route = this.#roads.route(this.#node, to);
    this.#node = to;
    return { departure, route, charges: stay === 'charging' };
  }
}

type Plan = Generator<Journey, never>;

/** To the office and back on working days, sometimes by the shops; an outing at the weekend. */
function* commute(planner: Planner, home: number, office: number): Plan {
  for (let midnight = midnightBefore(planner.since) + day; ; midnight += day) {
    if (weekday(midnight) < 5) {
      yield planner.leave(midnight + planner.around(7.3 * hour, 25 * minute), office, 'charging');
      const stops = planner.random() < 0.3 ? [planner.randomAddress()] : [];
      yield planner.leave(midnight + planner.around(17.2 * hour, 40 * minute), stops[0] ?? home);
      if (stops.length > 0) yield planner.leave(planner.since + planner.around(30 * minute, 10 * minute), home);
    } else {
      yield planner.leave(midnight + planner.around(11 * hour, 2 * hour), planner.randomAddress(), 'charging');
      yield planner.leave(planner.since + planner.around(2 * hour, hour), home);
    }
  }
}

/** Parcels from the depot on six days a week, with a break at its charger at noon. */
function* deliver(planner: Planner, depot: number): Plan {
  for (let midnight = midnightBefore(planner.since) + day; ; midnight += day) {
    if (weekday(midnight) === 6) continue;
    yield planner.leave(midnight + planner.around(8 * hour, 10 * minute), planner.randomAddress(), 'charging');
    for (const end of [12 * hour, 16 * hour]) {
      while (planner.since < midnight + end) {
        yield planner.leave(planner.since + planner.around(3.5 * minute, 2 * minute), planner.randomAddress());
      }
      yield planner.leave(planner.since + 3 * minute, depot);
      if (end < 16 * hour) {
        yield planner.leave(
          planner.since + planner.around(45 * minute, 5 * minute),
          planner.randomAddress(),
          'charging',
        );
      }
    }
  }
}

/** To the hospital in the evening and home in the morning, on five nights a week. */
function* workNights(planner: Planner, home: number, hospital: number): Plan {
  for (let midnight = midnightBefore(planner.since) + day; ; midnight += day) {
    if (weekday(midnight) > 4) continue;
    yield planner.leave(midnight + planner.around(21.2 * hour, 10 * minute), hospital, 'charging');
    yield planner.leave(midnight + day + planner.around(6.2 * hour, 15 * minute), home);
  }
}

/** One ride after the other by day and night, so that something moves on the map at every hour. */
function* driveTaxi(planner: Planner, depot: number): Plan {
  for (;;) {
    yield planner.leave(planner.since + planner.around(6 * minute, 4 * minute), planner.randomAddress());
    if (planner.batteryPercent > 25) continue;
    yield planner.leave(planner.since + minute, depot);
    yield planner.leave(planner.since + planner.around(80 * minute, 10 * minute), planner.randomAddress(), 'charging');
  }
}

/** Creates the itinerary of one of the vehicles: taxis, deliveries, commuters and a night shift. */
export function createItinerary(roads: RoadNetwork, index: number): Itinerary {
  const home = roads.nearestNode(places.villages[index % places.villages.length] ?? places.depot);
  const office = roads.nearestNode(places.offices[index % places.offices.length] ?? places.depot);
  const hospital = roads.nearestNode(places.hospital);
  const depot = roads.nearestNode(places.depot);
  const taxi = [depot, (planner: Planner) => driveTaxi(planner, depot)] as const;
  const commuter = [home, (planner: Planner) => commute(planner, home, office)] as const;
  const delivery = [depot, (planner: Planner) => deliver(planner, depot)] as const;
  const nightShift = [home, (planner: Planner) => workNights(planner, home, hospital)] as const;
  const plans = [taxi, commuter, delivery, nightShift, taxi, commuter, delivery, taxi];
  const [start, plan] = plans[index % plans.length] ?? taxi;
  const planner = new Planner(roads, index + 1, start);
  const journeys = plan(planner);
  return (since, batteryPercent) => {
    Object.assign(planner, { since, batteryPercent });
    return journeys.next().value;
  };
}

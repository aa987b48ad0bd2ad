import { greatCircleMetres } from '@odograph/contracts/positions';

/** Roads as a file holds them. */
export interface RoadMap {
  readonly attribution: string;
  /** Longitude and latitude of each node, one after the other, in 0.00001 degrees. */
  readonly nodes: readonly number[];
  readonly roads: readonly {
    readonly name?: string;
    readonly speedKmh: number;
    readonly oneWay?: true;
    /** Indexes of its nodes in order. */
    readonly nodes: readonly number[];
  }[];
}

export interface Position {
  readonly latitude: number;
  readonly longitude: number;
}

/** A node of a route, and the road that leads to it. */
export interface RoutePoint extends Position {
  /** From the node before. */
  readonly metres: number;
  readonly speedKmh: number;
  readonly road: string;
  /** Whether other roads meet here. */
  readonly isJunction: boolean;
}

interface Edge {
  readonly from: number;
  readonly to: number;
  readonly metres: number;
  readonly speedKmh: number;
  readonly road: string;
}

const metresPerSecond = (kmh: number): number => kmh / 3.6;

/** Nodes by the time to reach them: a binary heap. */
class Frontier {
  readonly #heap: { node: number; seconds: number }[] = [];

  push(node: number, seconds: number): void {
    const heap = this.#heap;
    let index = heap.push({ node, seconds }) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if ((heap[parent]?.seconds ?? 0) <= seconds) break;
      this.#swap(index, parent);
      index = parent;
    }
  }

  pop(): { node: number; seconds: number } | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    heap[0] = last;
    for (let index = 0; ; ) {
      const [left, right] = [2 * index + 1, 2 * index + 2];
      const secondsAt = (child: number): number => heap[child]?.seconds ?? Number.POSITIVE_INFINITY;
      const child = secondsAt(right) < secondsAt(left) ? right : left;
      if (secondsAt(child) >= last.seconds) return first;
      this.#swap(index, child);
      index = child;
    }
  }

  #swap(one: number, other: number): void {
    const [a, b] = [this.#heap[one], this.#heap[other]];
    if (a && b) [this.#heap[one], this.#heap[other]] = [b, a];
  }
}

/** Roads that vehicles can follow; every node can be reached from every other. */
export class RoadNetwork {
  readonly #positions: readonly Position[];
  readonly #edges: readonly Edge[][];
  /** Shortest-path tree of each origin: the last edge of the fastest route to each node. */
  readonly #arrivals = new Map<number, readonly (Edge | undefined)[]>();

  constructor({ nodes, roads }: RoadMap) {
    const at = (index: number): Position => ({
      longitude: (nodes[2 * index] ?? 0) / 1e5,
      latitude: (nodes[2 * index + 1] ?? 0) / 1e5,
    });
    this.#positions = Array.from({ length: nodes.length / 2 }, (_unused, index) => at(index));
    this.#edges = this.#positions.map(() => []);
    for (const { name = '', speedKmh, oneWay, nodes: path } of roads) {
      for (const [index, to] of path.entries()) {
        const from = path[index - 1];
        if (from === undefined) continue;
        const [start, end] = [at(from), at(to)];
        const metres = greatCircleMetres(start.latitude, start.longitude, end.latitude, end.longitude);
        this.#edges[from]?.push({ from, to, metres, speedKmh, road: name });
        if (!oneWay) this.#edges[to]?.push({ from: to, to: from, metres, speedKmh, road: name });
      }
    }
  }

  get nodeCount(): number {
    return this.#positions.length;
  }

  positionOf(node: number): Position {
    const position = this.#positions[node];
    if (!position) throw new RangeError(`node ${node} does not exist`);
    return position;
  }

  /** Finds the node next to a position. */
  nearestNode({ latitude, longitude }: Position): number {
    let nearest = 0;
    let shortest = Number.POSITIVE_INFINITY;
    for (const [node, position] of this.#positions.entries()) {
      const metres = greatCircleMetres(latitude, longitude, position.latitude, position.longitude);
      if (metres < shortest) [nearest, shortest] = [node, metres];
    }
    return nearest;
  }

  /**
   * Finds the fastest route between two nodes. The shortest-path tree of an origin is cached, so further
   * routes from it are cheap.
   * @returns its points, the first one without metres
   */
  route(from: number, to: number): RoutePoint[] {
    const arrivals = this.#arrivals.get(from) ?? this.#findArrivals(from);
    const points: RoutePoint[] = [];
    for (let node = to; ; ) {
      const edge = arrivals[node];
      const { latitude, longitude } = this.positionOf(node);
      const { metres = 0, speedKmh = 0, road = '' } = edge ?? {};
      const isJunction = (this.#edges[node]?.length ?? 0) > 2;
      points.push({ latitude, longitude, metres, speedKmh, road, isJunction });
      if (!edge) return points.reverse();
      node = edge.from;
    }
  }

  /** Computes and caches the shortest-path tree of an origin (Dijkstra's algorithm). */
  #findArrivals(origin: number): readonly (Edge | undefined)[] {
    const seconds = new Float64Array(this.nodeCount).fill(Number.POSITIVE_INFINITY);
    const arrivals = new Array<Edge | undefined>(this.nodeCount).fill(undefined);
    const frontier = new Frontier();
    seconds[origin] = 0;
    frontier.push(origin, 0);
    for (let next = frontier.pop(); next !== undefined; next = frontier.pop()) {
      if (next.seconds > (seconds[next.node] ?? 0)) continue;
      for (const edge of this.#edges[next.node] ?? []) {
        const arrival = next.seconds + edge.metres / metresPerSecond(edge.speedKmh);
        if (arrival >= (seconds[edge.to] ?? 0)) continue;
        seconds[edge.to] = arrival;
        arrivals[edge.to] = edge;
        frontier.push(edge.to, arrival);
      }
    }
    this.#arrivals.set(origin, arrivals);
    return arrivals;
  }
}

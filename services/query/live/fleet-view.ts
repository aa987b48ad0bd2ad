import { type Area, Cells, contains } from './area.ts';
import type { FleetVehicle, LiveFleet, VehicleChange } from './live-fleet.ts';
import type { LiveCell, ResetReason, ViewMode } from './schemas.ts';

/** The vehicles that a person may see. */
export interface Scope {
  /** Undefined for all applications. */
  readonly applicationIds: ReadonlySet<number> | undefined;
  /** Undefined for all vehicles of these applications. */
  readonly vehicleIds: ReadonlySet<number> | undefined;
}

/** The view that a browser requested. */
export interface ViewRequest {
  /** Undefined for everywhere, vehicles without a position included. */
  readonly area: Area | undefined;
  readonly zoom: number | undefined;
  /** Vehicles that are always included, wherever they are. */
  readonly followed: ReadonlySet<number>;
}

/** A view with more vehicles shows cells. */
export const maxVehicles = 2000;
/** Cells are left for vehicles at this share of the limit, so that a view at the limit does not alternate. */
const returnShare = 0.9;
/** Vehicles, left vehicles or cells in one event, of some 250 bytes each. */
const itemsPerEvent = 250;

export function isVisible({ applicationIds, vehicleIds }: Scope, { applicationId, id }: FleetVehicle): boolean {
  return applicationIds?.has(applicationId) !== false && vehicleIds?.has(id) !== false;
}

type CellCounts = Pick<LiveCell, 'count' | 'moving' | 'parked' | 'silent'>;

function addTo(counts: CellCounts, { state }: FleetVehicle, change: 1 | -1): CellCounts {
  const { count, moving, parked, silent } = counts;
  return {
    count: count + change,
    moving: moving + (state === 'moving' ? change : 0),
    parked: parked + (state === 'parked' ? change : 0),
    silent: silent + (state === 'silent' ? change : 0),
  };
}

const noVehicles: CellCounts = { count: 0, moving: 0, parked: 0, silent: 0 };

/** An event of the stream without its id; `data` is JSON. */
export interface ViewEvent {
  readonly event: 'reset' | 'snapshot' | 'changes' | 'cells';
  readonly data: string;
}

/**
 * Tracks the view of one browser and the part it has received. Computes only which ids and cells are stale; their
 * content is written when the browser takes it, so a slow one gets fewer changes and memory stays bounded.
 */
export class FleetView {
  readonly #fleet: LiveFleet;
  readonly #request: ViewRequest;
  readonly #cellGrid: Cells;
  readonly #maxVehicles: number;
  #scope: Scope;
  #mode: ViewMode = 'vehicles';
  /** Vehicles in the area. */
  #count = 0;
  /** Vehicles that the browser shows: those in the area, or in the mode `cells` the followed ones. */
  readonly #members = new Set<number>();
  /** Vehicles that the browser has received and not been told to remove. */
  readonly #received = new Set<number>();
  readonly #stale = new Set<number>();
  readonly #cells = new Map<number, CellCounts>();
  readonly #receivedCells = new Set<number>();
  readonly #staleCells = new Set<number>();
  #reset: ResetReason | undefined;
  /** Members that the snapshot has still to send; undefined when it is complete. */
  #snapshot: number[] | undefined;

  /** @param reason why the stream begins: at its start, or for a browser that was away for too long */
  constructor(fleet: LiveFleet, scope: Scope, request: ViewRequest, reason: ResetReason, limit = maxVehicles) {
    this.#fleet = fleet;
    this.#request = request;
    this.#cellGrid = new Cells(request.area, request.zoom);
    this.#maxVehicles = limit;
    this.#scope = scope;
    this.#rebuild(reason);
  }

  get mode(): ViewMode {
    return this.#mode;
  }

  /** Whether the browser has taken everything, so that it can resume from here. */
  get isUpToDate(): boolean {
    const isComplete = this.#reset === undefined && this.#snapshot === undefined;
    return isComplete && this.#stale.size === 0 && this.#staleCells.size === 0;
  }

  /** Begins again with the vehicles visible now. */
  changeScope(scope: Scope): void {
    this.#scope = scope;
    this.#rebuild('ACCESS');
  }

  /**
   * Continues where the browser was, unless a snapshot is less: sends the vehicles that changed since then, and has it
   * remove those that it does not show any more. Cells always begin again.
   */
  resume(changed: readonly FleetVehicle[]): void {
    const stale = changed.filter((vehicle) => isVisible(this.#scope, vehicle));
    if (this.#mode === 'cells' || stale.length > this.#maxVehicles) return;
    this.#reset = undefined;
    this.#snapshot = undefined;
    for (const id of this.#members) this.#received.add(id);
    for (const { id } of stale) {
      this.#received.add(id);
      this.#stale.add(id);
    }
  }

  /** Takes in changes of the fleet. */
  apply(changes: readonly VehicleChange[]): void {
    for (const { id, before, after } of changes) {
      const wasInArea = before !== undefined && this.#isInArea(before);
      const isInArea = after !== undefined && this.#isInArea(after);
      this.#count += Number(isInArea) - Number(wasInArea);
      if (this.#mode === 'cells') {
        if (wasInArea) this.#countCell(before, -1);
        if (isInArea) this.#countCell(after, 1);
      }
      this.#follow(id, after, isInArea);
    }
    const isFull = this.#count > this.#maxVehicles;
    const hasRoom = this.#count <= this.#maxVehicles * returnShare;
    if (changes.length > 0 && (this.#mode === 'vehicles' ? isFull : hasRoom)) this.#rebuild('MODE');
  }

  /** Takes the next event that the browser needs; undefined when it is up to date. */
  take(): ViewEvent | undefined {
    if (this.#reset !== undefined) {
      const data = JSON.stringify({ reason: this.#reset, mode: this.#mode });
      this.#reset = undefined;
      return { event: 'reset', data };
    }
    if (this.#snapshot) return this.#takeSnapshot(this.#snapshot);
    if (this.#stale.size > 0) return this.#takeChanges();
    return this.#staleCells.size > 0 ? this.#takeCells() : undefined;
  }

  #isInArea(vehicle: FleetVehicle): boolean {
    if (!isVisible(this.#scope, vehicle)) return false;
    const { area } = this.#request;
    return area === undefined || (vehicle.location !== undefined && contains(area, vehicle.location));
  }

  /** Decides whether the browser shows a vehicle, and has it sent or removed. */
  #follow(id: number, after: FleetVehicle | undefined, isInArea: boolean): void {
    const isFollowed = after !== undefined && this.#request.followed.has(id) && isVisible(this.#scope, after);
    if (isFollowed || (isInArea && this.#mode === 'vehicles')) {
      this.#members.add(id);
      this.#stale.add(id);
      return;
    }
    this.#members.delete(id);
    if (this.#received.has(id)) this.#stale.add(id);
    else this.#stale.delete(id);
  }

  #countCell(vehicle: FleetVehicle, change: 1 | -1): void {
    if (!vehicle.location) return;
    const cell = this.#cellGrid.cellOf(vehicle.location);
    const counts = addTo(this.#cells.get(cell) ?? noVehicles, vehicle, change);
    if (counts.count > 0) this.#cells.set(cell, counts);
    else this.#cells.delete(cell);
    if (counts.count > 0 || this.#receivedCells.has(cell)) this.#staleCells.add(cell);
    else this.#staleCells.delete(cell);
  }

  #rebuild(reason: ResetReason): void {
    for (const part of [this.#members, this.#received, this.#stale, this.#cells, this.#receivedCells]) part.clear();
    this.#staleCells.clear();
    const inArea = this.#fleet.within(this.#request.area).filter((vehicle) => isVisible(this.#scope, vehicle));
    this.#count = inArea.length;
    this.#mode = inArea.length > this.#maxVehicles ? 'cells' : 'vehicles';
    if (this.#mode === 'vehicles') for (const { id } of inArea) this.#members.add(id);
    else for (const vehicle of inArea) this.#countCell(vehicle, 1);
    for (const id of this.#request.followed) {
      const vehicle = this.#fleet.find(id);
      if (vehicle && isVisible(this.#scope, vehicle)) this.#members.add(id);
    }
    this.#reset = reason;
    this.#snapshot = [...this.#members];
  }

  #takeSnapshot(waiting: number[]): ViewEvent {
    const ids = waiting.splice(0, itemsPerEvent).filter((id) => this.#members.has(id));
    const complete = waiting.length === 0;
    if (complete) this.#snapshot = undefined;
    return { event: 'snapshot', data: `{"vehicles":[${this.#send(ids)}],"complete":${complete}}` };
  }

  #takeChanges(): ViewEvent {
    const ids = [...first(this.#stale, itemsPerEvent)];
    const left = ids.filter((id) => !this.#members.has(id));
    for (const id of left) {
      this.#stale.delete(id);
      this.#received.delete(id);
    }
    const vehicles = this.#send(ids.filter((id) => this.#members.has(id)));
    return { event: 'changes', data: `{"vehicles":[${vehicles}],"left":${JSON.stringify(left.map(String))}}` };
  }

  /** Writes members, and counts them as received. */
  #send(ids: readonly number[]): string {
    const texts: string[] = [];
    for (const id of ids) {
      const vehicle = this.#fleet.find(id);
      this.#stale.delete(id);
      if (!vehicle) continue;
      this.#received.add(id);
      texts.push(vehicle.json);
    }
    return texts.join(',');
  }

  #takeCells(): ViewEvent {
    const cells = [...first(this.#staleCells, itemsPerEvent)].map((cell): LiveCell => {
      const counts = this.#cells.get(cell);
      this.#staleCells.delete(cell);
      if (counts) this.#receivedCells.add(cell);
      else this.#receivedCells.delete(cell);
      return { id: String(cell), ...this.#cellGrid.centreOf(cell), ...(counts ?? noVehicles) };
    });
    return { event: 'cells', data: JSON.stringify({ cells }) };
  }
}

function* first<Item>(items: Iterable<Item>, maxItems: number): Iterable<Item> {
  let taken = 0;
  for (const item of items) {
    if (taken === maxItems) return;
    taken += 1;
    yield item;
  }
}

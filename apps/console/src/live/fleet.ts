import { type Signal, signal } from '@preact/signals';
import {
  type Connection,
  type LiveCell,
  type LiveCommand,
  type LiveEvent,
  LiveStream,
  type LiveVehicle,
} from './live-stream.ts';

/** The part of the map that is shown. */
export interface View {
  readonly west: number;
  readonly south: number;
  readonly east: number;
  readonly north: number;
  readonly zoom: number;
}

/** The changes of an event. */
export interface FleetChange {
  /** Everything before is void. */
  readonly isReset: boolean;
  /** Nothing from before the reset is left to come: what has not come since is gone. */
  readonly isComplete: boolean;
  readonly vehicles: readonly LiveVehicle[];
  readonly left: readonly string[];
  readonly cells: readonly LiveCell[];
}

type Listener = (change: FleetChange) => void;

interface FleetOptions {
  /** The one vehicle to load; all of them without it. */
  readonly only?: string;
  readonly onCommand?: (command: LiveCommand) => void;
}

/** A part of the map without vehicles. */
const nowhere = '0,-90,0,-90';
const nothing: FleetChange = { isReset: false, isComplete: false, vehicles: [], left: [], cells: [] };

/**
 * The live vehicles of one screen. Without a view these are all vehicles, in a fleet of up to 2,000; a larger fleet is
 * shown as cells, and as vehicles only where the map is close enough.
 */
export class Fleet {
  readonly vehicles = new Map<string, LiveVehicle>();
  readonly cells = new Map<string, LiveCell>();
  readonly #version = signal(0);
  /** Whether the map shows cells or vehicles; undefined until the platform has said so. */
  readonly mode = signal<'vehicles' | 'cells' | undefined>(undefined);
  /** Whether the first snapshot is complete. */
  readonly isComplete = signal(false);
  readonly connection: Signal<Connection> = signal<Connection>({ state: 'connecting' });
  /** The number of `reset` events; changes and commands before one may have been missed. */
  readonly resets = signal(0);
  readonly #listeners = new Set<Listener>();
  readonly #options: FleetOptions;
  #stream: LiveStream | undefined;
  #unsubscribe = (): void => undefined;
  #view: View | undefined;
  #followed: string | undefined;
  /** Whether the fleet is too large to be had as a whole: only what the map shows is loaded. */
  readonly isLarge = signal(false);
  #opened: string | undefined;

  constructor(options: FleetOptions = {}) {
    this.#options = options;
    this.#open();
  }

  /** Has the component or computed value that calls it follow every change, at most a few times a second. */
  watch(): number {
    return this.#version.value;
  }

  /** Calls back with every change. @returns a function that ends it */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Shows another part of the map. A small fleet is loaded as a whole, so nothing is asked for. */
  show(view: View): void {
    this.#view = view;
    if (this.isLarge.peek()) this.#open();
  }

  /** Includes a vehicle wherever it is. */
  follow(vehicleId: string | undefined): void {
    this.#followed = vehicleId;
    if (this.isLarge.peek()) this.#open();
  }

  stop(): void {
    this.#unsubscribe();
    this.#stream?.stop();
  }

  #open(): void {
    const query = this.#query();
    if (query.toString() === this.#opened) return;
    this.#opened = query.toString();
    this.stop();
    const stream = new LiveStream(query, (event) => this.#handle(event));
    this.#stream = stream;
    this.#unsubscribe = stream.connection.subscribe((connection) => {
      // While another part of the map is asked for, what is shown stays live for the eye.
      if (connection.state !== 'connecting' || this.connection.peek().state === 'connecting') {
        this.connection.value = connection;
      }
    });
  }

  #query(): URLSearchParams {
    const query = new URLSearchParams();
    const { only } = this.#options;
    if (only !== undefined) return new URLSearchParams({ bbox: nowhere, vehicles: only });
    const view = this.#view;
    if (!this.isLarge.peek() || !view) return query;
    query.set('bbox', [view.west, view.south, view.east, view.north].map((degrees) => degrees.toFixed(4)).join(','));
    query.set('zoom', view.zoom.toFixed(1));
    if (this.#followed !== undefined) query.set('vehicles', this.#followed);
    return query;
  }

  #handle(event: LiveEvent): void {
    if (event.event === 'command') this.#options.onCommand?.(event.data);
    if (event.event === 'command' || event.event === 'alarm') return;
    const change = this.#take(event);
    for (const listener of this.#listeners) listener(change);
    this.#version.value += 1;
    // The first answer of a large fleet says so; from now on only what the map shows is asked for.
    if (event.event === 'reset' && event.data.mode === 'cells' && !this.isLarge.peek()) {
      this.isLarge.value = true;
      if (this.#view) this.#open();
    }
  }

  #setVehicles(vehicles: readonly LiveVehicle[]): void {
    for (const vehicle of vehicles) this.vehicles.set(vehicle.id, vehicle);
  }

  #take(event: Exclude<LiveEvent, { event: 'command' | 'alarm' }>): FleetChange {
    switch (event.event) {
      case 'reset':
        // Without its vehicle, the page of a single vehicle would lose unsaved input; the snapshot replaces the vehicle.
        if (this.#options.only === undefined) this.vehicles.clear();
        this.cells.clear();
        this.resets.value += 1;
        this.mode.value = event.data.mode;
        return { ...nothing, isReset: true };
      case 'snapshot':
        if (this.#options.only !== undefined) this.vehicles.clear();
        this.#setVehicles(event.data.vehicles);
        if (event.data.complete) this.isComplete.value = true;
        return { ...nothing, isComplete: event.data.complete, vehicles: event.data.vehicles };
      case 'changes':
        this.#setVehicles(event.data.vehicles);
        for (const id of event.data.left) this.vehicles.delete(id);
        return { ...nothing, vehicles: event.data.vehicles, left: event.data.left };
      case 'cells':
        for (const cell of event.data.cells) {
          if (cell.count === 0) this.cells.delete(cell.id);
          else this.cells.set(cell.id, cell);
        }
        return { ...nothing, cells: event.data.cells };
    }
  }
}

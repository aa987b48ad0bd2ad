import { type EventCursor, startOf } from '@odograph/event-list/cursor';
import type { PlatformEvent } from '@odograph/event-list/read-events';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { EventWindow } from './event-queues.ts';
import type { VehicleKey } from './queries.ts';

const at = (number: number): EventCursor => ({ ...startOf(1n, 1n), event: BigInt(number) });
const eventAt = (number: number, vehicleId: VehicleKey): PlatformEvent => {
  return { id: String(number), type: 'alarm.raised', time: '', vehicleId, json: '', cursor: at(number) };
};

const numberOf = (position: EventCursor | undefined) => position && Number(position.event);
const vehicles: readonly VehicleKey[] = [1, 2, 3, undefined];

/** A window, and what must be true of it. */
class Model {
  readonly window = new EventWindow(at(0));
  #open: { number: number; vehicle: VehicleKey }[] = [];
  #read = 0;

  read(ofVehicles: readonly VehicleKey[]): void {
    const added = ofVehicles.map((vehicle, index) => ({ number: this.#read + index + 1, vehicle }));
    this.#read += added.length;
    this.#open.push(...added);
    const events = added.map(({ number, vehicle }) => eventAt(number, vehicle));
    this.window.add({ events, next: at(this.#read), more: false }, new Date(0), () => false);
  }

  finish(vehicle: VehicleKey, isAll: boolean): void {
    const entry = this.window.firstOf(vehicle);
    const first = this.#open.find((one) => one.vehicle === vehicle);
    if (isAll) this.window.finishAll(vehicle);
    else if (entry) this.window.finish(entry);
    this.#open = this.#open.filter((one) => (isAll ? one.vehicle !== vehicle : one !== first));
  }

  get expected() {
    const firsts = vehicles.map((vehicle) => this.#open.find((one) => one.vehicle === vehicle)?.number);
    const [oldest] = this.#open;
    return { firsts, position: oldest ? oldest.number - 1 : this.#read, readUntil: this.#read };
  }

  get actual() {
    const firsts = vehicles.map((vehicle) => numberOf(this.window.firstOf(vehicle)?.event.cursor));
    return { firsts, position: numberOf(this.window.cursor), readUntil: numberOf(this.window.readUntil) };
  }
}

it('moves its position over an event once that and all before it are done with, and has those of a vehicle in order', () => {
  const vehicle = fc.constantFrom(...vehicles);
  const step = fc.oneof(
    fc.array(vehicle, { maxLength: 5 }).map((read) => (model: Model) => model.read(read)),
    fc.tuple(vehicle, fc.boolean()).map(
      ([one, isAll]) =>
        (model: Model) =>
          model.finish(one, isAll),
    ),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const model = new Model();
      for (const take of steps) {
        take(model);
        expect(model.actual).toEqual(model.expected);
      }
    }),
  );
});

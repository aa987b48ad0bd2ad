/** A webhook that waits for a slot. */
export interface SlotUser {
  /** Called when a slot is free; takes it, or has no use for it any more. */
  onSlotFree(): void;
}

/**
 * Bounds the attempts in flight of all webhooks together. A free slot goes to the waiting webhook with the fewest attempts in
 * flight, so that slow receivers cannot keep others waiting.
 */
export class DeliverySlots {
  #free: number;
  readonly #inFlight = new Map<SlotUser, number>();
  readonly #waiting = new Set<SlotUser>();

  constructor(total: number) {
    this.#free = total;
  }

  /** Takes a slot. @returns false without a free one; the user is then called when there is */
  take(user: SlotUser): boolean {
    if (this.#free === 0) {
      this.#waiting.add(user);
      return false;
    }
    this.#free -= 1;
    this.#inFlight.set(user, (this.#inFlight.get(user) ?? 0) + 1);
    return true;
  }

  /** Gives a slot back. */
  release(user: SlotUser): void {
    this.#free += 1;
    const left = (this.#inFlight.get(user) ?? 1) - 1;
    if (left === 0) this.#inFlight.delete(user);
    else this.#inFlight.set(user, left);
    // One may have no use for it.
    while (this.#free > 0 && this.#waiting.size > 0) this.#callNext();
  }

  #callNext(): void {
    const busyness = (user: SlotUser) => this.#inFlight.get(user) ?? 0;
    const next = [...this.#waiting].reduce((least, one) => (busyness(one) < busyness(least) ? one : least));
    this.#waiting.delete(next);
    next.onSlotFree();
  }
}

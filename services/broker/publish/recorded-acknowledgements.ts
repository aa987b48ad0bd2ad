type Settle = (recorded: boolean) => void;

/** Acknowledgements that the command service was told of, and may say to have recorded. */
export class RecordedAcknowledgements {
  readonly #waiting = new Map<string, Settle>();

  /** Resolves with whether `note` is called with the same words within `milliseconds`. */
  wait(deviceId: string, text: string, milliseconds: number): Promise<boolean> {
    const key = keyOf(deviceId, text);
    return new Promise((resolve) => {
      const settle: Settle = (recorded) => {
        clearTimeout(timer);
        if (this.#waiting.get(key) === settle) this.#waiting.delete(key);
        resolve(recorded);
      };
      const timer = setTimeout(settle, milliseconds, false);
      this.#waiting.set(key, settle);
    });
  }

  /** The command service has recorded it. Of two that wait with the same words the later one is meant, which says as much. */
  note(deviceId: string, text: string): void {
    this.#waiting.get(keyOf(deviceId, text))?.(true);
  }

  /** Nobody will say so any more. */
  giveUp(): void {
    for (const settle of this.#waiting.values()) settle(false);
  }
}

/** Device ids hold no space. */
function keyOf(deviceId: string, text: string): string {
  return `${deviceId} ${text}`;
}

import './play-bar.css';
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { assign } from '../../signals.ts';
import { formatTime } from '../../texts/format.ts';
import { texts } from '../../texts/texts.ts';
import { Button } from '../layout/button.tsx';

const usualPace = 30;

/** Moves the time on while it plays; stops at the end. */
function usePlay(untilSeconds: number, time: { value: number }) {
  const isPlaying = useSignal(false);
  const pace = useSignal<number>(usualPace);
  useEffect(() => {
    if (!isPlaying.value) return undefined;
    let before = performance.now();
    let frame = 0;
    const step = (at: number) => {
      time.value = Math.min(untilSeconds, time.value + ((at - before) / 1000) * pace.value);
      before = at;
      if (time.value >= untilSeconds) isPlaying.value = false;
      else frame = requestAnimationFrame(step);
    };
    frame = requestAnimationFrame(step);
    return () => cancelAnimationFrame(frame);
  }, [isPlaying.value, untilSeconds]);
  return { isPlaying, pace };
}

interface PlayBarOptions {
  /** UNIX seconds. */
  readonly from: number;
  readonly until: number;
  readonly time: { value: number };
  /** Names the slider. */
  readonly label: string;
  /** Shown after the time. */
  readonly note?: string;
  /** Seconds of the recording in one second of the replay. */
  readonly paces: readonly number[];
}

/** Plays an interval, and moves to any moment of it. */
export function PlayBar({ from, until, time, label, note, paces }: PlayBarOptions) {
  const { trips: text } = texts.value;
  const { isPlaying, pace } = usePlay(until, time);
  const toggle = () => {
    if (time.value >= until) time.value = from;
    isPlaying.value = !isPlaying.value;
  };
  return (
    <div class="play-bar">
      <Button aria-pressed={isPlaying.value} onClick={toggle}>
        {isPlaying.value ? text.pause : text.play}
      </Button>
      <input
        type="range"
        aria-label={label}
        aria-valuetext={formatTime(time.value * 1000)}
        min={from}
        max={until}
        step={1}
        value={time.value}
        onInput={({ currentTarget }) => assign(time, Number(currentTarget.value))}
      />
      <output>{[formatTime(time.value * 1000), note].filter((part) => part !== undefined).join(' · ')}</output>
      <select
        class="input"
        aria-label={text.pace}
        value={pace.value}
        onChange={({ currentTarget }) => assign(pace, Number(currentTarget.value))}
      >
        {paces.map((one) => (
          <option key={one} value={one}>
            {`${one} ×`}
          </option>
        ))}
      </select>
    </div>
  );
}

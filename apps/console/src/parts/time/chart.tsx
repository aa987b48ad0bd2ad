import 'uplot/dist/uPlot.min.css';
import './chart.css';
import { useEffect, useRef } from 'preact/hooks';
import UPlot from 'uplot';
import { isDark } from '../../preferences.ts';
import { formatClock, formatClockSeconds, formatShortDay, isMidnight } from '../../texts/format.ts';

/** An interval that a chart marks. */
export interface Band {
  /** UNIX seconds. */
  readonly from: number;
  readonly until: number;
  /** The custom property of its colour. */
  readonly colour: '--alarm-soft' | '--silent-soft' | '--accent-soft';
}

/** The minimum and the maximum of a field. */
export type Bounds = readonly [minimum: number, maximum: number];

interface ChartOptions {
  /** Describes the chart to screen readers. */
  readonly label: string;
  /** The interval of the time axis, UNIX seconds. */
  readonly from: number;
  readonly until: number;
  /** UNIX seconds, ascending. */
  readonly times: readonly number[];
  readonly values: readonly (number | null)[];
  /** Formats a value, or with `step` the label of an axis; labels one step apart differ. */
  readonly format: (value: number, step?: number) => string;
  readonly height: number;
  /** Whether the axis begins at 0, which shows proportions; otherwise it shows changes. */
  readonly isFromZero?: boolean;
  /** Limits of the axis, unless a value lies beyond them. */
  readonly bounds?: Bounds | undefined;
  readonly bands?: readonly Band[];
  /** Where the cursor is, UNIX seconds. */
  readonly time: number | undefined;
  /** Called when a person points at a time. */
  readonly onPoint: (time: number) => void;
}

const colourOf = (element: Element, name: string): string => getComputedStyle(element).getPropertyValue(name) || '#888';

/** Resolves a colour of the page, which light-dark() keeps from a canvas. */
function resolve(element: HTMLElement, name: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${name})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color || colourOf(element, name);
}

function fromZero(_plot: UPlot, dataMin: number | null, dataMax: number | null): [number, number] {
  return [Math.min(0, dataMin ?? 0), (dataMax ?? 0) > 0 ? (dataMax ?? 0) * 1.05 : 1];
}

/** Leaves room around the values, within their bounds. */
function boundedRange([minimum, maximum]: Bounds, dataMin: number | null, dataMax: number | null): [number, number] {
  const [low, high] = [dataMin ?? minimum, dataMax ?? maximum];
  const [from, until] = UPlot.rangeNum(low, high, 0.1, true);
  return [
    low < minimum ? (from ?? low) : Math.max(minimum, from ?? minimum),
    high > maximum ? (until ?? high) : Math.min(maximum, until ?? maximum),
  ];
}

/** Shows the whole interval unless a person has zoomed in. */
function timeRange({ data: [times] }: UPlot, low: number, high: number, from: number, until: number): [number, number] {
  const isWhole = low <= (times[0] ?? low) && high >= (times.at(-1) ?? high);
  return isWhole ? [from, until] : [low, high];
}

/** Finds the last value of each line that is too short to be seen; it is drawn as a point. */
function findIsolated({ from, until, times, values }: ChartOptions): number[] {
  const visibleSeconds = (until - from) / 300;
  let start = 0;
  return values.flatMap((value, index) => {
    if (values[index - 1] == null) start = times[index] ?? 0;
    const isEnd = value !== null && values[index + 1] == null;
    return isEnd && (times[index] ?? 0) - start < visibleSeconds ? [index] : [];
  });
}

const axisFont = '11px system-ui';

/** Measures the width that the longest label of an axis needs, in CSS pixels. */
function widthOf({ ctx }: UPlot, labels: readonly string[] | null): number {
  ctx.save();
  ctx.font = axisFont;
  const widths = (labels ?? []).map((label) => ctx.measureText(label).width);
  ctx.restore();
  return Math.max(36, Math.ceil(Math.max(0, ...widths)) + 14);
}

const stepOf = ([first = 0, second = Number.NaN]: readonly number[]): number => second - first;

const daySeconds = 86_400;

/** Ticks closer than a minute show their seconds; those of days, and midnight, their day. */
function formatTick([first = 0, second = 60]: readonly number[]): (tick: number) => string {
  const distance = second - first;
  if (distance < 60) return (tick) => formatClockSeconds(tick * 1000);
  return (tick) => {
    const isDay = distance >= daySeconds || isMidnight(tick * 1000);
    return isDay ? formatShortDay(tick * 1000) : formatClock(tick * 1000);
  };
}

/** Fills the bands behind the line; each is at least two pixels wide, so that a short one is seen. */
function drawBands(plot: UPlot, element: HTMLElement, bands: readonly Band[]): void {
  const { left, top, width, height } = plot.bbox;
  for (const { from, until, colour } of bands) {
    const start = Math.max(left, plot.valToPos(from, 'x', true));
    const end = Math.min(left + width, Math.max(plot.valToPos(until, 'x', true), start + 2));
    if (end <= start) continue;
    plot.ctx.fillStyle = resolve(element, colour);
    plot.ctx.fillRect(start, top, end - start, height);
  }
}

function optionsOf(element: HTMLElement, options: ChartOptions, isPointed: () => boolean): UPlot.Options {
  const { height, format, from, until, isFromZero, bounds, bands = [], onPoint } = options;
  const [line, muted, accent] = [resolve(element, '--line'), resolve(element, '--muted'), resolve(element, '--accent')];
  const axis = { stroke: muted, grid: { stroke: line, width: 1 }, ticks: { show: false }, font: axisFont };
  const range: UPlot.Range.Function | undefined = bounds
    ? (_plot, dataMin, dataMax) => boundedRange(bounds, dataMin, dataMax)
    : isFromZero
      ? fromZero
      : undefined;
  const points = { show: true, size: 5, stroke: accent, fill: accent, filter: findIsolated(options) };
  return {
    width: element.clientWidth || 300,
    height,
    padding: [10, 12, 0, 0],
    cursor: { y: false, points: { size: 7 } },
    legend: { show: false },
    scales: {
      x: { range: (plot, low, high) => timeRange(plot, low, high, from, until) },
      ...(range && { y: { range } }),
    },
    series: [{}, { stroke: accent, width: 1.6, fill: `color-mix(in srgb, ${accent} 12%, transparent)`, points }],
    axes: [
      { ...axis, values: (_plot, ticks) => ticks.map(formatTick(ticks)), space: 80, size: 26 },
      { ...axis, values: (_plot, ticks) => ticks.map((tick) => format(tick, stepOf(ticks))), size: widthOf },
    ],
    hooks: {
      drawClear: [(plot) => drawBands(plot, element, bands)],
      setCursor: [
        (plot) => {
          const { idx } = plot.cursor;
          const time = typeof idx === 'number' ? plot.data[0][idx] : undefined;
          if (isPointed() && time !== undefined) onPoint(time);
        },
      ],
    },
  };
}

/** One series over time, with a cursor that the page moves and follows. */
export function Chart(options: ChartOptions) {
  const { label, from, until, times, values, time, height, bands } = options;
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<UPlot | undefined>(undefined);
  const latest = useRef(options);
  latest.current = options;
  const dark = isDark();
  useEffect(() => {
    const element = frame.current;
    if (!element) return undefined;
    const given = { ...latest.current, onPoint: (at: number) => latest.current.onPoint(at) };
    const isPointed = () => element.matches(':hover');
    const drawn = new UPlot(optionsOf(element, given, isPointed), [[...times], [...values]], element);
    plot.current = drawn;
    const observer = new ResizeObserver(() => drawn.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      drawn.destroy();
      plot.current = undefined;
    };
  }, [from, until, times, values, bands, dark, height]);
  useEffect(() => {
    const drawn = plot.current;
    if (!drawn || time === undefined || frame.current?.matches(':hover')) return;
    // A new chart has its scales after its first drawing.
    queueMicrotask(() => drawn.setCursor({ left: drawn.valToPos(time, 'x'), top: 0 }, false));
  }, [time, times, dark]);
  return <div class="chart" ref={frame} role="img" aria-label={label} style={{ height: `${height}px` }} />;
}
